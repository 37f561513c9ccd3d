"""What pools say about their moves: how old nodes must be, what a move must save, how many may go at one time."""

from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache

from growth.api.duration import parse_duration
from growth.api.nodepool import NodePool
from growth.api.offering import POOL
from growth.decide.consolidate.budgets import allowance
from growth.decide.consolidate.question import Worth
from growth.decide.consolidate.scene import Scene


def worth_of(pool: NodePool) -> Worth:
    """What makes a move worth its trouble in this pool."""
    stated = pool.spec.disruption
    return _worth(stated.min_saving, stated.pay_back_within)


@lru_cache(1024)
def _worth(min_saving: str, pay_back_within: str) -> Worth:
    return Worth(share=int(min_saving.removesuffix("%")) / 100, pays_back_within=parse_duration(pay_back_within))


def min_age_of(pool: NodePool) -> timedelta:
    """Younger nodes stay."""
    return parse_duration(pool.spec.disruption.min_node_age)


def at_once_in(scene: Scene, pools: Iterable[NodePool]) -> dict[str, int]:
    """By pool, how many nodes may go now because others are cheaper."""
    nodes = scene.snapshot.nodes.values()
    return {
        name: allowance(
            pool,
            pool.spec.disruption.budgets,
            "Cheaper",
            nodes=[node for node in nodes if node.metadata.labels.get(POOL) == name],
            leaving=scene.leaving,
            now=scene.now,
        ).left
        for pool in pools
        if (name := pool.metadata.name)
    }
