"""Six of ten nodes are silent for two hours, and come back: meanwhile nothing is done, and then all goes on.

Whole Growth on a virtual cluster, with the settings that it has by default, also if it is started anew on the way.
"""

import asyncio
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

import pytest

from growth.act.effect_hooks import EffectHooks, EffectPoint
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.environment import Process
from growth_lab.scenarios.registry import cluster_status
from growth_lab.scenarios.replica import CATALOGUE, Growth, growing
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.fleet import BIG, HOUR, MINUTE, a_fleet, empty
from tests.stories.growing_nodes import requests, runs
from tests.stories.registry import TAINTED
from tests.stories.shrinking import launched, marked
from tests.stories.test_quiet_night import DEFAULTS

pytestmark = pytest.mark.long

NODES, SILENT, EMPTY = 10, 6, 2
"""``EMPTY`` of those that fall silent have nothing to do, and as many of the others."""
EMPTY_AFTER: Final = timedelta(minutes=10)  # of a pool that says nothing else
LATE: Final = ("late-0", "late-1")


class Theatre:
    """One performance: what each process of Growth did to machines and requests, and the hand that ends processes."""

    def __init__(self, play: Play) -> None:
        self.deeds: list[tuple[datetime, str, str]] = []
        self._play = play
        self._ends: list[asyncio.Event] = []
        play.backstage = replace(play.backstage, around=self._around)

    def restart(self) -> None:
        """Growth ends, and is started anew by whoever cares for it."""
        self._ends[-1].set()

    @property
    def processes(self) -> int:
        """How many there were."""
        return len(self._ends)

    def _around(self, process: Process) -> Process:
        end = asyncio.Event()
        self._ends.append(end)

        async def killed() -> None:
            await end.wait()

        return replace(process, points=EffectHooks(before=self._note), killed=killed)

    def _note(self, point: EffectPoint, subject: ObjectReference, /) -> None:
        is_asking = point is EffectPoint.CREATE_OBJECT and subject.kind in (
            NODE_REQUESTS.name,
            NODE_REMOVAL_REQUESTS.name,
        )
        if is_asking or point in (EffectPoint.CREATE_MACHINE, EffectPoint.DELETE_MACHINE):
            self.deeds.append((self._play.now(), point, f"{subject.kind} {subject.name}"))


@pytest.mark.parametrize("restart", ["never", "in the middle", "as it ends", "two minutes after it"])
def test_a_partition_of_two_hours_costs_nobody_anything(restart: str) -> None:
    async def tell(play: Play) -> None:
        theatre = Theatre(play)
        await play.node("other", taints=TAINTED)
        async with growing(play, settings=DEFAULTS) as growth:
            await _a_partition(play, growth, theatre, restart)
        assert theatre.processes == (1 if restart == "never" else 2)

    play_virtually(tell, alone=True)


async def _a_partition(play: Play, growth: Growth, theatre: Theatre, restart: str) -> None:
    names = await a_fleet(play, NODES)
    coming = await _one_that_is_coming(play, growth)
    silent, steady = names[:SILENT], names[SILENT:]
    idle = {*silent[:EMPTY], *steady[:EMPTY]}
    await empty(play, idle)
    await asyncio.sleep(MINUTE)
    assert {*marked(play)} == idle

    for name in silent:
        await growth.hurt(name, "neverReady")
    await asyncio.sleep(MINUTE)
    await _is_halted(play)
    theatre.deeds.clear()
    for name in LATE:
        await play.pod(name, cpu="3500m", nodeSelector=BIG)
    await asyncio.sleep(HOUR)
    if restart == "in the middle":
        theatre.restart()
    await asyncio.sleep(HOUR)
    await _is_halted(play)
    assert not any(runs(play, name) for name in LATE)
    assert theatre.deeds == []

    for name in silent:
        await growth.hurt(name, "")
    if restart == "as it ends":
        theatre.restart()
    healed_at = play.now()
    await asyncio.sleep(2 * MINUTE)
    said = await cluster_status(play)
    assert (said.is_healthy, said.is_halted) == (True, False)
    assert said.healthy_since is not None
    assert timedelta(0) <= said.healthy_since - healed_at <= timedelta(minutes=1)
    assert runs(play, *LATE), "the pods that waited have their machines"
    if restart == "two minutes after it":
        theatre.restart()
    await asyncio.sleep(7 * MINUTE)
    await growth.hurt(coming, "")
    await asyncio.sleep(MINUTE / 2)
    assert runs(play, "coming"), "the machine that was coming all the time has all of its time again"
    assert (await cluster_status(play)).healthy_since == said.healthy_since
    assert {*names} < {*launched(play)}

    await asyncio.sleep(HOUR / 2)
    assert {*names} - {*launched(play)} == idle, "who was empty goes, and nobody else"
    given_back = [at for at, point, _ in theatre.deeds if point == EffectPoint.DELETE_MACHINE]
    assert len(given_back) == len(idle)
    assert min(given_back) >= said.healthy_since + EMPTY_AFTER


async def _one_that_is_coming(play: Play, growth: Growth) -> str:
    """A machine that does not become a node until somebody mends it."""
    growth.set_catalogue(CATALOGUE.replace("nbg1: 0.02}", "nbg1: 0.02}, faults: [neverRegisters]"))
    await play.pod("coming", cpu="3500m", nodeSelector=BIG)
    await asyncio.sleep(MINUTE)
    growth.set_catalogue(CATALOGUE)
    (request,) = requests(play)
    assert request.status.phase == "Provisioning"
    return request.metadata.name


async def _is_halted(play: Play) -> None:
    said = await cluster_status(play)
    assert (said.is_halted, said.unready) == (True, SILENT)
    assert marked(play) == []
    assert len(launched(play)) == NODES
