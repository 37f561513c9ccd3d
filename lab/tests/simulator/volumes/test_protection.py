"""What is in use stays, and claims that are made for one pod."""

from growth_lab.simulator.garbage import Garbage
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CLAIMS, PODS, STORAGE_CLASSES, VOLUMES
from growth_lab.simulator.volumes import Volumes
from lab.tests.simulator.rehearsal import Rehearsal, rehearse
from lab.tests.simulator.volumes.storage import DRIVER, Disks, a_class, a_volume


def test_a_claim_in_use_stays_even_after_its_pod_ended() -> None:
    """Seen on Kubernetes 1.36: a pod that Succeeded holds its claim until it is deleted."""

    async def play(scene: Rehearsal) -> None:
        disks = Disks(scene)
        pod = disks.start_pod()
        await scene.wait()
        scene.store.delete(CLAIMS, "data", "default")
        scene.set_phase(pod, "Succeeded")
        await scene.wait(60)
        claim = scene.store.get(CLAIMS, "data", "default")
        assert claim is not None
        assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
        scene.delete(pod, 0)
        await scene.wait()
        assert scene.store.get(CLAIMS, "data", "default") is None

    rehearse(play)


def test_a_pod_that_is_not_assigned_holds_nothing() -> None:
    async def play(scene: Rehearsal) -> None:
        Disks(scene)
        spec = {"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]}
        scene.store.create(PODS, {"metadata": {"name": "waiting", "namespace": "default"}, "spec": spec})
        await scene.wait()
        scene.store.delete(CLAIMS, "data", "default")
        await scene.wait()
        assert scene.store.get(CLAIMS, "data", "default") is None

    rehearse(play)


def test_a_bound_volume_stays_until_it_is_released() -> None:
    async def play(scene: Rehearsal) -> None:
        Disks(scene)
        await scene.wait()
        scene.store.delete(VOLUMES, "disk")
        await scene.wait(60)
        volume = scene.store.get(VOLUMES, "disk")
        assert volume is not None
        assert volume["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
        scene.store.delete(CLAIMS, "data", "default")
        await scene.wait()
        assert scene.store.get(VOLUMES, "disk") is None

    rehearse(play)


def test_a_free_volume_goes_at_once() -> None:
    async def play(scene: Rehearsal) -> None:
        Volumes(scene.clock, scene.store, scene.timings)
        scene.store.create(VOLUMES, a_volume("disk"))
        await scene.wait()
        scene.store.delete(VOLUMES, "disk")
        await scene.wait()
        assert scene.store.get(VOLUMES, "disk") is None

    rehearse(play)


def an_ephemeral_pod() -> Json:
    template = {
        "metadata": {"labels": {"tier": "cache"}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    spec = {"volumes": [{"name": "cache", "ephemeral": {"volumeClaimTemplate": template}}]}
    return {"metadata": {"name": "worker", "namespace": "default", "labels": {}}, "spec": spec}


def test_a_claim_for_one_pod_comes_and_goes_with_it() -> None:
    async def play(scene: Rehearsal) -> None:
        Volumes(scene.clock, scene.store, scene.timings)
        Garbage(scene.clock, scene.store, scene.timings)
        scene.store.create(STORAGE_CLASSES, a_class("fast", DRIVER))
        pod = scene.store.create(PODS, an_ephemeral_pod())
        await scene.wait(3)
        claim = scene.store.get(CLAIMS, "worker-cache", "default")
        assert claim is not None
        assert claim["metadata"]["labels"] == {"tier": "cache"}
        (owner,) = claim["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", pod["metadata"]["uid"], True)
        assert claim["status"]["phase"] == "Bound"
        scene.delete(pod)
        await scene.wait(3)
        assert list(scene.store.all(CLAIMS)) == []
        assert list(scene.store.all(VOLUMES)) == []

    rehearse(play)
