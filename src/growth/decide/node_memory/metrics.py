"""Metrics of node memory."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from growth.decide.contract import CALL_SECONDS, Measurement, Metric
from growth.decide.node_memory.carry import NodeMemoryCarry

OLDEST: Final = Metric(
    "growth_memory_oldest_transaction_seconds", "Age of the oldest transaction that is not dealt with.", "gauge"
)
WAITING: Final = Metric("growth_memory_waiting_nodes", "Nodes that do not have their memory back yet.", "gauge")
SECONDS: Final = Metric(
    "growth_memory_restore_seconds",
    "From when a node was first seen to when it has its memory back.",
    "histogram",
    buckets=CALL_SECONDS,
)
METRICS: Final = (OLDEST, WAITING, SECONDS)


def measured(carry: NodeMemoryCarry, now: datetime) -> Iterator[Measurement]:
    """Measure how far node memory is behind, and how long nodes waited for theirs."""
    yield Measurement(OLDEST, (now - carry.oldest).total_seconds() if carry.oldest is not None else 0)
    yield Measurement(WAITING, len(carry.awaiting))
    for seconds in carry.restored:
        yield Measurement(SECONDS, seconds)
