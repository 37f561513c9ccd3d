"""Many nodes alike, a pod on each, for what is told on a virtual cluster in real durations."""

import asyncio
from collections.abc import Collection
from typing import Final

from growth.api.kinds import PODS
from growth.api.offering import POOL
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import a_pool
from tests.stories.registry import PATIENT
from tests.stories.shrinking import launched

MINUTE, HOUR = 60.0, 3600.0
BIG: Final = {POOL: "big"}
"""Selects a second pool, of machines that nobody needs yet."""


async def a_fleet(play: Play, count: int) -> list[str]:
    """So many small nodes, in a pool that has long stopped to grow."""
    await a_pool(play, types="small")
    await a_pool(play, BIG[POOL], types="medium")
    for number in range(count):
        await play.pod(f"app-{number}", cpu="1500m", nodeSelector={POOL: "default"}, tolerations=PATIENT)
    await asyncio.sleep(20 * MINUTE)
    names = [play.trace.pods[f"app-{number}"].node_name for number in range(count)]
    assert sorted(names) == launched(play)
    return names


async def empty(play: Play, names: Collection[str]) -> None:
    """The pods on these nodes end."""
    for name, pod in list(play.trace.pods.items()):
        if pod.node_name in names:
            await play.delete(PODS, name, grace_seconds=0)
