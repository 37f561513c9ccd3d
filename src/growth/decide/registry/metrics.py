"""Metrics of the registry."""

from collections.abc import Iterator
from typing import Final

from growth.decide.contract import Measurement, Metric
from growth.decide.facts.cluster_state import ClusterState

HEALTHY: Final = Metric("growth_cluster_healthy", "1 if the cluster is healthy, 0 if not; on the leader.", "gauge")
HALTED: Final = Metric("growth_halted", "1 if nothing is bought or removed because of that.", "gauge")
STATES: Final = Metric(
    "growth_node_states",
    "Nodes, machines and requests by the state that the registry sees them in.",
    "gauge",
    ("pool", "state"),
)
POOL_HEALTHY: Final = Metric(
    "growth_pool_healthy",
    "1 if a pool, or an offering in it, is bought; 0 if too much of it is amiss.",
    "gauge",
    ("pool", "offering"),
)
UPCOMING: Final = Metric("growth_upcoming", "Machines that will soon be there.", "gauge", ("pool", "offering"))
MISSING: Final = Metric(
    "growth_missing", "Machines that were asked for and have no node.", "gauge", ("pool", "offering")
)
METRICS: Final = (HEALTHY, HALTED, STATES, POOL_HEALTHY, UPCOMING, MISSING)


def measured(cluster: ClusterState) -> Iterator[Measurement]:
    """Measure the health of the cluster, and of each pool and offering."""
    yield Measurement(HEALTHY, float(cluster.health.is_healthy))
    yield Measurement(HALTED, float(cluster.health.is_halted))
    for key, group in cluster.groups.items():
        yield Measurement(POOL_HEALTHY, float(not group.is_unhealthy), key)
        yield Measurement(UPCOMING, group.upcoming, key)
        yield Measurement(MISSING, group.missing, key)
        if not group.offering:
            for state, count in group.counts.items():
                yield Measurement(STATES, count, (group.pool, state.value))
