"""The attach/detach controller in peace: who gets a volume, and when it goes."""

from growth_lab.simulator.json_parts import part
from growth_lab.simulator.served_kinds import ATTACHMENTS, CLAIMS, CSI_DRIVERS, EVENTS, NODES, VOLUMES
from growth_lab.simulator.volumes import Volumes
from growth_lab.simulator.volumes.attachment_names import attachment, seconds_until_noticed
from growth_lab.simulator.volumes.desired_attachments import Disk
from lab.tests.simulator.rehearsal import Rehearsal, rehearse
from lab.tests.simulator.volumes.storage import DRIVER, Disks, a_volume


def test_an_assigned_pod_gets_its_volume() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        disks.start_pod()
        await scene.wait(2)
        (known,) = scene.store.all(ATTACHMENTS)
        assert known["metadata"]["name"].startswith("csi-")
        assert len(known["metadata"]["name"]) == len("csi-") + 64
        assert known["metadata"]["finalizers"] == ["external-attacher/csi-example-org"]
        assert known["spec"] == {
            "attacher": DRIVER,
            "nodeName": "node-1",
            "source": {"persistentVolumeName": "disk"},
        }
        assert known["status"]["attached"] is True
        assert disks.reported("node-1") == [disks.in_use]

    rehearse(play)


def test_a_node_that_is_not_managed_gets_nothing() -> None:
    """facts-failover, "Test set-up" 2: without the annotation no VolumeAttachment, and the pod runs anyway."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        scene.store.patch(NODES, "node-1", patch={"metadata": {"annotations": None}})
        plain = scene.add_node("plain")
        disks.start_pod(node=plain["metadata"]["name"])
        await scene.wait(60)
        assert disks.attachments() == {}

    rehearse(play)


def test_a_driver_that_needs_no_attaching_gets_nothing() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        scene.store.create(CSI_DRIVERS, {"metadata": {"name": DRIVER}, "spec": {"attachRequired": False}})
        disks.start_pod()
        await scene.wait(60)
        assert disks.attachments() == {}

    rehearse(play)


def test_a_claim_that_is_bound_late_is_attached_then() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        scene.store.delete(CLAIMS, "data", "default")
        await scene.wait()
        disks.start_pod()
        await scene.wait()
        assert disks.attachments() == {}
        volume = scene.store.get(VOLUMES, "disk")
        assert volume is not None
        scene.store.patch(VOLUMES, "disk", patch={"spec": {"claimRef": None}})
        claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": "manual"}
        scene.store.create(CLAIMS, {"metadata": {"name": "data", "namespace": "default"}, "spec": claim})
        await scene.wait(2)
        assert disks.attachments() == {"node-1": True}

    rehearse(play)


def test_control_without_taint_the_volume_stays_until_the_node_let_go() -> None:
    """facts-failover, variant "Tainted while Ready", its control: VA stayed 60 s, until volumesInUse was cleared."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        scene.delete(pod, 0)
        await scene.wait(60)
        assert disks.attachments() == {"node-1": True}
        disks.use("node-1", is_used=False)
        await scene.wait(0.15)
        assert disks.attachments() == {}
        assert disks.reported("node-1") == []

    rehearse(play)


def test_a_ready_node_is_never_forced() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        scene.delete(pod, 0)
        await scene.wait(3600)
        assert disks.attachments() == {"node-1": True}
        disks.silence("node-1")
        await scene.wait(0.2)
        assert disks.attachments() == {}

    rehearse(play)


def test_a_pod_that_ended_gives_its_volume_back() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        scene.set_phase(pod, "Succeeded")
        disks.use("node-1", is_used=False)
        await scene.wait(1)
        assert disks.attachments() == {}

    rehearse(play)


def test_a_successor_gets_the_volume_after_it_was_taken_away() -> None:
    """facts-failover, "Timelines": pod gone to new VA attached, 0.6 to 0.75 s."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = await disks.run_on_node_1()
        disks.silence("node-1")
        disks.taint("node-1")
        scene.delete(pod, 0)
        disks.start_pod(node="node-2")
        await scene.wait(0.2)
        assert disks.attachments() == {}
        await scene.wait(0.38)
        assert disks.attachments() == {}
        await scene.wait(0.17)
        assert disks.attachments() == {"node-2": True}

    rehearse(play)


def test_a_pod_elsewhere_waits_and_is_told_once_who_uses_the_volume() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        await disks.run_on_node_1()
        disks.start_pod("thief", "node-2")
        await scene.wait(600)
        assert disks.attachments() == {"node-1": True}
        (event,) = scene.store.all(EVENTS)
        assert event["note"] == 'Multi-Attach error for volume "disk" Volume is already used by pod(s) db-0'
        assert event["regarding"]["name"] == "thief"

    rehearse(play)


def test_a_volume_for_many_is_attached_to_many() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene, accessModes=["ReadWriteMany"])
        disks.start_pod("one", "node-1")
        disks.start_pod("two", "node-2")
        await scene.wait(2)
        assert disks.attachments() == {"node-1": True, "node-2": True}

    rehearse(play)


def test_two_pods_of_a_node_share_one_attachment() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        first = disks.start_pod("one")
        second = disks.start_pod("two")
        await scene.wait(2)
        scene.delete(first, 0)
        await scene.wait(2)
        assert disks.attachments() == {"node-1": True}
        scene.delete(second, 0)
        await scene.wait(2)
        assert disks.attachments() == {}

    rehearse(play)


def test_a_controller_that_starts_late_knows_what_is_attached() -> None:
    async def play(scene: Rehearsal) -> None:
        disk = Disk(f"kubernetes.io/csi/{DRIVER}^disk", "disk", DRIVER, "disk", is_exclusive=True)
        scene.store.create(VOLUMES, a_volume("disk"))
        scene.add_node("node-1", status={"volumesInUse": [disk.unique_name]})
        scene.store.create(ATTACHMENTS, {**attachment(disk, "node-1"), "status": {"attached": True}})
        Volumes(scene.clock, scene.store, scene.timings)
        await scene.wait(359)
        assert [known["spec"]["nodeName"] for known in scene.store.all(ATTACHMENTS)] == ["node-1"]
        await scene.wait(2)
        assert list(scene.store.all(ATTACHMENTS)) == []

    rehearse(play)


def test_an_attachment_that_somebody_else_removed_is_made_again_at_the_next_inspection() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        await disks.run_on_node_1()
        (known,) = scene.store.all(ATTACHMENTS)
        scene.store.delete(ATTACHMENTS, known["metadata"]["name"])
        await scene.wait(10)
        assert disks.attachments() == {}
        await scene.wait(60)
        assert disks.attachments() == {"node-1": True}
        assert disks.reported("node-1") == [disks.in_use]

    rehearse(play)


def test_the_plug_in_looks_ever_more_slowly() -> None:
    assert seconds_until_noticed(0) == 0
    assert 0.5 <= seconds_until_noticed(0.001) < 0.55
    assert 0 < seconds_until_noticed(102) < 6


def test_nobody_is_asked_twice_for_the_same_disk() -> None:
    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        disks.volumes.attacher.is_stuck = True
        pod = disks.start_pod()
        await scene.wait(60)
        assert disks.attachments() == {"node-1": False}
        assert disks.reported("node-1") == []
        scene.delete(pod, 0)
        disks.volumes.attacher.is_stuck = False
        await scene.wait(20)
        assert disks.attachments() == {}
        assert part(scene.store.get(NODES, "node-1") or {}, "status").get("volumesAttached") is None

    rehearse(play)
