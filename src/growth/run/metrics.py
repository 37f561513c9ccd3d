"""What is counted, for Prometheus. Each name is on docs/running.md, and a test compares the two."""

from collections import Counter as Counts
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from growth.api.actions import Hold, Outcome
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS
from growth.api.phases import REMOVAL_MOVES
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.failover.context import FailoverCarry
from growth.decide.failover.evidence import Finding
from growth.decide.node_memory.carry import NodeMemoryCarry
from growth.kube.event_recorder import EventRecorder
from growth.observe.cache import ClusterCache
from growth.run.move_metrics import MoveMetrics
from growth.run.queue_metrics import QueueMetrics

# From what a pass over a small World takes to what would be noticed as a pause.
_STEP_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)
# From one answer of a near server to a provider that takes its time.
_CALL_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 180)
# Fine where failover should be done (docs/failover.md), coarse where a person is needed.
_FAILOVER_SECONDS: Final = (10, 15, 20, 25, 30, 35, 40, 45, 60, 80, 120, 300, 600)
# What is known about a silent node, and those that are out of service, silent or not.
_FAILOVER_STATES: Final = (*(finding.value for finding in Finding), "OutOfService")


class Metrics:
    """The counts of one run, in a registry of their own: two runs in one process (tests, plays) do not mix."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.queue = QueueMetrics(registry)
        self.moves = MoveMetrics(registry)
        self._seen: ClusterState | None = None
        ProcessCollector(registry=registry)
        self.leader = Gauge("growth_leader", "1 on the replica that acts for all.", registry=registry)
        self.provider_up = Gauge(
            "growth_provider_up", "1 if the provider answers the leader, 0 if not.", ("provider",), registry=registry
        )
        self.pass_seconds = Histogram(
            "growth_pass_seconds", "One pass over all deciders.", ("role",), registry=registry, buckets=_STEP_SECONDS
        )
        self.decider_seconds = Histogram(
            "growth_decider_seconds", "One decision.", ("capability",), registry=registry, buckets=_STEP_SECONDS
        )
        self.decider_failures = Counter(
            "growth_decider_failures", "Decisions and thoughts that raised.", ("capability",), registry=registry
        )
        self.thought_seconds = Histogram(
            "growth_thought_seconds", "One long thought.", ("capability",), registry=registry, buckets=_CALL_SECONDS
        )
        self.holds = Gauge(
            "growth_holds", "What is not being done now, by reason.", ("capability", "reason"), registry=registry
        )
        self.actions = Counter(
            "growth_actions",
            "Actions that ended, by result and error.",
            ("action", "result", "error"),
            registry=registry,
        )
        self.action_seconds = Histogram(
            "growth_action_seconds", "One action, to its end.", ("action",), registry=registry, buckets=_CALL_SECONDS
        )
        self.actions_waiting = Gauge(
            "growth_actions_waiting", "Actions that wait for a slot.", ("role",), registry=registry
        )
        self.actions_under_way = Gauge(
            "growth_actions_under_way", "Actions that are being carried out.", ("role",), registry=registry
        )

        self.cluster_healthy = Gauge(
            "growth_cluster_healthy", "1 if the cluster is healthy, 0 if not; on the leader.", registry=registry
        )
        self.cluster_halted = Gauge(
            "growth_halted", "1 if nothing is bought or removed because of that.", registry=registry
        )
        self.node_states = Gauge(
            "growth_node_states",
            "Nodes, machines and requests by the state that the registry sees them in.",
            ("pool", "state"),
            registry=registry,
        )
        self.pool_healthy = Gauge(
            "growth_pool_healthy",
            "1 if a pool, or an offering in it, is bought; 0 if too much of it is amiss.",
            ("pool", "offering"),
            registry=registry,
        )
        self.upcoming = Gauge(
            "growth_upcoming", "Machines that will soon be there.", ("pool", "offering"), registry=registry
        )
        self.missing = Gauge(
            "growth_missing", "Machines that were asked for and have no node.", ("pool", "offering"), registry=registry
        )
        self.failover_nodes = Gauge(
            "growth_failover_nodes", "Nodes that are silent or out of service, by state.", ("state",), registry=registry
        )
        self.failover_stuck = Gauge(
            "growth_failover_stuck_detachments",
            "Volumes that hang on nodes out of service for longer than they should.",
            registry=registry,
        )
        self.failover_seconds = Histogram(
            "growth_failover_seconds",
            "From a node's last sign of life to its pod running elsewhere.",
            registry=registry,
            buckets=_FAILOVER_SECONDS,
        )
        self.memory_oldest = Gauge(
            "growth_memory_oldest_transaction_seconds",
            "Age of the oldest transaction that is not dealt with.",
            registry=registry,
        )
        self.memory_waiting = Gauge(
            "growth_memory_waiting_nodes", "Nodes that do not have their memory back yet.", registry=registry
        )
        self.memory_seconds = Histogram(
            "growth_memory_restore_seconds",
            "From when a node was first seen to when it has its memory back.",
            registry=registry,
            buckets=_CALL_SECONDS,
        )

    def seen(self, cluster: ClusterState) -> None:
        """Show what the registry knows; only what is different from the last time is touched."""
        if self._seen is not None and self._seen.health == cluster.health and self._seen.groups == cluster.groups:
            return
        self._seen = cluster
        self.cluster_healthy.set(cluster.health.is_healthy)
        self.cluster_halted.set(cluster.health.is_halted)
        for gauge in (self.node_states, self.pool_healthy, self.upcoming, self.missing):
            gauge.clear()
        for (pool, offering), group in cluster.groups.items():
            self.pool_healthy.labels(pool, offering).set(not group.is_unhealthy)
            self.upcoming.labels(pool, offering).set(group.upcoming)
            self.missing.labels(pool, offering).set(group.missing)
            for state, count in () if offering else group.counts.items():
                self.node_states.labels(pool, state.value).set(count)

    def unseen(self) -> None:
        """Nobody keeps the registry here any more: what it last said is no news."""
        self._seen = None
        self.cluster_healthy.set(0)
        self.cluster_halted.set(0)
        for gauge in (self.node_states, self.pool_healthy, self.upcoming, self.missing):
            gauge.clear()
        self.failover_nodes.clear()
        self.failover_stuck.set(0)

    def failed_over(self, carry: FailoverCarry) -> None:
        """Show what failover knows. Every state is there even if no node is in it, so none can be told from unknown."""
        for state in _FAILOVER_STATES:
            self.failover_nodes.labels(state).set(carry.findings.get(state, 0))
        self.failover_stuck.set(carry.stuck)
        for seconds in carry.recovered:
            self.failover_seconds.observe(seconds)

    def remembered(self, index: NodeMemoryCarry, now: datetime) -> None:
        """Show how far memory is behind, and how long nodes waited for theirs."""
        self.memory_oldest.set((now - index.oldest).total_seconds() if index.oldest is not None else 0)
        self.memory_waiting.set(len(index.awaiting))
        for seconds in index.restored:
            self.memory_seconds.observe(seconds)

    def follow(self, cache: ClusterCache, recorder: EventRecorder) -> None:
        """From now on also show what these two know themselves."""
        self.registry.register(_Known(cache, recorder))

    def text(self) -> bytes:
        """All of it, as Prometheus reads it. May be called from any thread."""
        return generate_latest(self.registry)

    def held(self, capability: str, holds: list[Hold], reasons_before: set[str]) -> set[str]:
        """Show what is held now; returns its reasons, which the next call needs to set the ones that ended to zero."""
        counts: dict[str, int] = dict.fromkeys(reasons_before, 0)
        for hold in holds:
            counts[hold.reason] = counts.get(hold.reason, 0) + 1
        for reason, count in counts.items():
            self.holds.labels(capability, reason).set(count)
        return set(counts)


class _Known(Collector):
    """Figures that are read when somebody asks. Each is one read or one copy: this thread needs no lock."""

    def __init__(self, cache: ClusterCache, recorder: EventRecorder) -> None:
        self._cache = cache
        self._recorder = recorder

    def collect(self) -> Iterator[Metric]:
        """The figures now."""
        cache = self._cache
        yield GaugeMetricFamily("growth_nodes", "Nodes in the World.", len(cache.nodes))
        yield GaugeMetricFamily("growth_pods_waiting", "Pods without a node.", len(cache.waiting))
        yield self._removals()
        yield from self._wasted()
        yield CounterMetricFamily("growth_changes", "Changes that the informers told.", cache.changes_heard)
        dropped = "Events for people that could not be told."
        yield CounterMetricFamily("growth_events_dropped", dropped, self._recorder.dropped)

    def _wasted(self) -> Iterator[Metric]:
        """As the status of each pool says, so that every replica shows it and a restart does not reset it."""
        machines = CounterMetricFamily(
            "growth_wasted_machines", "Machines that were paid for and never worked.", labels=("pool",)
        )
        cost = CounterMetricFamily(
            "growth_wasted_cost", "What they cost, in the provider's currency.", labels=("pool", "currency")
        )
        for pool in self._cache.tables[NODE_POOLS].listed():
            name, status = pool.metadata.name, pool.status
            machines.add_metric((name,), status.wasted.machines)
            cost.add_metric((name, status.currency), float(status.wasted.cost))
        yield machines
        yield cost

    def _removals(self) -> Metric:
        """Every phase is there even if nobody is in it, so that an alarm can tell none from unknown."""
        gauge = GaugeMetricFamily("growth_node_removals", "NodeRemovalRequests, by phase.", labels=("phase",))
        counts = Counts(one.status.phase for one in self._cache.tables[NODE_REMOVAL_REQUESTS].listed())
        for phase in REMOVAL_MOVES:
            gauge.add_metric((phase,), counts[phase])
        return gauge


class ActionMetrics:
    """The executor's witness for one role."""

    def __init__(self, metrics: Metrics, role: str) -> None:
        self._metrics = metrics
        self._waiting = metrics.actions_waiting.labels(role)
        self._under_way = metrics.actions_under_way.labels(role)

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """An action ended after so many seconds."""
        name = type(outcome.action).__name__
        self._metrics.actions.labels(name, outcome.result.value, outcome.error).inc()
        self._metrics.action_seconds.labels(name).observe(seconds)

    def load(self, waiting: int, under_way: int) -> None:
        """So many actions wait, and so many are under way."""
        self._waiting.set(waiting)
        self._under_way.set(under_way)
