"""StatefulSets: order, identity, claims, and never two pods of one ordinal."""

from itertools import pairwise
from typing import Any

import pytest

from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CLAIMS, PODS, STATEFUL_SETS
from growth_lab.simulator.store import Event
from growth_lab.simulator.workloads import Workloads
from growth_lab.simulator.workloads.pod_state import controller_of
from lab.tests.simulator.rehearsal import Hands, Rehearsal, a_workload, rehearse

DATA = {"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}


def start(scene: Rehearsal, **spec: Any) -> Json:  # noqa: ANN401
    Workloads(scene.clock, scene.store, scene.timings)
    wanted: Json = {"replicas": 3, "serviceName": "db", **spec}
    return scene.store.create(STATEFUL_SETS, a_workload("db", **wanted))


def change(scene: Rehearsal, **spec: Any) -> None:  # noqa: ANN401
    scene.store.patch(STATEFUL_SETS, "db", "default", {"spec": spec})


def test_the_next_pod_comes_when_the_one_before_is_ready() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        for count in (1, 2, 3):
            await scene.wait()
            assert scene.names() == [f"db-{ordinal}" for ordinal in range(count)]
            scene.run_all()
        await scene.wait()
        status = scene.status(STATEFUL_SETS, "db")
        counts = ("replicas", "readyReplicas", "availableReplicas", "currentReplicas", "updatedReplicas")
        assert [status[count] for count in counts] == [3] * 5
        assert status["currentRevision"] == status["updateRevision"]

    rehearse(play)


def test_in_parallel_all_come_at_once_and_from_any_ordinal() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, podManagementPolicy="Parallel", ordinals={"start": 5})
        await scene.wait()
        assert scene.names() == ["db-5", "db-6", "db-7"]

    rehearse(play)


def test_a_pod_has_an_identity() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, volumeClaimTemplates=[DATA])
        await scene.wait()
        pod = scene.pod("db-0")
        revision = scene.status(STATEFUL_SETS, "db")["updateRevision"]
        assert pod["metadata"]["labels"] == {
            "app": "db",
            "apps.kubernetes.io/pod-index": "0",
            "controller-revision-hash": revision,
            "statefulset.kubernetes.io/pod-name": "db-0",
        }
        assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-0", "db")
        assert pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]

    rehearse(play)


def test_claims_come_before_the_pod_and_outlive_it() -> None:
    async def play(scene: Rehearsal) -> None:
        order: list[str] = []
        for resource in (CLAIMS, PODS):
            scene.store.listen(resource, lambda event: order.append(f"{event.what} {event.key[1]}"))
        start(scene, replicas=1, volumeClaimTemplates=[DATA])
        await scene.wait()
        assert order == ["ADDED data-db-0", "ADDED db-0"]
        change(scene, replicas=0)
        await scene.wait()
        assert scene.names() == []
        claim = scene.store.get(CLAIMS, "data-db-0", "default")
        assert claim is not None
        assert claim["metadata"]["labels"] == {"app": "db"}
        assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
        assert controller_of(claim) is None

    rehearse(play)


def test_a_claim_on_its_way_out_is_waited_for() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=1, volumeClaimTemplates=[DATA])
        await scene.wait()
        scene.store.delete(CLAIMS, "data-db-0", "default")
        scene.delete(scene.pod("db-0"), 0)
        await scene.wait(3)
        assert scene.names() == []
        scene.store.patch(CLAIMS, "data-db-0", "default", {"metadata": {"finalizers": None}})
        await scene.wait(3)
        assert scene.names() == ["db-0"]

    rehearse(play)


def test_a_terminating_pod_keeps_its_place_until_it_is_gone() -> None:
    """facts-failover: no replacement while the old pod is Terminating on a dead node, or held by a finalizer."""

    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=1)
        await scene.wait()
        scene.run_all()
        scene.store.patch(PODS, "db-0", "default", {"metadata": {"finalizers": ["example.org/hold"]}})
        old = scene.delete(scene.pod("db-0"))
        await scene.wait(500)
        assert scene.pod("db-0")["metadata"]["uid"] == old["metadata"]["uid"]
        scene.set_phase(old, "Failed")
        scene.delete(old, 0)
        await scene.wait(60)
        assert scene.pod("db-0")["metadata"]["uid"] == old["metadata"]["uid"]
        scene.store.patch(PODS, "db-0", "default", {"metadata": {"finalizers": None}})
        await scene.wait()
        assert scene.pod("db-0")["metadata"]["uid"] != old["metadata"]["uid"]

    rehearse(play)


def test_a_force_deleted_pod_is_replaced_immediately() -> None:
    """facts-failover, variant "Force delete, no taint": replacement immediately."""

    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=1)
        await scene.wait()
        scene.run_all()
        old = scene.pod("db-0")
        scene.delete(old, 0)
        await scene.wait(0.1)
        assert scene.pod("db-0")["metadata"]["uid"] != old["metadata"]["uid"]

    rehearse(play)


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_ended_is_deleted_and_made_again(phase: str) -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=1)
        await scene.wait()
        old = scene.pod("db-0")
        scene.run(old)
        scene.set_phase(old, phase)
        await scene.wait()
        assert scene.pod("db-0")["metadata"]["uid"] != old["metadata"]["uid"]

    rehearse(play)


def test_scaling_down_takes_the_last_one_at_a_time() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        Hands(scene)
        await scene.wait(5)
        leaving: list[tuple[float, str]] = []

        def note(event: Event) -> None:
            if event.what == "DELETED":
                leaving.append((scene.clock.seconds(), event.key[1]))

        scene.store.listen(PODS, note)
        change(scene, replicas=0)
        await scene.wait(10)
        assert [name for _, name in leaving] == ["db-2", "db-1", "db-0"]
        assert all(later - earlier >= 1 for (earlier, _), (later, _) in pairwise(leaving))

    rehearse(play)


def test_scaling_down_waits_for_a_sick_pod_below() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        Hands(scene)
        await scene.wait(5)
        scene.set_phase(scene.pod("db-0"), "Running")
        change(scene, replicas=2)
        await scene.wait(10)
        assert scene.names() == ["db-0", "db-1", "db-2"]
        scene.set_phase(scene.pod("db-0"), "Running", ready=True)
        await scene.wait(10)
        assert scene.names() == ["db-0", "db-1"]

    rehearse(play)


def test_an_update_goes_from_the_end_down_to_the_partition() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        Hands(scene)
        await scene.wait(5)
        old = scene.status(STATEFUL_SETS, "db")["currentRevision"]
        born: list[str] = []
        scene.store.listen(PODS, lambda event: born.append(event.key[1]) if event.what == "ADDED" else None)
        template = {"spec": {"containers": [{"name": "app", "image": "shop/app:2"}]}}
        change(scene, template=template, updateStrategy={"rollingUpdate": {"partition": 1}})
        await scene.wait(30)
        assert born == ["db-2", "db-1"]
        status = scene.status(STATEFUL_SETS, "db")
        assert (status["currentRevision"], status["updatedReplicas"], status["currentReplicas"]) == (old, 2, 1)
        scene.delete(scene.pod("db-0"))
        await scene.wait(10)
        assert _image(scene.pod("db-0")) == "shop/app:1"
        change(scene, updateStrategy={"rollingUpdate": {"partition": 0}})
        await scene.wait(10)
        assert [_image(pod) for pod in scene.pods()] == ["shop/app:2"] * 3
        status = scene.status(STATEFUL_SETS, "db")
        assert status["currentRevision"] == status["updateRevision"] != old

    rehearse(play)


def test_on_delete_updates_only_what_others_delete() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, updateStrategy={"type": "OnDelete"})
        Hands(scene)
        await scene.wait(5)
        change(scene, template={"spec": {"containers": [{"name": "app", "image": "shop/app:2"}]}})
        await scene.wait(10)
        scene.delete(scene.pod("db-1"))
        await scene.wait(10)
        images = {pod["metadata"]["name"]: _image(pod) for pod in scene.pods()}
        assert images == {"db-0": "shop/app:1", "db-1": "shop/app:2", "db-2": "shop/app:1"}

    rehearse(play)


def _image(pod: Json) -> str:
    return part(pod, "spec")["containers"][0]["image"]
