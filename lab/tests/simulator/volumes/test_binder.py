"""Claims and volumes find each other, and what becomes of a volume without its claim."""

from typing import Any

import pytest

from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from growth_lab.simulator.volumes import Volumes
from lab.tests.simulator.rehearsal import Rehearsal, rehearse
from lab.tests.simulator.volumes.storage import a_claim, a_class, a_volume

BOUND = {"pv.kubernetes.io/bind-completed": "yes", "pv.kubernetes.io/bound-by-controller": "yes"}


def start(scene: Rehearsal, **fields: Any) -> None:  # noqa: ANN401
    Volumes(scene.clock, scene.store, scene.timings)
    scene.store.create(STORAGE_CLASSES, a_class("manual", **fields))


def claim(scene: Rehearsal, name: str = "data") -> Json:
    found = scene.store.get(CLAIMS, name, "default")
    assert found is not None
    return found


def volume(scene: Rehearsal, name: str) -> Json:
    found = scene.store.get(VOLUMES, name)
    assert found is not None
    return found


def phases(scene: Rehearsal) -> dict[str, str]:
    return {
        known["metadata"]["name"]: part(known, "status").get("phase", "")
        for resource in (CLAIMS, VOLUMES)
        for known in scene.store.all(resource)
    }


def test_a_claim_gets_the_smallest_volume_that_is_large_enough() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        for name, size in (("big", "20Gi"), ("right", "2Gi"), ("small", "500Mi")):
            scene.store.create(VOLUMES, a_volume(name, size))
        await scene.wait()
        made = scene.store.create(CLAIMS, a_claim("data"))
        await scene.wait()
        known = claim(scene)
        assert known["spec"]["volumeName"] == "right"
        assert known["metadata"]["annotations"] == BOUND
        assert known["status"] == {
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "2Gi"},
        }
        right = volume(scene, "right")
        assert right["metadata"]["annotations"] == {"pv.kubernetes.io/bound-by-controller": "yes"}
        assert (right["spec"]["claimRef"]["name"], right["spec"]["claimRef"]["uid"]) == (
            "data",
            made["metadata"]["uid"],
        )
        assert phases(scene) == {"data": "Bound", "big": "Available", "right": "Bound", "small": "Available"}

    rehearse(play)


@pytest.mark.parametrize(
    "wish",
    [
        {"storage_class": "other"},
        {"size": "11Gi"},
        {"accessModes": ["ReadWriteMany"]},
        {"volumeMode": "Block"},
        {"selector": {"matchLabels": {"tier": "fast"}}},
        {"volumeName": "another"},
    ],
    ids=["class", "size", "access", "mode", "labels", "another name"],
)
def test_a_volume_that_does_not_suit_is_not_taken(wish: dict[str, Any]) -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        scene.store.create(VOLUMES, a_volume("disk"))
        scene.store.create(CLAIMS, a_claim("data", **wish))
        await scene.wait()
        assert phases(scene) == {"data": "Pending", "disk": "Available"}

    rehearse(play)


def test_a_claim_waits_for_a_volume_to_come() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        scene.store.create(CLAIMS, a_claim("data"))
        await scene.wait()
        scene.store.create(VOLUMES, a_volume("disk"))
        await scene.wait()
        assert phases(scene) == {"data": "Bound", "disk": "Bound"}

    rehearse(play)


def test_one_volume_is_never_given_to_two_claims() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        scene.store.create(CLAIMS, a_claim("one"))
        scene.store.create(CLAIMS, a_claim("two"))
        scene.store.create(VOLUMES, a_volume("disk"))
        await scene.wait()
        assert sorted(phases(scene).values()) == ["Bound", "Bound", "Pending"]

    rehearse(play)


def test_a_volume_reserved_by_hand_is_kept_for_its_claim() -> None:
    """facts-failover, "Test set-up" 3: CSI PV with claimRef."""

    async def play(scene: Rehearsal) -> None:
        start(scene, volumeBindingMode="WaitForFirstConsumer")
        reserved = {"name": "data", "namespace": "default"}
        scene.store.create(VOLUMES, a_volume("disk", claimRef=reserved))
        scene.store.create(CLAIMS, a_claim("stranger"))
        await scene.wait()
        assert phases(scene) == {"stranger": "Pending", "disk": "Available"}
        scene.store.create(CLAIMS, a_claim("data"))
        await scene.wait()
        assert phases(scene) == {"stranger": "Pending", "data": "Bound", "disk": "Bound"}
        assert "annotations" not in volume(scene, "disk")["metadata"]

    rehearse(play)


def test_a_claim_that_names_its_volume_gets_it() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        scene.store.create(VOLUMES, a_volume("small", "1Gi"))
        scene.store.create(VOLUMES, a_volume("disk"))
        scene.store.create(CLAIMS, a_claim("data", volumeName="disk"))
        await scene.wait()
        assert phases(scene) == {"data": "Bound", "small": "Available", "disk": "Bound"}
        assert claim(scene)["metadata"]["annotations"] == {"pv.kubernetes.io/bind-completed": "yes"}

    rehearse(play)


def test_a_claim_for_the_first_consumer_waits_for_the_scheduler() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, volumeBindingMode="WaitForFirstConsumer")
        scene.store.create(VOLUMES, a_volume("disk"))
        made = scene.store.create(CLAIMS, a_claim("data"))
        await scene.wait(600)
        assert phases(scene) == {"data": "Pending", "disk": "Available"}
        # The scheduler reserves the volume that it has chosen.
        meta = made["metadata"]
        chosen = {"name": "data", "namespace": "default", "uid": meta["uid"]}
        scene.store.patch(VOLUMES, "disk", patch={"spec": {"claimRef": chosen}})
        await scene.wait()
        assert phases(scene) == {"data": "Bound", "disk": "Bound"}

    rehearse(play)


def test_a_volume_without_its_claim_is_released_and_kept() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        scene.store.create(VOLUMES, a_volume("kept"))
        # No plug-in can delete a volume that was made by hand: it stays Released (seen on 1.36).
        scene.store.create(VOLUMES, a_volume("manual", "2Gi", persistentVolumeReclaimPolicy="Delete"))
        for name in ("one", "two"):
            scene.store.create(CLAIMS, a_claim(name))
        await scene.wait()
        for name in ("one", "two"):
            scene.store.delete(CLAIMS, name, "default")
        await scene.wait(60)
        assert phases(scene) == {"kept": "Released", "manual": "Released"}
        scene.store.create(CLAIMS, a_claim("one"))
        await scene.wait()
        assert phases(scene)["one"] == "Pending"

    rehearse(play)


def test_a_claim_without_its_volume_is_lost() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        scene.store.create(VOLUMES, a_volume("disk"))
        scene.store.create(CLAIMS, a_claim("data"))
        await scene.wait()
        scene.store.patch(VOLUMES, "disk", patch={"metadata": {"finalizers": None}})
        scene.store.delete(VOLUMES, "disk")
        await scene.wait()
        assert phases(scene) == {"data": "Lost"}

    rehearse(play)


def test_a_claim_without_class_gets_the_default() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        default = {"storageclass.kubernetes.io/is-default-class": "true"}
        scene.store.patch(STORAGE_CLASSES, "manual", patch={"metadata": {"annotations": default}})
        scene.store.create(CLAIMS, a_claim("data", storage_class=None))
        scene.store.create(CLAIMS, a_claim("none", storage_class=""))
        await scene.wait()
        assert [claim(scene, name)["spec"]["storageClassName"] for name in ("data", "none")] == ["manual", ""]

    rehearse(play)
