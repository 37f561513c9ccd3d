"""Metrics of the queue (docs/queue.md maps the names to Kueue's). Labels are queues, flavors and resources: as many as
an operator made, and none for each job."""

from collections.abc import Iterator, Mapping
from typing import Final

from growth.decide.contract import Measurement, Metric
from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.usage_figures import QueueFigures

# From a job that is next to one that waits for a week.
_WAIT_SECONDS: Final = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 10_800, 43_200, 86_400, 604_800)
_SLOT: Final = ("queue", "flavor", "resource")

PENDING: Final = Metric("growth_queue_pending", "Workloads that wait.", "gauge", ("queue", "status"))
RESERVING: Final = Metric("growth_queue_reserving", "Workloads that hold quota.", "gauge", ("queue",))
ADMITTED: Final = Metric("growth_queue_admitted", "Workloads that are admitted.", "gauge", ("queue",))
USED: Final = Metric("growth_queue_quota_used", "Quota that is held.", "gauge", _SLOT)
NOMINAL: Final = Metric("growth_queue_quota_nominal", "The queue's own quota.", "gauge", _SLOT)
EVICTIONS: Final = Metric("growth_queue_evictions", "Workloads that were evicted.", "counter", ("queue", "reason"))
ADMISSION_WAITS: Final = Metric(
    "growth_queue_admission_wait_seconds",
    "From when a workload was made, or put back, to its admission.",
    "histogram",
    ("queue",),
    _WAIT_SECONDS,
)
READY_WAITS: Final = Metric(
    "growth_queue_ready_wait_seconds",
    "From when a workload was made, or put back, to when all its pods were ready.",
    "histogram",
    ("queue",),
    _WAIT_SECONDS,
)
METRICS: Final = (PENDING, RESERVING, ADMITTED, USED, NOMINAL, EVICTIONS, ADMISSION_WAITS, READY_WAITS)


def measured(carry: QueueCarry) -> Iterator[Measurement]:
    """Measure how full each queue is, and what happened in this pass."""
    for queue, reason in carry.news.evicted:
        yield Measurement(EVICTIONS, 1, (queue, reason))
    for queue, seconds in carry.news.admitted:
        yield Measurement(ADMISSION_WAITS, seconds, (queue,))
    for queue, seconds in carry.news.ready:
        yield Measurement(READY_WAITS, seconds, (queue,))
    for _, gauges in carry.gauges.values():
        yield from gauges


def gauges_of(carry: QueueCarry) -> Mapping[str, tuple[QueueFigures, tuple[Measurement, ...]]]:
    """Return the gauges of each queue, those of the pass before where its figures are the very same."""
    found: dict[str, tuple[QueueFigures, tuple[Measurement, ...]]] = {}
    for queue, figures in carry.figures.items():
        known = carry.gauges.get(queue)
        found[queue] = known if known is not None and known[0] is figures else (figures, tuple(_gauges(queue, figures)))
    return found


def _gauges(queue: str, figures: QueueFigures) -> Iterator[Measurement]:
    yield Measurement(PENDING, figures.active, (queue, "active"))
    yield Measurement(PENDING, figures.inadmissible, (queue, "inadmissible"))
    yield Measurement(RESERVING, figures.reserving, (queue,))
    yield Measurement(ADMITTED, figures.admitted, (queue,))
    for metric, amounts in ((USED, figures.used), (NOMINAL, figures.nominal)):
        for (flavor, resource), amount in amounts.items():
            yield Measurement(metric, amount / 1000 if resource == "cpu" else amount, (queue, flavor, resource))
