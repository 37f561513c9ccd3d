"""What is counted, for Prometheus. Each name is on docs/running.md, and a test compares the two."""

from collections import Counter as Counts
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from growth.api.actions import Hold, Outcome
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS
from growth.api.phases import REMOVAL_MOVES
from growth.decide.contract import CALL_SECONDS, Measurement, Metric
from growth.decide.pipeline import CAPABILITIES
from growth.kube.event_recorder import EventRecorder
from growth.observe.cache import ClusterCache

# From what a pass over a small World takes to what would be noticed as a pause.
_STEP_SECONDS: Final = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 5)


class Metrics:
    """The counts of one run, in a registry of their own: two runs in one process (tests, plays) do not mix."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
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
            "growth_thought_seconds", "One long thought.", ("capability",), registry=registry, buckets=CALL_SECONDS
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
            "growth_action_seconds", "One action, to its end.", ("action",), registry=registry, buckets=CALL_SECONDS
        )
        self.actions_waiting = Gauge(
            "growth_actions_waiting", "Actions that wait for a slot.", ("role",), registry=registry
        )
        self.actions_under_way = Gauge(
            "growth_actions_under_way", "Actions that are being carried out.", ("role",), registry=registry
        )
        self._capabilities = CapabilityMetrics(registry)

    def apply(self, capability: str, measurements: Iterable[Measurement]) -> None:
        """Show what a capability measured in a pass."""
        self._capabilities.apply(capability, measurements)

    def clear(self, capability: str) -> None:
        """Drop the gauges of a capability that decides here no more."""
        self._capabilities.clear(capability)

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

    def collect(self) -> Iterator[Family]:
        """The figures now."""
        cache = self._cache
        yield GaugeMetricFamily("growth_nodes", "Nodes in the World.", len(cache.nodes))
        yield GaugeMetricFamily("growth_pods_waiting", "Pods without a node.", len(cache.waiting))
        yield self._removals()
        yield from self._wasted()
        yield CounterMetricFamily("growth_changes", "Changes that the informers told.", cache.changes_heard)
        dropped = "Events for people that could not be told."
        yield CounterMetricFamily("growth_events_dropped", dropped, self._recorder.dropped)

    def _wasted(self) -> Iterator[Family]:
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

    def _removals(self) -> Family:
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


Series = tuple[str, tuple[str, ...]]
"""The name of a metric, and its labels."""
_NOTHING: Final[Mapping[Series, float]] = {}


class CapabilityMetrics:
    """The metrics of all capabilities: those of Growth's own from the start, others as soon as they are measured."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._made: dict[str, Gauge | Counter | Histogram] = {}
        self._shown: dict[str, Mapping[Series, float]] = {}
        """By capability, the gauges of its last pass."""
        for capability in CAPABILITIES:
            for metric in capability.metrics:
                self._of(metric)

    def apply(self, capability: str, measurements: Iterable[Measurement]) -> None:
        """Show what a pass measured; only gauges that changed are touched."""
        gauges: dict[Series, float] = {}
        for one in measurements:
            if one.metric.type == "gauge":
                self._of(one.metric)
                gauges[one.metric.name, one.labels] = one.value
                continue
            series = _with(self._of(one.metric), one.labels)
            if isinstance(series, Histogram):
                series.observe(one.value)
            else:
                series.inc(one.value)
        before = self._shown.get(capability, _NOTHING)
        for key in before.keys() - gauges.keys():
            self._drop(*key)
        for key, value in gauges.items():
            if before.get(key) != value:
                self._gauge(*key).set(value)
        self._shown[capability] = gauges

    def clear(self, capability: str) -> None:
        """Drop the gauges of a capability that decides here no more: what was last measured is no news."""
        for key in self._shown.pop(capability, _NOTHING):
            self._drop(*key)

    def _drop(self, name: str, labels: tuple[str, ...]) -> None:
        if labels:
            self._made[name].remove(*labels)
        else:
            self._gauge(name, labels).set(0)

    def _gauge(self, name: str, labels: tuple[str, ...]) -> Gauge:
        found = _with(self._made[name], labels)
        assert isinstance(found, Gauge)  # noqa: S101 - the type of the metric
        return found

    def _of(self, metric: Metric) -> Gauge | Counter | Histogram:
        made = self._made.get(metric.name)
        if made is None:
            made = self._made[metric.name] = _make(metric, self._registry)
        return made


def _with(made: Gauge | Counter | Histogram, labels: tuple[str, ...]) -> Gauge | Counter | Histogram:
    return made.labels(*labels) if labels else made


def _make(metric: Metric, registry: CollectorRegistry) -> Gauge | Counter | Histogram:
    match metric.type:
        case "gauge":
            return Gauge(metric.name, metric.help, metric.labels, registry=registry)
        case "counter":
            return Counter(metric.name, metric.help, metric.labels, registry=registry)
        case "histogram":
            return Histogram(metric.name, metric.help, metric.labels, registry=registry, buckets=metric.buckets)
