"""Metrics of consolidation. Labels are pools, reasons and results: none for each move."""

from collections.abc import Iterator, Mapping
from typing import Final

from growth.api.offering import POOL
from growth.decide.consolidation.carry import ConsolidationCarry
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.contract import Measurement, Metric

ENDED: Final = Metric("growth_moves", "Moves that ended, by reason and result.", "counter", ("reason", "result"))
ACTIVE: Final = Metric("growth_moves_active", "Moves that are being carried out.", "gauge")
SAVINGS: Final = Metric("growth_savings_per_hour", "What the moves that were last advised save.", "gauge", ("pool",))
METRICS: Final = (ENDED, ACTIVE, SAVINGS)


def measured(context: ConsolidationContext, carry: ConsolidationCarry) -> Iterator[Measurement]:
    """Measure the moves under way, those that ended since the last pass, and what advice would save."""
    moves = {move.metadata.uid: move for move in context.moves}
    for uid, reason in context.inputs.carry.under_way.items():
        move = moves.get(uid)  # unless it was deleted on its way
        if move is None or move.is_over:
            yield Measurement(ENDED, 1, (reason, move.status.phase if move is not None else "Deleted"))
    yield Measurement(ACTIVE, len(carry.under_way))
    for pool, saved in carry.savings.items():
        yield Measurement(SAVINGS, saved, (pool,))


def savings_by_pool(context: ConsolidationContext, before: ConsolidationCarry) -> Mapping[str, float]:
    """Return what the last advice for each pool saves an hour. New advice is about the pools that it was asked about;
    what was advised for others still stands."""
    carry = context.carry
    optimized = {pool.metadata.name for pool in context.optimized_pools}
    saved = {pool: amount for pool, amount in before.savings.items() if pool in optimized}
    advice = carry.advice
    if advice is None or advice is before.advice:
        return saved
    new = {pool: 0.0 for pool in carry.asked_about if pool in optimized}
    for move in advice.moves:
        for name in move.terminating:
            node = context.snapshot.nodes.get(name)
            pool = node.metadata.labels.get(POOL, "") if node is not None else ""
            if pool in new:
                new[pool] += move.saves_per_hour / len(move.terminating)
    return {**saved, **new}
