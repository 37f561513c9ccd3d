"""A drawn life of a cluster that grows, with providers that fail in every way; then faults stop, and it must be well.

Whole Growth on a virtual cluster, a quarter of an hour in seconds. ``SEEDS`` may be any numbers.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Final

import pytest

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import PODS
from growth.api.offering import POOL
from growth.api.pod import Pod
from growth.play.growing import CATALOGUE, a_pool, growing
from growth.play.play import Play
from growth.play.virtual import play_virtually

pytestmark = pytest.mark.long

SEEDS: Final = (2, 7)
FAULTS: Final = ("", "noStock", "quota=6", "neverBoots", "createTimesOut", "neverReady", "slowBoot=10s")
TOO_LARGE, NOWHERE = "20", "nowhere"


@pytest.mark.parametrize("seed", SEEDS)
def test_when_faults_stop_everybody_who_fits_a_machine_has_one_and_nothing_moves(seed: int) -> None:
    assert play_virtually(_a_life(random.Random(seed)), seed, alone=True)  # noqa: S311 - a drawn story


def _a_life(chance: random.Random) -> Callable[[Play], Awaitable[None]]:
    async def tell(play: Play) -> None:
        await play.node("other", taints=("dedicated=other:NoSchedule",))
        async with growing(play) as growth:
            await a_pool(play)
            await a_pool(play, "batch", "small large", limits={"nodes": 4})
            gone = 0
            for step in range(20):
                fault = chance.choice(FAULTS)
                growth.set_catalogue(f"{CATALOGUE}faults: [{fault}]\n" if fault else CATALOGUE)
                gone += await _pods_come_and_go(play, step, chance)
                await asyncio.sleep(chance.choice([0.3, 1, 5, 20, 60]))
            growth.set_catalogue(CATALOGUE)
            await play.change(NODE_POOLS, "batch", {"spec": {"limits": None}})
            await asyncio.sleep(300)
            assert [pod.metadata.name for pod in play.trace.pods.values() if _fits(pod) and not pod.node_name] == []
            assert len(_in_vain(play)) <= gone, "bought, ready, and nobody there"
            seen = len(play.trace.seen)
            await asyncio.sleep(300)
            assert play.trace.seen[seen:] == []

    return tell


async def _pods_come_and_go(play: Play, step: int, chance: random.Random) -> int:
    """Gives how many went."""
    for number in range(chance.randint(0, 6)):
        cpu = chance.choice(["300m", "900m", "1500m", "3", "6", TOO_LARGE])
        pool = chance.choice(["", "", "", "batch", NOWHERE])
        await play.pod(f"pod-{step}-{number}", cpu=cpu, nodeSelector={POOL: pool} if pool else {})
    waiting = sorted(name for name, pod in play.trace.pods.items() if not pod.node_name)
    goes = bool(waiting) and chance.random() < 0.3
    if goes:
        await play.delete(PODS, chance.choice(waiting), grace_seconds=0)
    return int(goes)


def _fits(pod: Pod) -> bool:
    asked = pod.spec.containers[0].resources.requests["cpu"]
    return asked != TOO_LARGE and pod.spec.node_selector.get(POOL) != NOWHERE


def _in_vain(play: Play) -> list[str]:
    """Machines that stand empty. Those that came too late are being given back; one may be for each pod that went."""
    used = {pod.node_name for pod in play.trace.pods.values()}
    leaving = {*play.trace.objects[NODE_REMOVAL_REQUESTS], *play.trace.objects[NODE_REQUESTS], "other"}
    return [name for name, node in play.trace.nodes.items() if node.is_ready and name not in used | leaving]
