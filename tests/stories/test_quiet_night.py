"""A quiet night in real durations: 100 nodes are emptied within an hour, and each goes when its delay is over.

Whole Growth on a virtual cluster, with the settings that it has by default.
"""

import asyncio
import random
from typing import Final

import pytest

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import PODS
from growth.api.offering import POOL
from growth.api.settings.model import ProvidersSettings, Settings
from growth.api.taints import is_tainted
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import a_pool, growing
from growth_lab.scenarios.simulated import play_virtually

pytestmark = pytest.mark.long

DEFAULTS: Final = Settings(providers=ProvidersSettings(enabled="kwok"))
NODES, WARM, KEPT = 100, 6, 3
HOUR, MINUTE = 3600.0, 60.0
EMPTY_AFTER: Final = 10 * MINUTE  # of a pool that says nothing else
LATEST: Final = 1 * MINUTE
"""How much later than its delay a node may be gone: a provider is asked every 30 s which machines it has.

Last seen: 5.5 s, which is how long the played cloud takes to find a node silent and remove it itself."""


def test_every_node_is_gone_a_minute_after_its_delay_at_the_latest() -> None:
    late: list[float] = []

    async def tell(play: Play) -> None:
        await play.node("other", taints=("dedicated=other:NoSchedule",))
        async with growing(play, settings=DEFAULTS):
            late.extend(await _a_night(play, random.Random(1)))  # noqa: S311 - a drawn story

    play_virtually(tell, alone=True)
    assert len(late) == NODES
    assert min(late) >= 0, "one went too early"
    assert max(late) <= LATEST, f"the last one was {max(late):.1f} s late"


async def _a_night(play: Play, chance: random.Random) -> list[float]:
    """How late each node was gone, in seconds."""
    clock = asyncio.get_running_loop().time
    await a_pool(play, types="small")
    await a_pool(play, "warm", serverTypes=[{"name": "small", "min": KEPT}])
    for number in range(NODES):
        await play.pod(f"app-{number}", cpu="1500m", nodeSelector={POOL: "default"})
    for number in range(WARM):
        await play.pod(f"warm-{number}", cpu="1500m", nodeSelector={POOL: "warm"})
    await asyncio.sleep(20 * MINUTE)  # the pools have long stopped to grow
    pods = dict(play.trace.pods)
    assert all(pod.status.phase == "Running" for pod in pods.values())
    assert len(_nodes(play, "default")) == NODES
    play.always(lambda: _nobody_is_left_behind(play), "that a node goes only when nobody is on it")
    play.always(lambda: _unmarked(play, "warm") >= KEPT, "that the pool keeps what it should keep ready")
    uids = {name: node.metadata.uid for name, node in play.trace.nodes.items()}
    names = [name for name in pods if name.startswith("app-")]
    emptied: dict[str, float] = {}
    for number in range(WARM):
        await play.delete(PODS, f"warm-{number}", grace_seconds=0)
    chance.shuffle(names)
    for name in names:
        emptied[uids[pods[name].node_name]] = clock()
        await play.delete(PODS, name, grace_seconds=0)
        await asyncio.sleep(chance.uniform(0, 2 * HOUR / NODES))
    await asyncio.sleep(EMPTY_AFTER + 2 * LATEST)
    assert _nodes(play, "default") == []
    assert len(_nodes(play, "warm")) == KEPT
    assert play.trace.objects[NODE_REMOVAL_REQUESTS] == {}
    gone = {one.uid: one.at for one in play.trace.seen if one.subject.startswith("Node ") and one.what == "gone"}
    return [gone[uid] - since - EMPTY_AFTER for uid, since in emptied.items()]


def _nodes(play: Play, pool: str) -> list[str]:
    return [name for name, node in play.trace.nodes.items() if node.metadata.labels.get(POOL) == pool]


def _unmarked(play: Play, pool: str) -> int:
    return sum(not is_tainted(play.trace.nodes[name]) for name in _nodes(play, pool))


def _nobody_is_left_behind(play: Play) -> bool:
    return all(not pod.node_name or pod.node_name in play.trace.nodes for pod in play.trace.pods.values())
