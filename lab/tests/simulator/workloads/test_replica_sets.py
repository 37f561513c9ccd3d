"""ReplicaSets: how many pods there are, which go first, and what the status says."""

from typing import Any

import pytest

from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import PODS, REPLICA_SETS
from growth_lab.simulator.store import Event
from growth_lab.simulator.workloads import Workloads
from lab.tests.simulator.rehearsal import Rehearsal, a_workload, rehearse


def start(scene: Rehearsal, **spec: Any) -> Json:  # noqa: ANN401
    Workloads(scene.clock, scene.store, scene.timings)
    wanted: Json = {"replicas": 3, **spec}
    return scene.store.create(REPLICA_SETS, a_workload(**wanted))


def test_it_makes_pods_that_it_controls() -> None:
    async def play(scene: Rehearsal) -> None:
        owner = start(scene)
        await scene.wait()
        pods = scene.pods(app="web")
        assert len(pods) == 3
        meta = pods[0]["metadata"]
        assert meta["name"].startswith("web-")
        assert meta["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web",
                "uid": owner["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert pods[0]["status"]["phase"] == "Pending"

    rehearse(play)


def test_it_works_for_a_replica_set_that_is_older_than_the_controller() -> None:
    async def play(scene: Rehearsal) -> None:
        scene.store.create(REPLICA_SETS, a_workload(replicas=2))
        Workloads(scene.clock, scene.store, scene.timings)
        await scene.wait()
        assert len(scene.pods()) == 2

    rehearse(play)


def test_the_status_counts_pods_by_what_they_can_do() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait()
        assert scene.status(REPLICA_SETS, "web") == {
            "replicas": 3,
            "fullyLabeledReplicas": 3,
            "terminatingReplicas": 0,
            "observedGeneration": 1,
        }
        first, second, _ = scene.pods()
        scene.run(first)
        scene.run(second)
        await scene.wait()
        status = scene.status(REPLICA_SETS, "web")
        assert (status["readyReplicas"], status["availableReplicas"]) == (2, 2)

    rehearse(play)


def test_a_pod_is_available_only_after_it_was_ready_long_enough() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=1, minReadySeconds=30)
        await scene.wait()
        scene.run_all()
        await scene.wait()
        assert "availableReplicas" not in scene.status(REPLICA_SETS, "web")
        await scene.wait(30)
        assert scene.status(REPLICA_SETS, "web")["availableReplicas"] == 1

    rehearse(play)


def test_a_terminating_pod_is_replaced_before_it_is_gone() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=1)
        await scene.wait()
        scene.run_all()
        old = scene.pods()[0]
        scene.delete(old)
        await scene.wait()
        assert [("deletionTimestamp" in pod["metadata"]) for pod in scene.pods()] == [True, False]
        assert scene.status(REPLICA_SETS, "web")["terminatingReplicas"] == 1

    rehearse(play)


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_ended_is_replaced_and_left_to_the_collector(phase: str) -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=1)
        await scene.wait()
        scene.set_phase(scene.pods()[0], phase)
        await scene.wait()
        assert [pod["status"]["phase"] for pod in scene.pods()] == [phase, "Pending"]

    rehearse(play)


def test_those_go_first_whose_loss_costs_least() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=5)
        await scene.wait()
        ready_long, ready_short, unready, pending, unassigned = scene.pods()
        scene.run(ready_long, "node-1")
        await scene.wait(3000)
        scene.run(ready_short, "node-2")
        for pod, node, phase in ((unready, "node-3", "Running"), (pending, "node-4", "Pending")):
            scene.store.patch(PODS, pod["metadata"]["name"], "default", {"spec": {"nodeName": node}})
            scene.set_phase(pod, phase)
        await scene.wait(10)
        order: list[str] = []
        scene.store.listen(PODS, lambda event: _note(order, event))
        for size in range(4, -1, -1):
            scene.store.patch(REPLICA_SETS, "web", "default", {"spec": {"replicas": size}})
            await scene.wait()
        wanted = [unassigned, pending, unready, ready_short, ready_long]
        assert order == [pod["metadata"]["name"] for pod in wanted]

    rehearse(play)


def _note(order: list[str], event: Event) -> None:
    name = event.object["metadata"]["name"]
    is_leaving = event.what == "DELETED" or "deletionTimestamp" in event.object["metadata"]
    if is_leaving and name not in order:
        order.append(name)


def test_a_low_deletion_cost_goes_before_age() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=2)
        await scene.wait()
        old, young = scene.pods()
        scene.run(old, "node-1")
        await scene.wait(5000)
        scene.run(young, "node-2")
        cost = {"metadata": {"annotations": {"controller.kubernetes.io/pod-deletion-cost": "-1"}}}
        scene.store.patch(PODS, old["metadata"]["name"], "default", cost)
        scene.store.patch(REPLICA_SETS, "web", "default", {"spec": {"replicas": 1}})
        await scene.wait()
        assert "deletionTimestamp" in scene.pod(old["metadata"]["name"])["metadata"]

    rehearse(play)


def test_a_crowded_node_gives_before_one_with_a_single_pod() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=3)
        await scene.wait()
        alone, one, other = scene.pods()
        for pod, node in ((alone, "node-1"), (one, "node-2"), (other, "node-2")):
            scene.run(pod, node)
        scene.store.patch(REPLICA_SETS, "web", "default", {"spec": {"replicas": 2}})
        await scene.wait()
        assert "deletionTimestamp" not in scene.pod(alone["metadata"]["name"])["metadata"]

    rehearse(play)


def test_a_replica_set_on_its_way_out_makes_no_more_pods() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=1)
        await scene.wait()
        scene.store.patch(REPLICA_SETS, "web", "default", {"metadata": {"finalizers": ["foregroundDeletion"]}})
        scene.store.delete(REPLICA_SETS, "web", "default")
        scene.delete(scene.pods()[0])
        await scene.wait()
        assert scene.pods() == []

    rehearse(play)
