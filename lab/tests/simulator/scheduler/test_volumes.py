"""Claims that wait for their first consumer: what the scheduler asks of the volume controller, and waits for."""

from typing import Any

from growth_lab.simulator.served_kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from lab.tests.simulator.scheduler.scene import Scene, on_a_scene

Json = dict[str, Any]
SELECTED = "volume.kubernetes.io/selected-node"
DONE = "pv.kubernetes.io/bind-completed"
DATA = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


def a_claim(scene: Scene, *, provisioner: str = "csi.test", mode: str = "WaitForFirstConsumer") -> None:
    kind: Json = {"metadata": {"name": "late"}, "provisioner": provisioner, "volumeBindingMode": mode}
    scene.store.create(STORAGE_CLASSES, kind)
    spec = {
        "storageClassName": "late",
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "1Gi"}},
    }
    scene.store.create(
        CLAIMS,
        {"metadata": {"name": "data", "namespace": "default"}, "spec": spec, "status": {"phase": "Pending"}},
    )


def complete(scene: Scene, volume: str) -> None:
    """What the volume controller does in the end."""
    scene.store.patch(
        CLAIMS,
        "data",
        "default",
        {"metadata": {"annotations": {DONE: "yes"}}, "spec": {"volumeName": volume}, "status": {"phase": "Bound"}},
    )


def test_a_claim_is_told_the_node_and_the_pod_is_bound_when_it_has_its_volume() -> None:
    async def play(scene: Scene) -> None:
        a_claim(scene)
        scene.node("one", cpu="1")
        scene.pod("new", volumes=DATA)
        await scene.pass_by(1)
        claim = scene.store.get(CLAIMS, "data", "default")
        assert claim is not None
        assert claim["metadata"]["annotations"][SELECTED] == "one"
        assert (scene.where("new"), scene.nominated("new")) == ("", "one")
        scene.pod("second")
        await scene.pass_by(1)
        assert "Insufficient cpu" in scene.message("second")  # the room is taken already
        scene.store.create(VOLUMES, {"metadata": {"name": "made"}, "spec": {}, "status": {"phase": "Bound"}})
        complete(scene, "made")
        assert (scene.where("new"), scene.nominated("new")) == ("one", "")

    on_a_scene(play)


def test_a_free_volume_is_reserved_for_the_claim() -> None:
    async def play(scene: Scene) -> None:
        a_claim(scene, provisioner="kubernetes.io/no-provisioner")
        where = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["two"]}
        spec = {
            "storageClassName": "late",
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [where]}]}},
        }
        scene.store.create(VOLUMES, {"metadata": {"name": "local"}, "spec": spec, "status": {"phase": "Available"}})
        scene.node("one")
        scene.node("two")
        scene.pod("new", volumes=DATA)
        await scene.pass_by(1)
        volume = scene.store.get(VOLUMES, "local")
        assert volume is not None
        assert volume["spec"]["claimRef"]["name"] == "data"
        complete(scene, "local")
        assert scene.where("new") == "two"

    on_a_scene(play)


def test_volumes_that_do_not_come_are_an_error_after_ten_minutes() -> None:
    async def play(scene: Scene) -> None:
        a_claim(scene)
        scene.node("one")
        scene.pod("new", volumes=DATA)
        await scene.pass_by(601)
        assert scene.message("new") == "binding volumes: context deadline exceeded"
        assert not scene.nominated("new")
        await scene.pass_by(5)
        assert scene.nominated("new") == "one"  # it tries again

    on_a_scene(play)


def test_a_missing_claim_or_one_that_binds_at_once_is_waited_for() -> None:
    async def play(scene: Scene) -> None:
        scene.node("one")
        scene.pod("new", volumes=DATA)
        await scene.pass_by(1)
        assert scene.message("new") == '0/1 nodes are available: persistentvolumeclaim "data" not found. not found'
        a_claim(scene, mode="Immediate")
        await scene.pass_by(1)
        assert "pod has unbound immediate PersistentVolumeClaims" in scene.message("new")
        scene.store.create(VOLUMES, {"metadata": {"name": "made"}, "spec": {}, "status": {"phase": "Bound"}})
        complete(scene, "made")
        await scene.pass_by(1)
        assert scene.where("new") == "one"

    on_a_scene(play)
