"""``growth memory show`` and ``policy``: what is remembered of a node, and what one of that name is given."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from bench.memory_scene import NOW, a_memento, a_memory, a_morning, a_node, scene_of
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import NODES, Kind
from growth.api.meta import ObjectMeta
from growth.api.node_memory import MARKER, MEMORIES
from growth.api.node_pool import NodePool, NodePoolSpec, ServerType
from growth.api.node_request import NodeRequest, NodeRequestSpec
from growth.api.offering import POOL
from growth.api.settings.model import MemorySettings, Settings
from growth.api.tolerations import Taint
from growth.cli.errors import UsageError
from growth.cli.main import main
from growth.cli.memory_policy import report_of
from growth.cli.memory_policy import view as policy_view
from growth.cli.memory_reader import read_node, read_scene, unknown
from growth.cli.memory_show import MemoryHistory, story_of, view
from tests.cli.memory_desk import Desk, at_a_desk

AGO = timedelta(minutes=3)
OWN = ("kubernetes.io/arch", "kubernetes.io/hostname", "topology.kubernetes.io/zone")


def told(objects: dict[Kind[Any], list[Any]], name: str = "worker-1", **settings: Any) -> MemoryHistory:  # noqa: ANN401
    return story_of(scene_of(objects, Settings(memory=MemorySettings(**settings))), name)


def fates(story: MemoryHistory) -> dict[str, str]:
    return {item.key: str(item.fate) for item in story.items if item.key not in OWN}


def shown(story: MemoryHistory, width: int) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(view(story, width))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_a_node_without_its_marker_is_told_what_it_is_about_to_be_given() -> None:
    story = told(a_morning(), "worker-3")
    assert (story.receiver, str(story.standing), [one.type for one in story.waiting]) == ("it", "waits", ["added"])
    assert {item.key: (item.remembered, item.now, str(item.fate)) for item in story.items} == {
        "example.com/gpu-driver": ("550", None, "given back"),
        "example.com/image": (None, "v12", "taken away"),
        "example.com/rack": ("r7", None, "given back"),
        "example.com/team": ("blue", "red", "given back"),
        "kubernetes.io/arch": ("amd64", "amd64", "its own"),
        "kubernetes.io/hostname": (None, "worker-3", "its own"),
        "topology.kubernetes.io/zone": ("fsn1-dc14", "fsn1-dc14", "its own"),
    }


@pytest.mark.parametrize(("mode", "fate"), [("merge", "stays"), ("replace", "taken away")])
def test_what_only_the_new_node_has_stays_or_goes(mode: str, fate: str) -> None:
    node, memory = a_node("worker-1", "new", {"fresh": "1", "same": "x"}), a_memento("old", 5, {"same": "x"}, AGO)
    story = told({NODES: [node], MEMORIES: [a_memory("worker-1", memory)]}, mode=mode)
    assert fates(story) == {"fresh": fate, "same": "has it already"}


def test_a_node_that_is_gone_is_told_what_a_new_one_would_be_given() -> None:
    memento = a_memento("old", 5, {"team": "blue", "no good!": "x"}, AGO, removed=("away",))
    story = told({MEMORIES: [a_memory("worker-1", memento)]})
    assert story.receiver == "a new node"
    assert fates(story) == {"team": "given back", "no good!": "not a label", "away": "taken away"}


def test_what_came_after_the_last_look_is_told() -> None:
    memento = a_memento("here", 5, {"team": "blue", MARKER: "0"}, AGO)
    node = a_node("worker-1", "here", {"team": "blue", MARKER: "0", "late": "1"})
    story = told({NODES: [node], MEMORIES: [a_memory("worker-1", memento, is_final=False)]})
    assert fates(story) == {"team": "given back", "late": "not written down"}


def test_what_went_to_another_node_is_given_to_nobody() -> None:
    memory = a_memory("worker-1", a_memento("old", 5, {"team": "blue"}, AGO), claimed_by="worker-9/b9")
    assert fates(told({MEMORIES: [memory]})) == {"team": "not given"}


def test_when_memory_is_off_nothing_is_given() -> None:
    story = told({MEMORIES: [a_memory("worker-1", a_memento("old", 5, {"team": "blue"}, AGO))]}, mode="off")
    assert fates(story) == {"team": "not given"}
    assert shown(story, 100)[-1] == "memory.mode is off: nothing is written down, and nothing given back."


def test_annotations_and_taints_are_given_as_far_as_the_settings_say() -> None:
    memento = a_memento(
        "old", 5, {}, AGO, annotations={"example.com/note": "x", "other.com/note": "y"},
        taints=(Taint("example.com/gpu", "yes", "NoSchedule"), Taint("other.com/gpu", "", "NoExecute")),
    )  # fmt: skip
    objects: dict[Kind[Any], list[Any]] = {MEMORIES: [a_memory("worker-1", memento)]}
    story = told(objects, annotations=("example.com/",), taints=("example.com/",))
    assert fates(story) == {
        "example.com/note": "given back",
        "other.com/note": "not given",
        "example.com/gpu": "given back",
        "other.com/gpu": "not given",
    }
    assert {"yes:NoSchedule", ":NoExecute"} <= {str(item.remembered) for item in story.items}


def test_a_node_in_the_place_of_another_is_given_what_that_one_was() -> None:
    request = NodeRequest(ObjectMeta(name="new-1"), NodeRequestSpec("default", "small", replaces="old-1"))
    objects: dict[Kind[Any], list[Any]] = {
        NODES: [a_node("new-1", "n1", {})],
        MEMORIES: [a_memory("old-1", a_memento("o1", 5, {"team": "blue"}, AGO))],
        NODE_REQUESTS: [request],
    }
    story = told(objects, "new-1")
    assert (story.follows, fates(story)) == ("old-1", {"team": "given back"})
    taken = [a_memory("old-1", a_memento("o1", 5, {"team": "blue"}, AGO), claimed_by="other/uid")]
    assert told({**objects, MEMORIES: taken}, "new-1").items == (), "another one was faster"
    both = [*objects[NODES], a_node("old-1", "o1", {})]
    assert told({**objects, NODES: both}, "new-1").items == (), "it works again"


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("name", ["worker-1", "worker-2", "worker-3", "worker-4", "worker-5", "worker-6"])
def test_it_fits_the_terminal_and_cuts_off_nothing(name: str, width: int) -> None:
    lines = shown(told(a_morning(), name), width)
    assert max(map(len, lines)) <= width
    assert "…" not in "\n".join(lines)
    assert lines[0].startswith(name)


def test_an_unreadable_one_says_why_and_what_to_do() -> None:
    words = " ".join(shown(told(a_morning(), "worker-4"), 200))
    assert "its checkpoint is '{labels: oops', expected a JSON object" in words
    assert "growth memory forget worker-4" in words


def test_a_name_that_nobody_bears_is_refused_with_the_closest_one() -> None:
    assert str(unknown("nothing is remembered of 'workr-1'", "workr-1", ["worker-1", "x"])) == (
        "nothing is remembered of 'workr-1'; the closest is 'worker-1'"
    )


def test_one_name_is_read_without_all_the_others() -> None:
    async def tell(desk: Desk) -> None:
        await desk.node("worker-1", rack="r1")
        await desk.remember("worker-1", a_memento("old", 5, {"team": "blue"}, AGO))
        await desk.remember("worker-2", a_memento("old", 5, {"team": "red"}, AGO))
        scene = await read_scene(desk.client, desk.settings, "worker-1", desk.now)
        assert list(scene.snapshot.past.pages) == ["worker-1"]
        assert fates(story_of(scene, "worker-1"))["team"] == "given back"
        assert scene.page("worker-3").is_blank

    at_a_desk(tell)


def test_the_policy_names_the_rule_for_each_label() -> None:
    pool = NodePool(
        ObjectMeta(name="default"), NodePoolSpec(server_types=(ServerType("cx33"),), labels={"tier": "web"})
    )
    node = a_node("worker-1", "a1", {POOL: "default", "tier": "web", "team": "blue", MARKER: "0"})
    scene = scene_of({NODE_POOLS: [pool], NODES: [node]})
    assert {rule.key: rule.owned_by for rule in report_of(scene.settings, node, scene).labels} == {
        "team": "",
        "tier": "pool default",
        POOL: "growth.dev/*",
        MARKER: "the marker",
        **{key: key for key in OWN},
    }


def test_who_owns_nothing_is_told_so() -> None:
    pool = NodePool(
        ObjectMeta(name="default"), NodePoolSpec(server_types=(ServerType("cx33"),), labels={"tier": "web"})
    )
    node = a_node("worker-1", "a1", {POOL: "default", "tier": "web", MARKER: "0"})
    scene = scene_of({NODE_POOLS: [pool], NODES: [node]}, Settings(memory=MemorySettings(owned_keys=())))
    report = report_of(scene.settings, node, scene)
    assert [rule.key for rule in report.labels if rule.owned_by] == [MARKER]
    console = Console(width=80, highlight=False)
    with console.capture() as captured:
        console.print(policy_view(report))
    assert "nothing but the marker" in captured.get()


def test_the_policy_asks_no_cluster_without_a_node() -> None:
    result = CliRunner().invoke(main, ["memory", "policy", "--memory-mode", "replace", "--memory-forget-after", "720h"])
    assert result.exit_code == 0
    assert "replace: the new node is what it was" in " ".join(result.output.split())
    assert "720h after a node has gone" in result.output
    result = CliRunner().invoke(main, ["memory", "policy", "--output", "json"])
    report = msgspec.json.decode(result.output)
    assert (report["mode"], report["forget_after"]) == ("merge", "")
    assert "growth.dev/" in report["owned_beginnings"]


def test_the_policy_of_an_unknown_node_is_refused() -> None:
    async def tell(desk: Desk) -> None:
        await desk.node("worker-1")
        with pytest.raises(UsageError, match="there is no node 'worker-2'; the closest is 'worker-1'"):
            await read_node(desk.client, desk.settings, "worker-2", lambda: NOW)

    at_a_desk(tell)
