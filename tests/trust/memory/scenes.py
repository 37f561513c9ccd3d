"""Scenes that only the crash suite plays: everything that memory ever writes, for one replica and for three."""

import asyncio
from datetime import timedelta
from typing import Final
from unittest.mock import patch

import msgspec

from growth.api.node_memory import MEMORIES
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, growing
from growth_lab.scenarios.scenario import Stories
from tests.trust.memory.cast import Cast

SCENES: Final = Stories("memory", alone=True)

_MEMORY: Final = QUICK.memory
_HOLDING: Final = msgspec.structs.replace(
    QUICK, memory=msgspec.structs.replace(_MEMORY, finalizer=True, finalizer_deadline=timedelta(minutes=5))
)
_FORGETFUL: Final = msgspec.structs.replace(
    QUICK, memory=msgspec.structs.replace(_MEMORY, forget_after=timedelta(seconds=3))
)


async def come_and_go(cast: Cast) -> None:
    """Nodes come, are labelled, leave, return, leave before they are what they were, return and are changed."""
    await cast.register("a", team="blue", rack="r1")
    await cast.register("b", team="red", spare="yes")
    await cast.register("c", team="green")
    await cast.until_noted("b")  # of a label that comes and goes while nobody watches nobody knows
    await cast.label("a", rack="r2")
    await cast.label("b", spare=None, owner="ann")
    await asyncio.gather(*(cast.unregister(name) for name in "abc"))
    await cast.register("a")
    await cast.register("b", spare="yes", team="yellow", new="1")
    await cast.unregister("a")
    await cast.register("a")
    await cast.until_marked()
    await cast.check()
    await cast.label("a", rack="r9", owner="bob")
    await cast.until_noted("b")
    await cast.label("b", owner=None)
    await cast.register("c", disk="ssd")
    await asyncio.gather(cast.until_marked("c"), cast.unregister("b"))
    await cast.register("b", owner="eve")
    await cast.until_marked()
    await cast.check()


@SCENES.story()
async def one_replica_remembers_nodes_that_come_and_go(play: Play) -> None:
    """Nobody watches while it is dead, so nodes are held until somebody has seen them off."""
    cast = Cast(play.client, play.full(""))
    async with growing(play, settings=_HOLDING):
        await come_and_go(cast)
        await cast.until_done()
        await cast.check()


@SCENES.story()
async def three_replicas_remember_nodes_that_come_and_go(play: Play) -> None:
    """Two of them watch while the third is dead, so nodes need not be held."""
    cast = Cast(play.client, play.full(""))
    async with growing(play, replicas=3):
        await come_and_go(cast)
        await cast.until_done()
        await cast.check()


@SCENES.story()
async def a_node_that_stays_away_is_forgotten(play: Play) -> None:
    """What is remembered of it goes after a while, and the next of that name is new."""
    cast = Cast(play.client, play.full(""))
    async with growing(play, settings=_FORGETFUL):
        await cast.register("a", team="blue")
        await cast.until_noted("a")
        await cast.unregister("a")

        async def is_remembered() -> bool:
            found = await play.client.list(MEMORIES, _MEMORY.namespace)
            return any(one.metadata.name == cast.full("a") and one.data.memory for one in found.items)

        async def is_forgotten() -> bool:
            return not await is_remembered()

        await play.until_found(is_remembered, "a is remembered")
        await play.until_found(is_forgotten, "a is forgotten")
        cast.left.clear()
        await cast.register("a", rack="r1")
        await cast.until_marked()
        await cast.check()


@SCENES.story()
async def a_replica_gives_up_shards_when_it_has_too_much_to_do(play: Play) -> None:
    """A thousand nodes return at once; here eight do, and a replica that has more than one to care for has enough."""
    cast, names = Cast(play.client, play.full("")), "abcdefgh"
    with patch("growth.decide.node_memory.shard_leases._ENOUGH", 1):
        for name in names:
            await cast.register(name, name=name)
        async with growing(play, replicas=2):
            await cast.until_marked()
            for name in names:
                await cast.unregister(name)
            for name in names:
                await cast.register(name)
            await cast.until_marked()
            await cast.check()
