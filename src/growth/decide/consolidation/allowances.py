"""What pools say about their moves: how old nodes must be, what a move must save, how many may go at one time."""

from collections.abc import Iterable
from datetime import timedelta
from functools import lru_cache

from growth.api.disruption import Reason
from growth.api.duration import parse_duration
from growth.api.node_move import NodeMove
from growth.api.node_pool import NodePool
from growth.api.offering import POOL
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.problem import SavingThreshold
from growth.decide.policy.disruption_budgets import Allowance, allowance


def worth_of(pool: NodePool) -> SavingThreshold:
    """What makes a move worth its trouble in this pool."""
    stated = pool.spec.disruption
    return _worth(stated.min_saving, stated.pay_back_within)


@lru_cache(1024)
def _worth(min_saving: str, pay_back_within: str) -> SavingThreshold:
    return SavingThreshold(
        share=int(min_saving.removesuffix("%")) / 100, pays_back_within=parse_duration(pay_back_within)
    )


def expires_after(pool: NodePool) -> timedelta | None:
    """Older nodes are replaced; None if none is too old."""
    stated = pool.spec.disruption.expire_after
    return None if stated is None else parse_duration(stated)


def min_age_of(pool: NodePool) -> timedelta:
    """Younger nodes stay."""
    return parse_duration(pool.spec.disruption.min_node_age)


def at_once_in(context: ConsolidationContext, pools: Iterable[NodePool]) -> dict[str, int]:
    """By pool, how many nodes may go now because others are cheaper."""
    return {pool.metadata.name: allowance_in(context, pool, "Cheaper").left for pool in pools}


def allowance_in(context: ConsolidationContext, pool: NodePool, reason: Reason) -> Allowance:
    """How many nodes of a pool may go now for a reason. Each move that is ready asks, and all nodes are counted: so
    that is done once, until another begins to be emptied."""
    about = (pool.metadata.name, reason, len(context.emptied))
    if about not in context.allowances:
        context.allowances[about] = allowance(
            pool,
            pool.spec.disruption.budgets,
            reason,
            nodes=context.snapshot.makes.of_pool(pool.metadata.name),
            terminating=context.terminating | context.snapshot.active_moves.terminating | context.emptied,
            now=context.now,
        )
    return context.allowances[about]


def why_not_let(context: ConsolidationContext, move: NodeMove) -> str:
    """Which budget does not let the nodes of a move go now, as a sentence; empty if all do.

    Budgets were asked when it was decided. Until its machines work, others may have gone, and a time may have begun in
    which nobody may.
    """
    terminating: dict[str, int] = {}
    for node in context.standing(move):
        pool = node.metadata.labels.get(POOL, "")
        terminating[pool] = terminating.get(pool, 0) + 1
    for name, count in sorted(terminating.items()):
        pool = context.pools.get(name)
        if pool is not None and (allowed := allowance_in(context, pool, move.spec.reason)).left < count:
            return f"{allowed.set_by} of pool {name} lets {allowed.most} nodes go at one time, and {allowed.leaving} do"
    return ""
