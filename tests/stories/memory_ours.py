"""Nodes that Growth bought: none takes pods before it is what it was, and who takes another one's place is it."""

from datetime import timedelta
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.node_memory import MARKER
from growth.api.taints import STARTING
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.growing_nodes import requests
from tests.stories.memory_scene import (
    CHANCE,
    RACK,
    TEAM,
    held_back,
    label,
    labels_of,
    leave,
    memory_of,
    remembering,
    until_marked,
    until_remembered,
    until_saved,
)
from tests.stories.shrinking import launched

STORIES = Stories("memory", alone=True)
TIER: Final = "example.com/tier"
ONE: Final = [{"name": "small", "min": 1}]
# Whether a Ready request goes with its node, if that is away for a moment, is left to chance: here it goes at once.
SETTLED: Final = msgspec.structs.replace(
    remembering(),
    provision=msgspec.structs.replace(QUICK.provision, keep_ready=timedelta(0), hand_over=timedelta(0)),
)


@STORIES.story(ignores=CHANCE)
async def a_node_of_ours_is_not_opened_before_its_memory_is_back(play: Play) -> None:
    """Somebody deletes its Node object; its kubelet registers it again, closed, and so it stays until then."""
    async with growing(play, settings=SETTLED):
        await a_pool(play, serverTypes=ONE, labels={TIER: "one"})
        await play.until(lambda: _open_nodes(play) and not requests(play), "a node is open")
        (name,) = launched(play)
        await label(play, name, {RACK: "r7", TIER: "two"})
        await until_saved(play, name, {RACK: "r7", TIER: "two"})
        first = play.trace.nodes[name].metadata.uid
        async with held_back(play, name):
            await play.delete(NODES, name)
            await play.until(lambda: _is_another(play, name, first), "it is back, and ready")
            play.always(lambda: _is_what_it_was(play, name) or not _open_nodes(play), "that it is closed or remembered")
            assert MARKER not in await labels_of(play, name)
        await play.until(lambda: _open_nodes(play), "it is open")
        labels = await labels_of(play, name)
        assert (labels[RACK], labels[TIER]) == ("r7", "one"), "what a pool gives to its nodes is the pool's"


@STORIES.story(ignores=CHANCE)
async def one_successor_takes_over_what_a_node_was(play: Play) -> None:
    """Two requests say that they take its place: one of them gets its memory, and the other one begins anew."""
    await play.node("old", labels={TEAM: "blue"})
    async with growing(play, settings=remembering()):
        await until_marked(play, "old")
        await until_saved(play, "old", {TEAM: "blue"})
        await leave(play, "old")
        await until_remembered(play, "old")
        await a_pool(play)
        for name in ("default-heir", "default-other"):
            spec = {"pool": "default", "targetOffering": "kwok-small-fsn1", "replaces": play.full("old")}
            await play.create(NODE_REQUESTS, {"metadata": {"name": name}, "spec": spec})
        await play.until(lambda: len(_open_nodes(play)) == 2, "both nodes are open")
        teams = {name: (await labels_of(play, name)).get(TEAM) for name in launched(play)}
        assert sorted(teams.values(), key=str) == [None, "blue"]
        memory = await memory_of(play, "old")
        assert memory is not None
        assert memory.claimed_by.partition("/")[0] == next(name for name, team in teams.items() if team)


def _open_nodes(play: Play) -> list[str]:
    nodes = {name: play.trace.nodes[name] for name in launched(play)}
    return [name for name, node in nodes.items() if not any(taint.key == STARTING for taint in node.spec.taints)]


def _is_another(play: Play, name: str, uid: str) -> bool:
    node = play.trace.nodes.get(name)
    return node is not None and node.metadata.uid != uid and node.is_ready


def _is_what_it_was(play: Play, name: str) -> bool:
    node = play.trace.nodes.get(name)
    return node is not None and node.metadata.labels.get(RACK) == "r7"
