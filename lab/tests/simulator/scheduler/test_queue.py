"""Who is asked when: priority, age, backoff, flush, and the error backoff of an empty cluster (facts-scheduler.md)."""

from itertools import pairwise

from lab.tests.simulator.scheduler.scene import Scene, on_a_scene

AWAY = {"key": "away", "effect": "NoSchedule"}


def test_the_most_important_comes_first_then_who_waits_longest() -> None:
    async def play(scene: Scene) -> None:
        scene.node("later", cpu="1")
        scene.pod("filler", node="later", cpu="1", priority=1000)
        scene.pod("old", cpu="1")
        await scene.pass_by(1)
        scene.pod("young", cpu="1")
        scene.pod("important", cpu="1", priority=10)
        await scene.pass_by(60)
        going = "filler"
        waiting = ["important", "old", "young"]
        while waiting:
            scene.delete_pod(going)
            await scene.pass_by(60)
            assert [name for name in waiting if scene.where(name)] == waiting[:1]
            going = waiting.pop(0)

    on_a_scene(play)


def test_without_any_node_a_pod_backs_off_and_the_first_node_does_not_wake_it() -> None:
    """Fact: zero nodes is error backoff, which neither Node/Add nor early pop shortens: up to 10 s."""

    async def play(scene: Scene) -> None:
        scene.pod("early")
        await scene.pass_by(100)
        assert scene.message("early") == "no nodes available to schedule pods"
        scene.node("first")
        assert 1 < await scene.seconds_until_bound("early") <= 11

    on_a_scene(play)


def test_backoff_doubles_from_one_second_to_ten() -> None:
    async def play(scene: Scene) -> None:
        scene.pod("early")
        attempts: list[float] = []
        while len(attempts) < 7:
            await scene.pass_by(0.25)
            (waiting,) = scene.scheduler.waiting()
            if waiting.errors > len(attempts):
                attempts.append(waiting.since)
        pauses = [round(after - before) for before, after in pairwise(attempts)]
        # Each is up to a second longer: whole seconds are emptied when they are over.
        assert pauses == [2, 3, 5, 9, 11, 11]

    on_a_scene(play)


def test_a_pod_that_backs_off_is_asked_at_once_when_nobody_else_waits() -> None:
    """Fact: SchedulerPopFromBackoffQ takes such pods at once when activeQ is empty."""

    async def play(scene: Scene) -> None:
        scene.node("full", cpu="1")
        scene.pod("there", node="full")
        scene.pod("new")
        await scene.pass_by(0.2)
        scene.delete_pod("there")
        assert await scene.seconds_until_bound("new") <= 0.1

    on_a_scene(play)


def test_a_pod_that_no_hint_wakes_is_flushed_after_five_minutes() -> None:
    """Fact: parked until a hint, or 5 min, checked every 30 s."""

    async def play(scene: Scene) -> None:
        loner = {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "web"}}}
                ]
            }
        }
        scene.node("one")
        scene.pod("loner", node="one", affinity=loner)
        await scene.pass_by(10)
        scene.pod("web", labels={"app": "web"})
        await scene.pass_by(1)
        assert "didn't satisfy existing pods anti-affinity rules" in scene.message("web")
        scene.node("two")
        assert 300 < await scene.seconds_until_bound("web") <= 330

    on_a_scene(play)


def test_a_useless_wake_lengthens_the_backoff() -> None:
    """Fact: a node added while it is tainted wakes pods that lack room, in vain."""

    async def play(scene: Scene) -> None:
        scene.node("full", cpu="1")
        scene.pod("there", node="full")
        scene.pod("new")
        await scene.pass_by()
        scene.node("tainted", taints=[AWAY])
        await scene.pass_by()
        (waiting,) = scene.scheduler.waiting()
        assert waiting.refusals == 2
        assert set(waiting.filters) == {"NodeResourcesFit", "TaintToleration"}

    on_a_scene(play)
