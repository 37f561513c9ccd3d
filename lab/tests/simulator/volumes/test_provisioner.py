"""The stand-in provisioner: volumes on demand, where the node can reach them, and their end."""

from typing import Any

from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import ATTACHMENTS, CLAIMS, CSI_NODES, STORAGE_CLASSES, VOLUMES
from growth_lab.simulator.volumes import Volumes
from growth_lab.simulator.volumes.attachment_names import attachment
from growth_lab.simulator.volumes.desired_attachments import disk_of
from lab.tests.simulator.rehearsal import Rehearsal, rehearse
from lab.tests.simulator.volumes.storage import DRIVER, a_claim, a_class

ZONE = "topology.example.org/zone"


def start(scene: Rehearsal, **fields: Any) -> Json:  # noqa: ANN401
    Volumes(scene.clock, scene.store, scene.timings)
    scene.store.create(STORAGE_CLASSES, a_class("fast", DRIVER, **fields))
    return scene.store.create(CLAIMS, a_claim("data", "3Gi", storage_class="fast"))


def choose(scene: Rehearsal, node: str) -> None:
    """What the scheduler says when it wants a volume made for a node."""
    mark = {"volume.kubernetes.io/selected-node": node}
    scene.store.patch(CLAIMS, "data", "default", {"metadata": {"annotations": mark}})


def test_a_volume_is_made_after_a_while_and_bound() -> None:
    async def play(scene: Rehearsal) -> None:
        made = start(scene)
        await scene.wait(0.5)
        claim = scene.store.get(CLAIMS, "data", "default")
        assert claim is not None
        assert claim["metadata"]["annotations"] == {
            "volume.kubernetes.io/storage-provisioner": DRIVER,
            "volume.beta.kubernetes.io/storage-provisioner": DRIVER,
        }
        assert list(scene.store.all(VOLUMES)) == []
        await scene.wait(1)
        (volume,) = scene.store.all(VOLUMES)
        assert volume["metadata"]["name"] == f"pvc-{made['metadata']['uid']}"
        assert volume["metadata"]["annotations"] == {"pv.kubernetes.io/provisioned-by": DRIVER}
        assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
        assert volume["spec"]["capacity"] == {"storage": "3Gi"}
        assert volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
        assert scene.status(CLAIMS, "data")["phase"] == "Bound"

    rehearse(play)


def test_for_the_first_consumer_it_is_made_where_the_node_is() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, volumeBindingMode="WaitForFirstConsumer")
        scene.add_node("node-1", metadata={"labels": {ZONE: "a"}})
        drivers = [{"name": DRIVER, "nodeID": "1", "topologyKeys": [ZONE]}]
        scene.store.create(CSI_NODES, {"metadata": {"name": "node-1"}, "spec": {"drivers": drivers}})
        await scene.wait(60)
        assert list(scene.store.all(VOLUMES)) == []
        choose(scene, "node-1")
        await scene.wait(2)
        (volume,) = scene.store.all(VOLUMES)
        (term,) = part(volume, "spec", "nodeAffinity", "required")["nodeSelectorTerms"]
        assert term == {"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["a"]}]}
        assert scene.status(CLAIMS, "data")["phase"] == "Bound"

    rehearse(play)


def test_a_chosen_node_that_is_gone_is_given_back() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, volumeBindingMode="WaitForFirstConsumer")
        choose(scene, "gone")
        await scene.wait(2)
        claim = scene.store.get(CLAIMS, "data", "default")
        assert claim is not None
        assert "volume.kubernetes.io/selected-node" not in claim["metadata"]["annotations"]
        assert list(scene.store.all(VOLUMES)) == []

    rehearse(play)


def test_a_volume_goes_with_its_claim_once_it_is_detached() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait(2)
        (volume,) = scene.store.all(VOLUMES)
        disk = disk_of(volume)
        assert disk is not None
        held = scene.store.create(ATTACHMENTS, attachment(disk, "node-1"))
        scene.store.delete(CLAIMS, "data", "default")
        await scene.wait(60)
        assert [part(known, "status")["phase"] for known in scene.store.all(VOLUMES)] == ["Released"]
        scene.store.delete(ATTACHMENTS, held["metadata"]["name"])
        await scene.wait(2)
        assert list(scene.store.all(VOLUMES)) == []

    rehearse(play)


def test_a_volume_that_is_to_be_kept_stays() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, reclaimPolicy="Retain")
        await scene.wait(2)
        scene.store.delete(CLAIMS, "data", "default")
        await scene.wait(60)
        assert [part(known, "status")["phase"] for known in scene.store.all(VOLUMES)] == ["Released"]

    rehearse(play)
