"""The DaemonSet pods that we expect on a node against those that the real controller makes."""

from typing import Any

import pytest

from growth.api.kinds import DAEMON_SETS, NODES, PODS
from growth.api.pod import Pod
from growth.decide.fit.daemonset_pods import DaemonSets
from growth.decide.fit.node_ports import host_ports
from growth.observe.pod_requests import requests_of
from growth_lab.local_cluster.cluster import LocalCluster
from tests.cluster.conftest import wait_until

pytestmark = pytest.mark.cluster

Json = dict[str, Any]


def container(requests: Json | None = None, limits: Json | None = None, **fields: object) -> Json:
    return {
        "name": "main",
        "image": "main",
        "resources": {"requests": requests or {}, "limits": limits or {}},
        **fields,
    }


def wanting(*terms: Json) -> Json:
    required = {"nodeSelectorTerms": list(terms)}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def names(node: str) -> Json:
    return {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": [node]}]}


def templates(node: str) -> dict[str, Json]:
    """Templates of every form that decides where a daemon runs and what it takes."""
    return {
        "plain": {"containers": [container({"cpu": "100m"})]},
        "limits": {"containers": [container({}, {"cpu": "100m", "memory": "64Mi"})]},
        "half": {"containers": [container({"cpu": "50m"}, {"cpu": "100m", "memory": "64Mi"})]},
        "selected": {"containers": [container()], "nodeSelector": {"pool": "gpu"}},
        "not-one": {"containers": [container()], "affinity": wanting(names(node))},
        "tolerant": {"containers": [container()], "tolerations": [{"operator": "Exists"}]},
        "gpu": {"containers": [container()], "tolerations": [{"key": "gpu", "operator": "Exists"}]},
        "host": {
            "hostNetwork": True,
            "containers": [container(ports=[{"containerPort": 9100}, {"containerPort": 80, "hostPort": 80}])],
        },
        "sidecar": {
            "initContainers": [{**container({}, {"cpu": "200m"}), "name": "i", "restartPolicy": "Always"}],
            "containers": [container({"cpu": "100m"})],
        },
        "pod-level": {
            "resources": {"limits": {"cpu": "300m", "memory": "64Mi"}},
            "containers": [container({"cpu": "100m"})],
        },
    }


def told(pod: Pod) -> object:
    """What of a daemon's pod concerns a planner."""
    tolerations = {(each.key, each.operator or "Equal", each.effect) for each in pod.spec.tolerations}
    return requests_of(pod.spec), sorted(host_ports(pod.spec)), sorted(tolerations)


async def test_daemons_come_where_and_as_we_expect_them(control_plane: LocalCluster, namespace: str) -> None:
    admin = control_plane.admin
    (plain,) = await control_plane.add_nodes(1, prefix="daemon", labels={"pool": "plain"})
    (gpu,) = await control_plane.add_nodes(
        1, prefix="daemon", labels={"pool": "gpu"}, taints=["gpu=yes:NoSchedule"], resources={"example.com/gpu": "1"}
    )
    nodes = [await admin.get(NODES, name) for name in (plain, gpu)]
    for name, spec in templates(plain).items():
        labels = {"app": name}
        template = {"metadata": {"labels": labels}, "spec": spec}
        body = {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
        await admin.create(DAEMON_SETS, body, namespace)
    daemons = DaemonSets((await admin.list(DAEMON_SETS, namespace)).items)
    expected = {
        (pod.metadata.labels["app"], node.metadata.name): told(pod) for node in nodes for pod in daemons.pods_for(node)
    }

    async def seen() -> dict[tuple[str, str], object]:
        pods = [pod for pod in (await admin.list(PODS, namespace)).items if pod.node_name in (plain, gpu)]
        return {(pod.metadata.labels["app"], pod.node_name): told(pod) for pod in pods}

    async def are_all_there() -> bool:
        return set(await seen()) >= set(expected)

    await wait_until(are_all_there, f"daemons came to {sorted(expected)}")
    found = await seen()
    assert found == expected
    for name in templates(plain):
        await admin.delete(DAEMON_SETS, name, namespace)
    for name in (plain, gpu):
        await admin.delete(NODES, name)
