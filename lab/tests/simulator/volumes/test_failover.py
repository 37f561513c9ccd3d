"""Every row of facts-failover.md that concerns volumes; what other controllers would do is done by hand."""

import pytest

from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import ATTACHMENTS, EVENTS, NODES, PODS
from lab.tests.simulator.rehearsal import Rehearsal, rehearse
from lab.tests.simulator.volumes.storage import Disks


def collect(disks: Disks, pod: Json) -> None:
    """What the pod collector does to a terminating pod of a node out of service: Failed, then gone."""
    scene = disks.scene
    scene.set_phase(scene.pod(pod["metadata"]["name"]), "Failed")
    scene.delete(pod, 0)


def test_timeline_no_taint_nothing_moves_while_the_pod_exists() -> None:
    """Timelines, "no taint": pod Terminating, VA attached, for as long as anybody watched."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        await scene.wait(300)
        scene.delete(pod)
        await scene.wait(517)
        assert disks.attachments() == {"node-1": True}

    rehearse(play)


def test_timeline_with_the_taint_the_volume_goes_with_the_pod() -> None:
    """Timelines, "OOS NoExecute set at NotReady": pod gone to old VA gone < 0.2 s, to new VA attached 0.6 to 0.75 s."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        disks.taint("node-1")
        scene.delete(pod)
        await scene.wait(14)
        assert disks.attachments() == {"node-1": True}
        collect(disks, pod)
        disks.start_pod(node="node-2")
        await scene.wait(0.2)
        assert disks.attachments() == {}
        await scene.wait(0.55)
        assert disks.attachments() == {"node-2": True}
        assert (disks.reported("node-1"), disks.reported("node-2")) == ([], [])
        await scene.wait(1)
        assert disks.reported("node-2") == [disks.in_use]

    rehearse(play)


@pytest.mark.parametrize("effect", ["NoExecute", "NoSchedule"])
def test_variant_tainted_while_ready_the_unmount_guard_is_gone(effect: str) -> None:
    """Variants, "Tainted while Ready" and "Effect NoSchedule": the key counts, neither Ready nor volumesInUse."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.taint("node-1", effect)
        scene.delete(pod, 0)
        await scene.wait(0.15)
        assert disks.attachments() == {}

    rehearse(play)


def test_variant_tainted_before_it_is_known_to_be_dead() -> None:
    """Variants, "Tainted 5 s after death, still Ready": the volume follows the pod, whenever that goes."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.taint("node-1")
        scene.delete(pod)
        await scene.wait(45)
        assert disks.attachments() == {"node-1": True}
        disks.silence("node-1")
        await scene.wait(14)
        collect(disks, pod)
        await scene.wait(0.15)
        assert disks.attachments() == {}

    rehearse(play)


def test_variant_node_back_after_the_taint_is_force_detached_all_the_same() -> None:
    """Variants, "Node back 1 s after the taint": it deleted the pod itself; VA still force-detached."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        disks.taint("node-1")
        scene.delete(pod)
        await scene.wait(1)
        scene.store.patch(NODES, "node-1", patch={"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        scene.delete(pod, 0)
        await scene.wait(0.15)
        assert disks.attachments() == {}

    rehearse(play)


def test_variant_a_pod_that_tolerates_everything_keeps_its_volume() -> None:
    """Variants, "Pod tolerates everything": it stays Running on the dead node, and so does its volume."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        await disks.run_on_node_1()
        disks.silence("node-1")
        disks.taint("node-1")
        await scene.wait(600)
        assert disks.attachments() == {"node-1": True}

    rehearse(play)


def test_variant_a_pod_with_a_finalizer_gives_the_volume_back_on_time() -> None:
    """Variants, "Pod finalizer": Failed, VA gone on time."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        scene.store.patch(PODS, "db-0", "default", {"metadata": {"finalizers": ["example.org/hold"]}})
        disks.silence("node-1")
        disks.taint("node-1")
        scene.delete(pod)
        collect(disks, pod)
        await scene.wait(0.15)
        assert scene.names() == ["db-0"]
        assert disks.attachments() == {}

    rehearse(play)


def test_variant_taint_removed_too_early_and_set_again() -> None:
    """Variants, "Taint removed after 0.3 s": nothing happens until it is there again and the pod goes."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        disks.taint("node-1")
        scene.delete(pod)
        await scene.wait(0.3)
        disks.untaint("node-1")
        await scene.wait(60)
        assert disks.attachments() == {"node-1": True}
        disks.taint("node-1")
        collect(disks, pod)
        await scene.wait(0.15)
        assert disks.attachments() == {}

    rehearse(play)


def test_variant_taint_late_after_a_force_delete() -> None:
    """Variants, "Taint late": pod force-deleted by hand, VA gone in 0.03 s."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        scene.delete(pod, 0)
        await scene.wait(100)
        assert disks.attachments() == {"node-1": True}
        disks.taint("node-1")
        await scene.wait(0.1)
        assert disks.attachments() == {}

    rehearse(play)


def test_variant_force_delete_without_taint_takes_six_minutes() -> None:
    """Variants, "Force delete, no taint": replacement immediately, Multi-Attach error, VA gone 360 s later."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        scene.delete(pod, 0)
        disks.start_pod(node="node-2")
        await scene.wait(359)
        assert disks.attachments() == {"node-1": True}
        (event,) = scene.store.all(EVENTS)
        assert event["note"] == (
            'Multi-Attach error for volume "disk" Volume is already exclusively attached to one node and '
            "can't be attached to another"
        )
        await scene.wait(3)
        assert disks.attachments() == {"node-2": True}

    rehearse(play)


@pytest.mark.parametrize("is_tainted", [False, True], ids=["not tainted", "tainted"])
def test_variant_node_deleted_takes_six_minutes(is_tainted: bool) -> None:  # noqa: FBT001
    """Variants, "Node deleted, tainted or not": VA 360 s after the pod, because the taint went with the Node."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        if is_tainted:
            disks.taint("node-1")
        scene.store.delete(NODES, "node-1")
        await scene.wait(50)
        scene.delete(pod, 0)
        await scene.wait(359)
        assert disks.attachments() == {"node-1": True}
        await scene.wait(2)
        assert disks.attachments() == {}

    rehearse(play)


def test_variant_node_deleted_with_nothing_in_use_is_quick() -> None:
    """Variants, "Node deleted": at once if volumesInUse was empty."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.use("node-1", is_used=False)
        scene.store.delete(NODES, "node-1")
        await scene.wait(50)
        scene.delete(pod, 0)
        await scene.wait(0.15)
        assert disks.attachments() == {}

    rehearse(play)


def test_variant_node_created_again_detaches_unguarded() -> None:
    """Variants, "Re-creating the Node (no taint) empties volumesInUse": VA gone in 0.1 s."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        scene.store.delete(NODES, "node-1")
        await scene.wait(50)
        scene.delete(pod, 0)
        await scene.wait(30)
        assert disks.attachments() == {"node-1": True}
        disks.add_node("node-1")
        await scene.wait(0.15)
        assert disks.attachments() == {}

    rehearse(play)


def test_variant_attacher_stuck() -> None:
    """Variants, "Attacher stuck": VA keeps deletionTimestamp and finalizer, no VA and no event for the replacement,
    volumesAttached is emptied at the start; released, the new one is attached within seconds."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.volumes.attacher.is_stuck = True
        disks.silence("node-1")
        disks.taint("node-1")
        scene.delete(pod, 0)
        disks.start_pod(node="node-2")
        await scene.wait(50)
        disks.untaint("node-1")
        scene.store.patch(NODES, "node-1", patch={"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        await scene.wait(52)
        (known,) = scene.store.all(ATTACHMENTS)
        assert known["spec"]["nodeName"] == "node-1"
        assert "deletionTimestamp" in known["metadata"]
        assert known["metadata"]["finalizers"] == ["external-attacher/csi-example-org"]
        assert disks.reported("node-1") == []
        assert list(scene.store.all(EVENTS)) == []
        disks.volumes.attacher.is_stuck = False
        await scene.wait(7)
        assert disks.attachments() == {"node-2": True}

    rehearse(play)


def test_return_not_tainted_the_volume_waits_for_the_node_to_unmount() -> None:
    """Return, "Not tainted, pod Terminating": the node deletes it; the VA waits for volumesInUse."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        scene.delete(pod)
        await scene.wait(400)
        scene.store.patch(NODES, "node-1", patch={"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        scene.delete(pod, 0)
        await scene.wait(30)
        assert disks.attachments() == {"node-1": True}
        disks.use("node-1", is_used=False)
        await scene.wait(0.15)
        assert disks.attachments() == {}

    rehearse(play)


def test_a_pod_that_comes_back_to_the_node_stops_the_six_minutes() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        scene.delete(pod, 0)
        await scene.wait(300)
        again = disks.start_pod()
        await scene.wait(100)
        scene.delete(again, 0)
        await scene.wait(300)
        assert disks.attachments() == {"node-1": True}
        await scene.wait(61)
        assert disks.attachments() == {}

    rehearse(play)
