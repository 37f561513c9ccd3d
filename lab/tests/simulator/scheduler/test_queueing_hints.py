"""What wakes a refused pod, and what does not (facts-scheduler.md, "Conditions and queue")."""

from collections.abc import Callable
from typing import Any

import pytest

from growth_lab.simulator.served_kinds import ATTACHMENTS, CLAIMS, CSI_NODES, PODS, STORAGE_CLASSES, VOLUMES
from lab.tests.simulator.scheduler.scene import Scene, on_a_scene

Json = dict[str, Any]
GPU = {"key": "gpu", "effect": "NoSchedule"}
CLOSED = {"key": "growth.dev/starting", "effect": "NoSchedule"}
HOST = "kubernetes.io/hostname"


def key(node: str) -> Json:
    return {"key": "growth.dev/starting", "operator": "Equal", "value": node, "effect": "NoSchedule"}


def away_from(app: str) -> Json:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def near(app: str) -> Json:
    term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": app}}}
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def spread() -> list[Json]:
    selector = {"matchLabels": {"app": "web"}}
    return [{"maxSkew": 1, "topologyKey": HOST, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}]


def tries(scene: Scene) -> int:
    """How often the waiting pod has been refused."""
    (waiting,) = scene.scheduler.waiting()
    return waiting.refusals


def lacking_room(scene: Scene) -> None:
    scene.node("full", cpu="1")
    scene.pod("there", node="full")
    scene.pod("new", cpu="1")


def tainted(scene: Scene) -> None:
    scene.node("gpu", taints=[GPU])
    scene.pod("new")


def shut_out(scene: Scene) -> None:
    scene.node("shut", taints=[{**CLOSED, "value": "shut"}])
    scene.pod("new")


def shut_out_with_a_key(scene: Scene) -> None:
    scene.node("shut", taints=[{**CLOSED, "value": "shut"}])
    scene.pod("new", tolerations=[key("gone")])


def cordoned(scene: Scene) -> None:
    scene.node("cordoned", unschedulable=True)
    scene.pod("new")


def choosy(scene: Scene) -> None:
    scene.node("plain")
    scene.pod("new", nodeSelector={"disk": "ssd"})


def shunned(scene: Scene) -> None:
    scene.node("one")
    scene.pod("loner", node="one", affinity=away_from("web"))
    scene.pod("new", labels={"app": "web"})


def shunning(scene: Scene) -> None:
    scene.node("one")
    scene.pod("there", node="one", labels={"app": "web"})
    scene.pod("new", affinity=away_from("web"))


def lonely(scene: Scene) -> None:
    scene.node("one")
    scene.pod("new", affinity=near("database"))


def crowded(scene: Scene) -> None:
    scene.node("one", cpu="8")
    scene.node("two", cpu="8", taints=[GPU])
    scene.pod("there", node="one", labels={"app": "web"})
    scene.pod("new", labels={"app": "web"}, topologySpreadConstraints=spread())


def porter(scene: Scene) -> None:
    def container() -> Json:
        return {"name": "main", "image": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}

    scene.node("one")
    scene.pod("there", node="one", containers=[container()])
    scene.pod("new", containers=[container()])


def too_many_volumes(scene: Scene) -> None:
    store = scene.store
    store.create(STORAGE_CLASSES, {"metadata": {"name": "fast"}, "provisioner": "csi.test"})
    drivers = [{"name": "csi.test", "nodeID": "one", "allocatable": {"count": 1}}]
    store.create(CSI_NODES, {"metadata": {"name": "one"}, "spec": {"drivers": drivers}})
    for name in ("first", "second"):
        volume = {"csi": {"driver": "csi.test", "volumeHandle": name}, "storageClassName": "fast"}
        store.create(VOLUMES, {"metadata": {"name": name}, "spec": volume, "status": {"phase": "Bound"}})
        claim = {
            "metadata": {
                "name": name,
                "namespace": "default",
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {"volumeName": name, "storageClassName": "fast", "accessModes": ["ReadWriteOnce"]},
            "status": {"phase": "Bound"},
        }
        store.create(CLAIMS, claim)
    scene.node("one")
    scene.pod("there", node="one", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "first"}}])
    scene.pod("new", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "second"}}])


WAKES: list[tuple[str, Callable[[Scene], None], Callable[[Scene], object]]] = [
    ("a node with room", lacking_room, lambda s: s.node("new", cpu="1")),
    ("a pod that leaves a node", lacking_room, lambda s: s.delete_pod("there")),
    ("a pod that ends", lacking_room, lambda s: s.change_pod("there", {"status": {"phase": "Succeeded"}})),
    (
        "a node that grows",
        lacking_room,
        lambda s: s.change_node("full", {"status": {"allocatable": {"cpu": "2"}}}),
    ),
    ("a key to a closed node", shut_out, lambda s: s.change_pod("new", {"spec": {"tolerations": [key("shut")]}})),
    (
        "another key",
        shut_out_with_a_key,
        lambda s: s.change_pod("new", {"spec": {"tolerations": [key("gone"), key("shut")]}}),
    ),
    (
        "a closed node that the pod has the key to",
        shut_out_with_a_key,
        lambda s: s.node("gone", taints=[{**CLOSED, "value": "gone"}]),
    ),
    ("a taint that goes", tainted, lambda s: s.change_node("gpu", {"spec": {"taints": []}})),
    ("a new toleration", tainted, lambda s: s.change_pod("new", {"spec": {"tolerations": [{"key": "gpu"}]}})),
    ("an uncordoned node", cordoned, lambda s: s.change_node("cordoned", {"spec": {"unschedulable": None}})),
    (
        "a toleration of the cordon",
        cordoned,
        lambda s: s.change_pod(
            "new", {"spec": {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}}
        ),
    ),
    ("a label that is asked for", choosy, lambda s: s.change_node("plain", {"metadata": {"labels": {"disk": "ssd"}}})),
    ("a node with such a label", choosy, lambda s: s.node("fast", labels={"disk": "ssd"})),
    ("the departure of a pod that keeps others away", shunned, lambda s: s.delete_pod("loner")),
    (
        "a label change of the pod that others keep away",
        shunned,
        lambda s: s.change_pod("new", {"metadata": {"labels": {"app": "other"}}}),
    ),
    ("a node for a pod that keeps away from others", shunning, lambda s: s.node("two")),
    (
        "another label on the pod that it keeps away from",
        shunning,
        lambda s: s.change_pod("there", {"metadata": {"labels": {"app": "other"}}}),
    ),
    ("a pod to be near to", lonely, lambda s: s.pod("database", node="one", labels={"app": "database"})),
    ("the departure of a pod of the crowd", crowded, lambda s: s.delete_pod("there")),
    ("a taint that goes in another domain", crowded, lambda s: s.change_node("two", {"spec": {"taints": []}})),
    ("a port that is given back", porter, lambda s: s.delete_pod("there")),
    ("a node for a pod with host ports", porter, lambda s: s.node("two")),
    (
        "a CSINode for a pod with too many volumes",
        too_many_volumes,
        lambda s: s.store.create(CSI_NODES, {"metadata": {"name": "two"}, "spec": {"drivers": []}}),
    ),
    (
        "a higher limit",
        too_many_volumes,
        lambda s: s.store.patch(
            CSI_NODES,
            "one",
            patch={"spec": {"drivers": [{"name": "csi.test", "nodeID": "one", "allocatable": {"count": 2}}]}},
        ),
    ),
    ("the departure of a pod with volumes", too_many_volumes, lambda s: s.delete_pod("there")),
]

SLEEPS: list[tuple[str, Callable[[Scene], None], Callable[[Scene], object]]] = [
    ("a node too small even when empty", lacking_room, lambda s: s.node("tiny", cpu="500m")),
    ("a node whose labels change", lacking_room, lambda s: s.change_node("full", {"metadata": {"labels": {"a": "b"}}})),
    (
        "an annotation on the pod",
        lacking_room,
        lambda s: s.change_pod("new", {"metadata": {"annotations": {"a": "b"}}}),
    ),
    ("a nomination from outside", lacking_room, lambda s: s.change_pod("new", {"status": {"nominatedNodeName": "x"}})),
    ("a node that shows a condition", tainted, lambda s: s.change_node("gpu", {"status": {"conditions": []}})),
    ("a closed node", shut_out_with_a_key, lambda s: s.node("more", taints=[{**CLOSED, "value": "more"}])),
    ("a tainted node", tainted, lambda s: s.node("more", taints=[GPU])),
    (
        "another toleration for a cordon",
        cordoned,
        lambda s: s.change_pod("new", {"spec": {"tolerations": [{"key": "x"}]}}),
    ),
    ("a node without the label", choosy, lambda s: s.node("plainer")),
    ("a node for a pod that only others keep away", shunned, lambda s: s.node("two")),
    ("a pod that is nobody's neighbour", lonely, lambda s: s.pod("cache", node="one", labels={"app": "cache"})),
    ("a node for a pod with too many volumes", too_many_volumes, lambda s: s.node("two")),
    ("the departure of a pod without ports", porter, lambda s: s.store.delete(PODS, "quiet", "default")),
    (
        "an attachment that comes",
        too_many_volumes,
        lambda s: s.store.create(ATTACHMENTS, {"metadata": {"name": "a"}, "spec": {"nodeName": "one"}}),
    ),
]


@pytest.mark.parametrize(("begin", "happen"), [case[1:] for case in WAKES], ids=[case[0] for case in WAKES])
def test_wakes(begin: Callable[[Scene], None], happen: Callable[[Scene], object]) -> None:
    async def play(scene: Scene) -> None:
        begin(scene)
        await scene.pass_by(20)
        assert not scene.where("new")
        happen(scene)
        await scene.pass_by()
        assert scene.where("new") or tries(scene) == 2

    on_a_scene(play)


@pytest.mark.parametrize(("begin", "happen"), [case[1:] for case in SLEEPS], ids=[case[0] for case in SLEEPS])
def test_does_not_wake(begin: Callable[[Scene], None], happen: Callable[[Scene], object]) -> None:
    async def play(scene: Scene) -> None:
        begin(scene)
        if begin is porter:
            scene.pod("quiet", node="one")
        await scene.pass_by(20)
        assert not scene.where("new")
        happen(scene)
        await scene.pass_by(20)
        assert not scene.where("new")
        assert tries(scene) == 1

    on_a_scene(play)
