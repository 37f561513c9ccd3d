"""DaemonSet pods: on which nodes, and how much they take."""

from typing import Any

import pytest

from growth.api.pod import Pod
from growth.decide.fit.daemonset_pods import DaemonSets
from growth.decide.fit.node_ports import host_ports
from growth.observe.pod_requests import requests_of
from tests.builders import BORN
from tests.decide.stages import a_node, a_pod, a_stage, an_object

Json = dict[str, Any]


def a_daemon_set(containers: list[Json] | None = None, meta: Json | None = None, **spec: Any) -> Any:  # noqa: ANN401
    template = {"spec": {"containers": containers or [{"name": "main"}], **spec}}
    return an_object("DaemonSet", "agent", "kube-system", metadata=meta or {}, spec={"template": template})


def pods_on(daemon_set: Any, **node: Any) -> tuple[Pod, ...]:  # noqa: ANN401
    return DaemonSets([daemon_set]).pods_for(a_node(**node))


def tainted(key: str, effect: str = "NoSchedule") -> Json:
    return {"taints": [{"key": key, "effect": effect}]}


@pytest.mark.parametrize(
    ("spec", "node", "runs"),
    [
        pytest.param({}, {}, True, id="any node"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, {}, False, id="a selector that does not match"),
        pytest.param({"nodeSelector": {"disk": "ssd"}}, {"labels": {"disk": "ssd"}}, True, id="one that does"),
        pytest.param({"nodeName": "other"}, {}, False, id="pinned to another node"),
        pytest.param({"nodeName": "node-1"}, {}, True, id="pinned to this one"),
        pytest.param({}, tainted("gpu"), False, id="a taint"),
        pytest.param({"tolerations": [{"operator": "Exists"}]}, tainted("gpu"), True, id="that is tolerated"),
        pytest.param({}, tainted("gpu", "PreferNoSchedule"), True, id="a taint that is only a wish"),
        pytest.param({}, tainted("node.kubernetes.io/unschedulable"), True, id="a cordoned node"),
        pytest.param({}, tainted("node.kubernetes.io/disk-pressure"), True, id="a node under pressure"),
        pytest.param({}, tainted("node.kubernetes.io/not-ready", "NoExecute"), True, id="an unready node"),
        pytest.param({}, tainted("node.kubernetes.io/not-ready"), False, id="a node that never was ready"),
        pytest.param({}, tainted("node.kubernetes.io/network-unavailable"), False, id="a node without network"),
        pytest.param(
            {"hostNetwork": True}, tainted("node.kubernetes.io/network-unavailable"), True, id="for the host's network"
        ),
        pytest.param({}, {"cpu": "0", "pods": "0"}, True, id="a node without room"),
    ],
)
def test_a_daemon_runs_where_its_template_allows_it(spec: Json, node: Json, runs: bool) -> None:  # noqa: FBT001
    assert bool(pods_on(a_daemon_set(**spec), **node)) is runs


def test_a_daemon_set_that_is_being_deleted_makes_no_more_pods() -> None:
    assert pods_on(a_daemon_set(meta={"deletionTimestamp": BORN})) == ()


def container(requests: Json | None = None, limits: Json | None = None) -> Json:
    return {"name": "main", "resources": {"requests": requests or {}, "limits": limits or {}}}


@pytest.mark.parametrize(
    ("daemon_set", "expected"),
    [
        pytest.param(a_daemon_set([container({"cpu": "1"})]), {"cpu": 1000}, id="requests"),
        pytest.param(a_daemon_set([container({}, {"cpu": "2"})]), {"cpu": 2000}, id="limits stand for requests"),
        pytest.param(
            a_daemon_set([container({"cpu": "1"}, {"cpu": "2", "memory": "1Ki"})]),
            {"cpu": 1000, "memory": 1024},
            id="where those are missing",
        ),
        pytest.param(
            a_daemon_set([{"name": "m"}], initContainers=[container({}, {"cpu": "3"})]), {"cpu": 3000}, id="of init too"
        ),
        pytest.param(
            a_daemon_set([container({"cpu": "1"})], resources={"limits": {"cpu": "3", "memory": "1Ki"}}),
            {"cpu": 1000, "memory": 1024},
            id="the pod's limit stands for what no container asks for",
        ),
        pytest.param(
            a_daemon_set([container({"cpu": "1"})], resources={"requests": {"cpu": "2"}}), {"cpu": 2000}, id="the pod's"
        ),
    ],
)
def test_a_template_is_filled_in_as_the_api_server_does_it(daemon_set: Any, expected: dict[str, int]) -> None:  # noqa: ANN401
    (pod,) = pods_on(daemon_set)
    assert requests_of(pod.spec) == {**expected, "pods": 1}


def test_on_the_hosts_network_every_port_is_the_hosts() -> None:
    ports = [{"containerPort": 9100}, {"containerPort": 80, "hostPort": 8080}]
    (plain,) = pods_on(a_daemon_set([{"name": "m", "ports": ports}]))
    (host,) = pods_on(a_daemon_set([{"name": "m", "ports": ports}], hostNetwork=True))
    assert [number for _, _, number in host_ports(plain.spec)] == [8080]
    assert [number for _, _, number in host_ports(host.spec)] == [9100, 8080]


def test_pods_of_one_daemon_set_share_their_spec_and_differ_in_name() -> None:
    daemons = DaemonSets([a_daemon_set()])
    (one,), (two,) = daemons.pods_for(a_node("node-1")), daemons.pods_for(a_node("node-2"))
    assert one.spec is two.spec
    assert (one.metadata.uid, one.metadata.name) != (two.metadata.uid, two.metadata.name)


def test_a_daemon_that_is_not_there_yet_is_missing_and_one_that_is_there_is_not() -> None:
    daemon_set = a_daemon_set()
    mine = {"kind": "DaemonSet", "name": "agent", "uid": daemon_set.metadata.uid, "controller": True}
    stage = a_stage([a_node("node-1"), a_node("node-2")], [a_pod(node="node-1", owner=mine)], [daemon_set])
    daemons = DaemonSets.of(stage)
    missing = {site.name: len(daemons.missing_on(site)) for site in stage.sites()}
    assert missing == {"node-1": 0, "node-2": 1}
    (pod,) = daemons.missing_on(stage.node_info("node-2"))
    stage.place(pod, "node-2")
    assert daemons.missing_on(stage.node_info("node-2")) == []
