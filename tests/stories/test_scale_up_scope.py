"""A machine comes to pool ``web`` a minute before an empty node of pool ``default`` is due."""

import asyncio
from datetime import timedelta
from typing import Final

import msgspec
import pytest

from growth.api.kinds import PODS
from growth.api.offering import POOL
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.registry import TAINTED
from tests.stories.shrinking import launched

EMPTY_AFTER: Final = timedelta(minutes=5)
DELAY: Final = timedelta(minutes=10)
SCALE_DOWN: Final = {"emptyAfter": "5m", "delayAfterScaleUp": "10m"}


@pytest.mark.parametrize(("scope", "delay_counts"), [("cluster", True), ("pool", False)])
def test_scale_up_of_another_pool_delays_a_removal_in_scope_cluster_only(scope: str, *, delay_counts: bool) -> None:
    gone_after: list[timedelta] = []

    async def tell(play: Play) -> None:
        removal = msgspec.structs.replace(QUICK.removal, delay_after_scale_up_scope=scope)
        await play.node("other", taints=TAINTED)
        async with growing(play, settings=msgspec.structs.replace(QUICK, removal=removal)):
            for name in ("default", "web"):
                await a_pool(play, name, types="small", scaleDown=SCALE_DOWN)
            await play.pod("early", cpu="1500m", nodeSelector={})
            await play.until(play.pod_is("early"), "the first pod runs")
            (node,) = launched(play)
            await asyncio.sleep(DELAY.total_seconds())
            await play.delete(PODS, "early", grace_seconds=0)
            await asyncio.sleep((EMPTY_AFTER - timedelta(minutes=1)).total_seconds())
            await play.pod("late", cpu="1500m", nodeSelector={POOL: "web"})
            await play.until(play.pod_is("late"), "the machine of pool web is there")
            grown_at = play.now()
            await asyncio.sleep(45)
            assert node in play.trace.nodes
            if delay_counts:
                await asyncio.sleep((DELAY - timedelta(minutes=1)).total_seconds())
                assert node in play.trace.nodes
            await play.until(lambda: node not in play.trace.nodes, "the node is gone")
            gone_after.append(play.now() - grown_at)

    play_virtually(tell, alone=True)
    expected = DELAY if delay_counts else timedelta(minutes=1)
    assert abs(gone_after[0] - expected) < timedelta(seconds=30)
