"""What is measured of the queue, as it is shown."""

import msgspec
from prometheus_client import CollectorRegistry, generate_latest

from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.metrics import gauges_of, measured
from growth.decide.queue.queue_status import QueueReports
from growth.decide.queue.usage_figures import QueueFigures
from growth.decide.queue.workload_events import WorkloadEvents
from growth.run.metrics import CapabilityMetrics

FIGURES = QueueFigures(2, 1, 4, 3, {("spot", "cpu"): 1500, ("spot", "memory"): 1024}, {("spot", "cpu"): 4000})
HAPPENED = WorkloadEvents((("team", "PodsReadyTimeout"),), (("team", 40.0),), (("team", 75.0),))


def samples(registry: CollectorRegistry) -> dict[str, float]:
    lines = [line for line in generate_latest(registry).decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


class Shown:
    """The queue's metrics after some passes."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._metrics = CapabilityMetrics(self._registry)

    def after(self, carry: QueueCarry) -> dict[str, float]:
        self._metrics.apply("queue", measured(msgspec.structs.replace(carry, gauges=gauges_of(carry))))
        return self.now()

    def end(self) -> dict[str, float]:
        self._metrics.clear("queue")
        return self.now()

    def now(self) -> dict[str, float]:
        return {name: value for name, value in samples(self._registry).items() if name.startswith("growth_queue")}


def test_all_that_the_queue_knows_is_shown() -> None:
    shown = Shown().after(QueueCarry(news=HAPPENED, queues=QueueReports({"team": FIGURES})))
    assert {name: shown[name] for name in shown if "seconds" not in name and "created" not in name} == {
        'growth_queue_pending{queue="team",status="active"}': 2,
        'growth_queue_pending{queue="team",status="inadmissible"}': 1,
        'growth_queue_reserving{queue="team"}': 4,
        'growth_queue_admitted{queue="team"}': 3,
        'growth_queue_quota_used{flavor="spot",queue="team",resource="cpu"}': 1.5,
        'growth_queue_quota_used{flavor="spot",queue="team",resource="memory"}': 1024,
        'growth_queue_quota_nominal{flavor="spot",queue="team",resource="cpu"}': 4,
        'growth_queue_evictions_total{queue="team",reason="PodsReadyTimeout"}': 1,
    }
    assert shown['growth_queue_admission_wait_seconds_sum{queue="team"}'] == 40
    assert shown['growth_queue_ready_wait_seconds_sum{queue="team"}'] == 75


def test_a_queue_that_is_gone_is_not_shown_and_what_happened_in_it_is_not_forgotten() -> None:
    play = Shown()
    play.after(QueueCarry(news=HAPPENED, queues=QueueReports({"team": FIGURES})))
    shown = play.after(QueueCarry(queues=QueueReports({"other": FIGURES})))
    assert 'growth_queue_admitted{queue="team"}' not in shown
    assert shown['growth_queue_admitted{queue="other"}'] == 3
    assert shown['growth_queue_evictions_total{queue="team",reason="PodsReadyTimeout"}'] == 1


def test_who_does_not_lead_shows_no_figures() -> None:
    play = Shown()
    play.after(QueueCarry(queues=QueueReports({"team": FIGURES})))
    assert not any("pending" in name for name in play.end())
    again = play.after(QueueCarry(queues=QueueReports({"team": FIGURES})))
    assert 'growth_queue_admitted{queue="team"}' in again, "the same figures are news again"
