"""Closed nodes and who is let in: the virtual scheduler does with keys what the real one does with tolerations."""

import msgspec

from growth.api.taints import closed, key_to
from lab.tests.simulator.scheduler.scene import Json, Scene, on_a_scene


def shut(scene: Scene, *names: str, cpu: str = "2") -> None:
    for name in names:
        scene.node(name, cpu=cpu, taints=[msgspec.to_builtins(closed(name))])


def keys(*nodes: str) -> list[Json]:
    return [msgspec.to_builtins(key_to(node)) for node in nodes]


def test_a_key_wakes_its_pod_and_lets_it_in_and_its_siblings_stay_out() -> None:
    async def play(scene: Scene) -> None:
        shut(scene, "new")
        for name in ("first", "second", "third"):
            scene.pod(name)
        await scene.pass_by(20)
        assert "untolerated taint" in scene.message("second")
        scene.change_pod("second", {"spec": {"tolerations": keys("new")}})
        await scene.pass_by()
        assert [scene.where(name) for name in ("first", "second", "third")] == ["", "new", ""]

    on_a_scene(play)


def test_siblings_go_each_to_the_node_that_it_has_the_key_to() -> None:
    async def play(scene: Scene) -> None:
        shut(scene, "one", "two", "three", cpu="8")
        homes = {f"pod-{number}": name for number, name in enumerate(["one", "two", "three"] * 4)}
        for pod in homes:
            scene.pod(pod)
        await scene.pass_by(20)
        for pod, node in homes.items():
            scene.change_pod(pod, {"spec": {"tolerations": keys(node)}})
        await scene.pass_by()
        assert {pod: scene.where(pod) for pod in homes} == homes

    on_a_scene(play)


def test_what_a_holder_of_another_key_was_told_is_not_told_to_its_siblings() -> None:
    async def play(scene: Scene) -> None:
        shut(scene, "one", "two")
        scene.pod("stranger", tolerations=keys("gone"))
        scene.pod("late", tolerations=keys("gone", "one"))
        scene.pod("holder", tolerations=keys("two"))
        await scene.pass_by(20)
        assert [scene.where(name) for name in ("stranger", "late", "holder")] == ["", "one", "two"]

    on_a_scene(play)


def test_a_node_that_opens_takes_those_whose_keys_never_opened_anything() -> None:
    async def play(scene: Scene) -> None:
        shut(scene, "one")
        scene.pod("unlucky", tolerations=keys("never-came"))
        scene.pod("plain")
        await scene.pass_by(20)
        scene.change_node("one", {"spec": {"taints": []}})
        await scene.pass_by()
        assert [scene.where(name) for name in ("unlucky", "plain")] == ["one", "one"]

    on_a_scene(play)


def test_a_node_that_comes_wakes_only_who_holds_its_key() -> None:
    async def play(scene: Scene) -> None:
        shut(scene, "early")
        scene.pod("holder", tolerations=keys("late"))
        scene.pod("other", tolerations=keys("gone"))
        await scene.pass_by(20)
        shut(scene, "late")
        await scene.pass_by()
        assert scene.where("holder") == "late"
        assert [(known.name, known.refusals) for known in scene.scheduler.waiting()] == [("other", 1)]

    on_a_scene(play)
