"""Nodes that flip between Ready and NotReady every few seconds for 40 min: what the rules allow happens, and no more.

Whole Growth on a virtual cluster, with the settings that it has by default. The rules, from docs/registry.md and
docs/removing.md:

- A node is removed for being unready when it is so for 20 min without a break (``unreadyAfter``). One that flaps never
  is, whether somebody works on it or not.
- An empty node is marked when it was empty and ready for 15 s, and goes when it was so for 10 min (``emptyAfter``). One
  that flaps never is.
- Pods on an unready node are not waiting, so nothing is bought for them. Who waits gets one machine.
- Where too many flap nothing is bought or removed at all until they have been quiet for 10 s (``checkEvery``).
"""

import asyncio
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import pytest

from growth.api.taints import is_tainted
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.registry import cluster_status
from growth_lab.scenarios.replica import Growth, growing
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.fleet import BIG, MINUTE, a_fleet, empty
from tests.stories.growing_nodes import requests
from tests.stories.registry import TAINTED, asked_for
from tests.stories.shrinking import launched, removals
from tests.stories.test_quiet_night import DEFAULTS

pytestmark = pytest.mark.long

NODES: Final = 15
Seconds = tuple[float, float]
MOSTLY_THERE: Final[tuple[Seconds, Seconds]] = ((2.0, 9.0), (5.0, 8.0))
MOSTLY_SILENT: Final[tuple[Seconds, Seconds]] = ((1.0, 4.0), (14.0, 24.0))
"""For how long a node is heard, and then not. The control plane calls it NotReady four seconds later."""


def test_nodes_that_flap_are_neither_removed_nor_replaced() -> None:
    """A fifth of them do, which is no reason to halt: of the others the empty ones go, as ever."""

    async def tell(play: Play, growth: Growth) -> None:
        names = await a_fleet(play, NODES)
        flapping, steady = names[:3], names[3:]
        await empty(play, [*flapping[:2], *steady[:3]])
        play.always(lambda: {*flapping, *steady[3:]} <= {*launched(play)}, "that nobody else goes")
        play.always(lambda: not marked_of(play, flapping), "that none of those that flap is marked")
        async with flapping_as(play, growth, flapping, MOSTLY_THERE):
            await asyncio.sleep(25 * MINUTE)
            await play.pod("late", cpu="3500m", nodeSelector=BIG)
            await asyncio.sleep(15 * MINUTE)
        assert play.pod_is("late")()
        assert len(asked_for(play)) == NODES + 1
        assert {*names} - {*launched(play)} == {*steady[:3]}
        assert not {"ClusterUnhealthy", "PoolUnhealthy"} & {one.what for one in play.trace.seen}

    told(tell)


def test_a_cluster_that_flaps_as_a_whole_is_left_alone_until_it_is_quiet() -> None:
    async def tell(play: Play, growth: Growth) -> None:
        names = await a_fleet(play, NODES)
        await empty(play, names[:5])
        async with flapping_as(play, growth, names, MOSTLY_SILENT):
            await asyncio.sleep(MINUTE)
            await play.pod("late", cpu="3500m", nodeSelector=BIG)
            play.always(lambda: not requests(play), "that nothing is bought")
            play.always(lambda: not removals(play), "that nothing is removed")
            for _ in range(20):
                await asyncio.sleep(MINUTE)
                assert (await cluster_status(play)).is_halted
        play.check()
        play.end_promises()
        assert {*names} == {*launched(play)}
        await asyncio.sleep(MINUTE)
        assert play.pod_is("late")()
        assert len(asked_for(play)) == NODES + 1
        assert not marked_of(play, names[5:])
        assert {*names} < {*launched(play)}, "who was empty has all of its time again"
        await asyncio.sleep(15 * MINUTE)
        assert {*names} - {*launched(play)} == {*names[:5]}

    told(tell)


def told(tell: Callable[[Play, Growth], Awaitable[None]]) -> None:
    """Play it virtually, with Growth."""

    async def whole(play: Play) -> None:
        await play.node("other", taints=TAINTED)
        async with growing(play, settings=DEFAULTS) as growth:
            await tell(play, growth)

    play_virtually(whole, alone=True)


@asynccontextmanager
async def flapping_as(
    play: Play, growth: Growth, names: Sequence[str], how: tuple[Seconds, Seconds]
) -> AsyncGenerator[None]:
    """As long as this lasts, each of these falls silent and comes back, again and again; after it all are there."""
    clock = asyncio.get_running_loop().time
    began_at, before = clock(), len(play.trace.seen)
    (observed, silent) = how

    async def flap(name: str) -> None:
        chance = random.Random(name)  # noqa: S311 - a drawn story
        while True:
            await asyncio.sleep(chance.uniform(*observed))
            await growth.hurt(name, "neverReady")
            await asyncio.sleep(chance.uniform(*silent))
            await growth.hurt(name, "")

    flaps = asyncio.gather(*map(flap, names))
    yield
    flaps.cancel()
    await asyncio.gather(flaps, return_exceptions=True)
    for name in names:
        await growth.hurt(name, "")
    flips = sum(one.what == "unknown" for one in play.trace.seen[before:])
    assert flips > len(names) * (clock() - began_at) / (MINUTE / 2), "they hardly flapped"


def marked_of(play: Play, names: Sequence[str]) -> list[str]:
    return [name for name in names if is_tainted(play.trace.nodes[name])]
