"""What is counted of the queue (docs/queue.md maps the names to Kueue's). Labels are queues, flavors and resources:
as many as people made, and none for each job."""

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from growth.decide.queue.decider import QueueCarry
from growth.decide.queue.usage_figures import QueueFigures

# From a job that is next to one that waits for a week.
_WAIT_SECONDS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 10_800, 43_200, 86_400, 604_800)


class QueueMetrics:
    """Figures of the leader's last pass, and counts of what happened while it led."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._shown: Mapping[str, QueueFigures] = {}
        self._pending = Gauge("growth_queue_pending", "Workloads that wait.", ("queue", "status"), registry=registry)
        self._reserving = Gauge("growth_queue_reserving", "Workloads that hold quota.", ("queue",), registry=registry)
        self._admitted = Gauge("growth_queue_admitted", "Workloads that are admitted.", ("queue",), registry=registry)
        slot = ("queue", "flavor", "resource")
        self._used = Gauge("growth_queue_quota_used", "Quota that is held.", slot, registry=registry)
        self._nominal = Gauge("growth_queue_quota_nominal", "The queue's own quota.", slot, registry=registry)
        self._evictions = Counter(
            "growth_queue_evictions", "Workloads that were evicted.", ("queue", "reason"), registry=registry
        )
        self._waits = Histogram(
            "growth_queue_admission_wait_seconds",
            "From when a workload was made, or put back, to its admission.",
            ("queue",),
            registry=registry,
            buckets=_WAIT_SECONDS,
        )
        self._ready = Histogram(
            "growth_queue_ready_wait_seconds",
            "From when a workload was made, or put back, to when all its pods were ready.",
            ("queue",),
            registry=registry,
            buckets=_WAIT_SECONDS,
        )

    def show(self, carry: QueueCarry) -> None:
        """Show what the queue knows; only what is different from the last time is touched."""
        for queue, reason in carry.news.evicted:
            self._evictions.labels(queue, reason).inc()
        for queue, seconds in carry.news.admitted:
            self._waits.labels(queue).observe(seconds)
        for queue, seconds in carry.news.ready:
            self._ready.labels(queue).observe(seconds)
        before: Mapping[str, QueueFigures] = self._shown
        if any(_slots(carry.figures.get(queue)) != _slots(figures) for queue, figures in before.items()):
            # A queue, or a flavor of one, is gone.
            self.clear()
            before = {}
        self._shown = carry.figures
        for queue, figures in carry.figures.items():
            if before.get(queue) is figures:
                continue
            self._pending.labels(queue, "active").set(figures.active)
            self._pending.labels(queue, "inadmissible").set(figures.inadmissible)
            self._reserving.labels(queue).set(figures.reserving)
            self._admitted.labels(queue).set(figures.admitted)
            for gauge, amounts in ((self._used, figures.used), (self._nominal, figures.nominal)):
                for (flavor, resource), amount in amounts.items():
                    gauge.labels(queue, flavor, resource).set(amount / 1000 if resource == "cpu" else amount)

    def clear(self) -> None:
        """Nobody keeps the queue here any more: what was last said is no news."""
        self._shown = {}
        for gauge in (self._pending, self._reserving, self._admitted, self._used, self._nominal):
            gauge.clear()


def _slots(figures: QueueFigures | None) -> tuple[object, ...] | None:
    return (figures.used.keys(), figures.nominal.keys()) if figures is not None else None
