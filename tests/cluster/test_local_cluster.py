"""What a local control plane promises to the tests that use it."""

import json

import pytest

from growth.api.kinds import CONFIG_MAPS, NODES, PODS
from growth.kube.errors import Forbidden, NotFound
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.errors import KubectlFailed, UnknownComponent
from tests.cluster.conftest import wait_until

pytestmark = pytest.mark.cluster

JsonObject = dict[str, object]


def a_pod(name: str, *, node: str = "", annotations: dict[str, str] | None = None) -> JsonObject:
    selector: JsonObject = {"nodeSelector": {"kubernetes.io/hostname": node}} if node else {}
    spec: JsonObject = {"containers": [{"name": "main", "image": "main"}], **selector}
    return {"metadata": {"name": name, "annotations": annotations or {}}, "spec": spec}


async def phase_of(cluster: LocalCluster, pod: str, namespace: str) -> str:
    return await cluster.kubectl("get", "pod", pod, f"--namespace={namespace}", "--output=jsonpath={.status.phase}")


async def test_it_says_which_kubernetes_it_is(control_plane: LocalCluster) -> None:
    version = json.loads(await control_plane.kubectl("get", "--raw", "/version"))
    assert (version["gitVersion"], version["major"], version["minor"]) == ("v1.36.3", "1", "36")


async def test_nodes_offer_what_their_manifest_says(control_plane: LocalCluster) -> None:
    (name,) = await control_plane.add_nodes(
        1,
        prefix="offer",
        cpu="3",
        memory="7Gi",
        pods=42,
        resources={"nvidia.com/gpu": "2"},
        labels={"growth.dev/pool": "gpus"},
        taints=["dedicated=gpu:NoSchedule"],
    )
    node = await control_plane.admin.get(NODES, name)
    assert node.status.allocatable == {"cpu": "3", "memory": "7Gi", "pods": "42", "nvidia.com/gpu": "2"}
    assert node.metadata.labels["growth.dev/pool"] == "gpus"
    assert [(taint.key, taint.value, taint.effect) for taint in node.spec.taints] == [
        ("dedicated", "gpu", "NoSchedule")
    ]


async def test_pods_are_scheduled_and_run(control_plane: LocalCluster, namespace: str) -> None:
    (node,) = await control_plane.add_nodes(1, prefix="run")
    await control_plane.admin.create(PODS, a_pod("worker", node=node), namespace)

    async def runs() -> bool:
        return await phase_of(control_plane, "worker", namespace) == "Running"

    await wait_until(runs, "the pod runs")


async def test_a_pod_finishes_after_the_time_it_names(control_plane: LocalCluster, namespace: str) -> None:
    (node,) = await control_plane.add_nodes(1, prefix="finish")
    pod = a_pod("task", node=node, annotations={"growth.dev/finish-after": "1s"})
    await control_plane.admin.create(PODS, pod, namespace)

    async def is_done() -> bool:
        return await phase_of(control_plane, "task", namespace) == "Succeeded"

    await wait_until(is_done, "the pod succeeds")


async def test_a_silent_node_becomes_not_ready_within_seconds_and_revives(
    control_plane: LocalCluster, namespace: str
) -> None:
    # More than one node: with all of a zone silent, Kubernetes suspects itself and evicts nothing.
    node, *_ = await control_plane.add_nodes(3, prefix="silent")
    await control_plane.admin.create(PODS, a_pod("left-behind", node=node), namespace)

    async def runs() -> bool:
        return await phase_of(control_plane, "left-behind", namespace) == "Running"

    async def is_ready() -> bool:
        return (await control_plane.admin.get(NODES, node)).is_ready

    async def is_not_ready() -> bool:
        return not await is_ready()

    async def is_asked_to_leave() -> bool:
        pod = await control_plane.admin.get(PODS, "left-behind", namespace)
        return pod.metadata.deletion_timestamp is not None

    async def is_gone() -> bool:
        try:
            await control_plane.admin.get(PODS, "left-behind", namespace)
        except NotFound:
            return True
        return False

    await wait_until(runs, "the pod runs")
    await control_plane.silence(node)
    assert await wait_until(is_not_ready, "the silent node is NotReady") < 15
    await wait_until(is_asked_to_leave, "its pod is evicted")
    assert not await is_gone(), "nobody is there to end the pod"
    await control_plane.revive(node)
    await wait_until(is_ready, "the revived node is Ready")
    await wait_until(is_gone, "the revived node ends the pod it was asked to end")


async def test_a_client_under_a_service_account_may_do_what_its_role_grants_and_no_more(
    control_plane: LocalCluster, namespace: str
) -> None:
    client = await control_plane.client_as(namespace, "reader")
    with pytest.raises(Forbidden):
        await client.list(PODS, namespace)
    await control_plane.apply(
        [
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "Role",
                "metadata": {"name": "reader", "namespace": namespace},
                "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
            },
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "RoleBinding",
                "metadata": {"name": "reader", "namespace": namespace},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
                "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": namespace}],
            },
        ]
    )

    async def may_list() -> bool:
        try:
            return (await client.list(PODS, namespace)).items == []
        except Forbidden:  # the authoriser hears of the role by a watch
            return False

    await wait_until(may_list, "the role takes effect")
    with pytest.raises(Forbidden):
        await client.list(CONFIG_MAPS, namespace)


async def test_a_refused_manifest_is_told_in_the_servers_words(control_plane: LocalCluster) -> None:
    with pytest.raises(KubectlFailed, match="Invalid value"):
        await control_plane.apply([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "Not A Name"}}])


async def test_an_unknown_component_is_answered_with_the_known_ones(control_plane: LocalCluster) -> None:
    with pytest.raises(UnknownComponent, match="there are: etcd, kube-apiserver"):
        await control_plane.kill("kube-proxy")
