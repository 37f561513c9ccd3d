"""People who label nodes of their own, and machines under them that come and go: what memory is for.

Drawn apart from everything else, and lived beside it, so that lives differ as little as can be by it.
"""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import msgspec

from growth.api.kinds import NODES
from growth.api.settings.model import MemorySettings
from growth_lab.local_cluster.nodes import kwok_node, taint
from growth_lab.scenarios.replica import QUICK
from tests.trust.chaos.stage import Stage

NAMES: Final = ("dedicated-a", "dedicated-b")
_KEYS: Final = ("team", "rack", "owner")
_VALUES: Final = ("", "blue", "red", "r7")
_PAUSES: Final = (0.02, 0.3, 1.0, 3.0)


def drawn_memory_of(seed: int) -> MemorySettings | None:
    """How nodes are remembered in this life; None if nobody labels any."""
    chance = random.Random(f"{seed}/memory")  # noqa: S311 - a seed, no secret
    if chance.random() < 0.5:
        return None
    is_held = chance.random() < 0.3
    return msgspec.structs.replace(
        QUICK.memory,
        mode=chance.choice(["merge", "merge", "replace"]),
        finalizer=is_held,
        finalizer_deadline=timedelta(hours=1),
        shards=chance.choice([1, 64]),
    )


@asynccontextmanager
async def labelling(stage: Stage, seed: int) -> AsyncGenerator[None]:
    """As long as this lasts."""
    chance = random.Random(f"{seed}/labels")  # noqa: S311 - a seed, no secret
    life = asyncio.create_task(_live(stage, chance))
    try:
        yield
    finally:
        life.cancel()
        await asyncio.gather(life, return_exceptions=True)


async def _live(stage: Stage, chance: random.Random) -> None:
    while True:
        await _act(stage, chance.choice(NAMES), chance)
        await asyncio.sleep(chance.choice(_PAUSES))


async def _act(stage: Stage, name: str, chance: random.Random) -> None:
    labels = {f"example.com/{key}": chance.choice(_VALUES) for key in chance.sample(_KEYS, chance.randint(0, 2))}
    if name not in stage.picture.nodes:
        body = kwok_node(name, labels=labels, taints=[taint("dedicated=other:NoSchedule")])
        await stage.create(NODES, name, body)
    elif chance.random() < 0.4:
        await stage.delete(NODES, name)
    else:
        changes = {key: value if chance.random() < 0.7 else None for key, value in labels.items()}
        await stage.change(NODES, name, {"metadata": {"labels": changes}})
