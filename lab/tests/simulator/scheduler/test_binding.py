"""What the scheduler writes: bindings, conditions and their words."""

from typing import Any

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.pod_conditions import condition_of
from growth_lab.simulator.scheduler import Scheduler
from growth_lab.simulator.served_kinds import NODES, PODS
from growth_lab.simulator.store import Store
from growth_lab.simulator.timings import Timings
from lab.tests.simulator.scheduler.scene import Scene, on_a_scene

GPU: dict[str, Any] = {"key": "gpu", "effect": "NoSchedule"}


def test_a_pod_gets_the_emptiest_node_and_its_condition_says_so() -> None:
    async def play(scene: Scene) -> None:
        scene.node("full")
        scene.node("empty")
        scene.pod("there", node="full", cpu="3")
        scene.pod("new", nominated="elsewhere")
        await scene.pass_by()
        assert scene.where("new") == "empty"
        condition = condition_of(scene.get("new"), "PodScheduled")
        assert condition == {
            "type": "PodScheduled",
            "status": "True",
            "lastProbeTime": None,
            "lastTransitionTime": Clock().stamp(),
        }
        assert not scene.nominated("new")

    on_a_scene(play)


def test_a_refusal_is_told_in_the_words_of_the_real_scheduler() -> None:
    async def play(scene: Scene) -> None:
        scene.node("small", cpu="1")
        scene.node("tainted", taints=[GPU])
        scene.node("busy")
        scene.node("cordoned", unschedulable=True)
        scene.pod("there", node="busy", cpu="3")
        scene.pod("new", cpu="2")
        await scene.pass_by()
        assert scene.message("new") == (
            "0/4 nodes are available: 1 node(s) had untolerated taint(s), 1 node(s) were unschedulable, "
            "2 Insufficient cpu. no new claims to deallocate, preemption: 0/4 nodes are available: "
            "1 No preemption victims found for incoming pod, 3 Preemption is not helpful for scheduling."
        )
        condition = condition_of(scene.get("new"), "PodScheduled")
        assert condition is not None
        assert (condition["status"], condition["reason"]) == ("False", "Unschedulable")

    on_a_scene(play)


def test_a_refusal_that_did_not_change_is_not_written_again() -> None:
    async def play(scene: Scene) -> None:
        scene.node("small", cpu="1")
        scene.pod("new", cpu="2")
        await scene.pass_by()
        version = scene.get("new")["metadata"]["resourceVersion"]
        await scene.pass_by(1000)
        assert scene.get("new")["metadata"]["resourceVersion"] == version

    on_a_scene(play)


def test_the_pods_of_a_daemon_set_go_where_they_are_pinned() -> None:
    async def play(scene: Scene) -> None:
        pin = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["busy"]}]}
                    ]
                }
            }
        }
        scene.node("busy")
        scene.node("empty")
        scene.pod("there", node="busy", cpu="3")
        scene.pod("small", cpu="1", affinity=pin)
        scene.pod("large", cpu="2", affinity=pin)
        await scene.pass_by()
        assert scene.where("small") == "busy"
        assert scene.message("large").startswith(
            "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]. "
        )

    on_a_scene(play)


def test_other_schedulers_pods_gated_pods_and_leaving_pods_are_left_alone() -> None:
    async def play(scene: Scene) -> None:
        scene.node("empty")
        scene.pod("foreign", schedulerName="other")
        scene.pod("gated", schedulingGates=[{"name": "wait"}])
        await scene.pass_by(600)
        assert [scene.where("foreign"), scene.where("gated")] == ["", ""]
        assert not scene.message("gated")
        scene.change_pod("gated", {"spec": {"schedulingGates": None}})
        await scene.pass_by()
        assert scene.where("gated") == "empty"

    on_a_scene(play)


def test_wishes_outweigh_room_but_never_block() -> None:
    async def play(scene: Scene) -> None:
        wish = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
        prefers = {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "preference": wish}],
            }
        }
        scene.node("empty")
        scene.node("ssd", labels={"disk": "ssd"})
        scene.pod("there", node="ssd", cpu="3")
        for name in ("first", "second"):
            scene.pod(name, affinity=prefers)
            await scene.pass_by()
        assert [scene.where("first"), scene.where("second")] == ["ssd", "empty"]

    on_a_scene(play)


def test_a_node_that_would_rather_not_have_pods_comes_last() -> None:
    async def play(scene: Scene) -> None:
        scene.node("unwilling", taints=[{"key": "old", "effect": "PreferNoSchedule"}])
        scene.node("busy")
        scene.pod("there", node="busy", cpu="2")
        scene.pod("new")
        await scene.pass_by()
        assert scene.where("new") == "busy"

    on_a_scene(play)


def test_pods_that_were_there_before_the_scheduler_are_seen() -> None:
    async def play(scene: Scene) -> None:
        store = Store(scene.clock, scene.chance)
        for resource, thing in ((NODES, scene.node("one")), (PODS, scene.pod("old"))):
            store.create(resource, thing)
        Scheduler(scene.clock, store, Timings(), scene.chance)
        await scene.pass_by()
        assert [pod["spec"]["nodeName"] for pod in store.all(PODS)] == ["one"]

    on_a_scene(play)


def test_the_same_seed_gives_the_same_places() -> None:
    places: list[list[str]] = []
    for seed in (5, 5, 6):

        async def play(scene: Scene) -> None:
            for number in range(10):
                scene.node(f"node-{number}")
            for number in range(20):
                scene.pod(f"pod-{number}")
            await scene.pass_by()
            places.append([scene.where(f"pod-{number}") for number in range(20)])

        on_a_scene(play, seed=seed)
    assert places[0] == places[1]
    assert places[0] != places[2]
