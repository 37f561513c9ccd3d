"""Metrics of failover."""

from collections.abc import Iterator
from typing import Final

from growth.decide.contract import Measurement, Metric
from growth.decide.failover.carry import FailoverCarry
from growth.decide.failover.evidence import Finding

# Fine where failover should be done (docs/failover.md), coarse where an operator is needed.
_SECONDS: Final = (10, 15, 20, 25, 30, 35, 40, 45, 60, 80, 120, 300, 600)
# What is known about a silent node, and those that are out of service, silent or not.
_STATES: Final = (*(finding.value for finding in Finding), "OutOfService")

NODES: Final = Metric(
    "growth_failover_nodes", "Nodes that are silent or out of service, by state.", "gauge", ("state",)
)
STUCK: Final = Metric(
    "growth_failover_stuck_detachments",
    "Volumes that hang on nodes out of service for longer than they should.",
    "gauge",
)
SECONDS: Final = Metric(
    "growth_failover_seconds",
    "From a node's last sign of life to its pod running elsewhere.",
    "histogram",
    buckets=_SECONDS,
)
METRICS: Final = (NODES, STUCK, SECONDS)


def measured(carry: FailoverCarry) -> Iterator[Measurement]:
    """Measure what failover knows. Every state is there even if no node is in it, so none differs from unknown."""
    for state in _STATES:
        yield Measurement(NODES, carry.findings.get(state, 0), (state,))
    yield Measurement(STUCK, carry.stuck)
    for seconds in carry.recovered:
        yield Measurement(SECONDS, seconds)
