"""Room that is kept for a pod: set from outside, honoured, cleared, and made by preemption (facts-scheduler.md)."""

from growth_lab.simulator.pod_conditions import condition_of
from growth_lab.simulator.served_kinds import PODS
from lab.tests.simulator.scheduler.scene import Scene, on_a_scene


def test_a_nominated_node_is_taken_without_looking_for_a_better_one() -> None:
    async def play(scene: Scene) -> None:
        scene.node("busy")
        scene.node("empty")
        scene.pod("there", node="busy", cpu="3")
        scene.pod("new", nominated="busy")
        await scene.pass_by()
        assert scene.where("new") == "busy"

    on_a_scene(play)


def test_room_is_kept_from_pods_that_are_not_more_important() -> None:
    """Fact: set it after the failing attempt, before the last taint goes."""

    async def play(scene: Scene) -> None:
        scene.node("coming", cpu="4", taints=[{"key": "starting", "effect": "NoSchedule"}])
        scene.pod("older", cpu="1", priority=5)
        await scene.pass_by(1)
        scene.pod("kept", cpu="4", priority=5)
        await scene.pass_by(1)
        scene.change_pod("kept", {"status": {"nominatedNodeName": "coming"}})
        scene.change_node("coming", {"spec": {"taints": []}})
        await scene.pass_by(1)
        assert [scene.where("kept"), scene.where("older")] == ["coming", ""]

    on_a_scene(play)


def test_a_more_important_pod_ignores_it() -> None:
    async def play(scene: Scene) -> None:
        scene.node("one", cpu="1")
        scene.pod("kept", nominated="one", schedulingGates=[{"name": "wait"}])
        scene.pod("important", priority=1)
        await scene.pass_by(1)
        assert scene.where("important") == "one"

    on_a_scene(play)


def test_a_failed_attempt_clears_the_nomination() -> None:
    async def play(scene: Scene) -> None:
        scene.node("full", cpu="1")
        scene.pod("there", node="full")
        scene.pod("new", nominated="coming")
        scene.pod("never", nominated="coming", preemptionPolicy="Never")
        await scene.pass_by()
        assert [scene.nominated("new"), scene.nominated("never")] == ["", "coming"]
        assert "not eligible due to preemptionPolicy=Never" in scene.message("never")

    on_a_scene(play)


def test_setting_it_after_the_failure_is_kept_until_the_next_attempt() -> None:
    async def play(scene: Scene) -> None:
        scene.node("full", cpu="1")
        scene.pod("there", node="full")
        scene.pod("new", cpu="2")
        await scene.pass_by(1)
        scene.change_pod("new", {"status": {"nominatedNodeName": "coming"}})
        await scene.pass_by(1)
        assert scene.nominated("new") == "coming"
        scene.node("useless", cpu="8", taints=[{"key": "away", "effect": "NoSchedule"}])
        await scene.pass_by(1)
        assert scene.nominated("new") == ""

    on_a_scene(play)


def test_the_end_of_a_nomination_wakes_those_who_were_kept_away() -> None:
    async def play(scene: Scene) -> None:
        scene.node("one", cpu="1")
        scene.pod("kept", nominated="one", schedulingGates=[{"name": "wait"}])
        scene.pod("new")
        await scene.pass_by(1)
        assert not scene.where("new")
        scene.delete_pod("kept")
        await scene.pass_by(1)
        assert scene.where("new") == "one"

    on_a_scene(play)


def test_a_pod_displaces_less_important_ones_and_waits_for_their_end() -> None:
    async def play(scene: Scene) -> None:
        scene.node("cheap", cpu="2")
        scene.node("dear", cpu="2")
        scene.pod("small", node="cheap", cpu="500m", priority=1)
        scene.pod("large", node="cheap", cpu="1500m", priority=1)
        scene.pod("precious", node="dear", cpu="2", priority=5)
        scene.pod("vip", cpu="1500m", priority=9)
        await scene.pass_by(1)
        assert scene.nominated("vip") == "cheap"
        assert scene.message("vip") == "0/2 nodes are available: 2 Insufficient cpu."
        large = scene.get("large")
        assert "deletionTimestamp" in large["metadata"]
        condition = condition_of(large, "DisruptionTarget")
        assert condition is not None
        assert condition["reason"] == "PreemptionByScheduler"
        assert "deletionTimestamp" not in scene.get("small")["metadata"]
        scene.node("tainted", cpu="8", taints=[{"key": "away", "effect": "NoSchedule"}])  # wakes it in vain
        await scene.pass_by(1)
        assert "not eligible due to a terminating pod on the nominated node" in scene.message("vip")
        assert scene.nominated("vip") == "cheap"
        scene.store.delete(PODS, "large", "default")
        await scene.pass_by(1)
        assert scene.where("vip") == "cheap"

    on_a_scene(play)
