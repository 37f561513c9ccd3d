"""Somebody who only looks at workloads: who holds how much since when, and whether that was ever more than there is.

Changes of one kind come in the order in which the API server took them, so what is held after each of them is what was
held in some instant; only when that was is known no better than the watch is quick.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from bench.queue_load import BORROWED_CPU, NOMINAL_CPU, SIZES, Line, Planned
from growth.api.change import Change, ChangeType
from growth.api.quantity import nano_value
from growth.api.queue.workload import ADMITTED, EVICTED, PREEMPTED, QUOTA_RESERVED, Workload

_NANOS: Final = 1_000_000_000


class Witness:
    """Moments by ``clock``, in seconds."""

    def __init__(self, load: Mapping[str, Planned], lines: Sequence[Line], clock: Callable[[], float]) -> None:
        self.made: dict[str, float] = {}
        """When the creation of each was answered or seen, whichever came first."""
        self.admitted: dict[str, float] = {}
        """When each was admitted, the last time."""
        self.finished: dict[str, float] = {}
        self.exceeded = 0
        """After how many changes more was held than there is, by a queue or by a cohort."""
        self.admissions = self.preemptions = 0
        self.writes: Counter[str] = Counter()
        """What was written on workloads, by what it changed."""
        self._load, self._clock = load, clock
        self._nominal = dict.fromkeys({line.cohort for line in lines}, 0)
        for line in lines:
            self._nominal[line.cohort] += NOMINAL_CPU
        self._used_by_queue: Counter[str] = Counter()
        self._used_by_cohort: Counter[str] = Counter()
        self._cohort_of = {line.name: line.cohort for line in lines}
        self._held: dict[str, tuple[str, int, float]] = {}
        self._held_seconds: defaultdict[str, float] = defaultdict(float)
        self._began = self._at = clock()
        self._cpu_seconds = self._cpu_seconds_then = 0.0

    @property
    def held_cpu(self) -> int:
        """How much is held now."""
        return sum(self._used_by_cohort.values())

    @property
    def last_admission(self) -> float:
        return max(self.admitted.values(), default=self._began)

    def begin(self) -> None:
        """Time counts from now on."""
        self._began = self._at = self._clock()

    def note_creation(self, name: str) -> None:
        """It was answered."""
        self.made.setdefault(name, self._clock())

    def hear(self, changes: Sequence[Change[Workload]]) -> None:
        """Something became of workloads."""
        now = self._clock()
        self._cpu_seconds += self.held_cpu * (now - self._at)
        self._at = now
        for change in changes:
            workload, name = change.now, change.now.metadata.name
            if name not in self._load:
                continue
            self.made.setdefault(name, now)
            is_there = change.happened is not ChangeType.DELETED
            self._hold(name, workload if is_there and workload.is_reserving else None, now)
            before = change.before
            if before is not None:
                for what in _written(before, workload):
                    self.writes[what] += 1
            if workload.holds(ADMITTED) and not (before is not None and before.holds(ADMITTED)):
                self.admissions += 1
                self.admitted[name] = now
                self._cpu_seconds_then = self._cpu_seconds
            if _is_preempted(workload) and not (before is not None and _is_preempted(before)):
                self.preemptions += 1
            if workload.is_finished:
                self.finished.setdefault(name, now)

    def _hold(self, name: str, workload: Workload | None, now: float) -> None:
        """What it holds from now on."""
        admission = workload.status.admission if workload is not None else None
        before = self._held.pop(name, None)
        since = now
        if before is not None:
            queue, cpu, since = before
            self._use(queue, -cpu)
            if admission is None:
                self._held_seconds[name] += now - since
        if admission is not None:
            given = [str(one.resource_usage.get("cpu", 0)) for one in admission.pod_set_assignments]
            cpu = sum(nano_value(amount) for amount in given) // _NANOS
            self._held[name] = (admission.cluster_queue, cpu, since)
            self._use(admission.cluster_queue, cpu)
            self._judge(admission.cluster_queue)

    def _use(self, queue: str, cpu: int) -> None:
        self._used_by_queue[queue] += cpu
        self._used_by_cohort[self._cohort_of[queue]] += cpu

    def _judge(self, queue: str) -> None:
        cohort = self._cohort_of[queue]
        is_over = self._used_by_cohort[cohort] > self._nominal[cohort]
        self.exceeded += is_over or self._used_by_queue[queue] > NOMINAL_CPU + BORROWED_CPU

    def figures(self) -> dict[str, Any]:
        """All that was seen."""
        seconds = self.last_admission - self._began
        needed = sum(self._load[name].cpu_seconds for name in self.finished)
        return {
            "finished": len(self.finished),
            "exceeded": self.exceeded,
            "wall_s": round(max(self.finished.values(), default=self._at) - self._began, 1),
            "made_s": round(max(self.made.values(), default=self._began) - self._began, 1),
            "admissions_per_second": round(len(self.admitted) / seconds, 1) if seconds else 0.0,
            "avg_admission_s": self._by_size(lambda name: self.admitted[name] - self.made[name], self.admitted),
            "usage_percent": round(100 * self._cpu_seconds_then / seconds / sum(self._nominal.values()), 1)
            if seconds
            else 0.0,
            "reserved_over_run": round(self._cpu_seconds / needed, 2) if needed else 0.0,
            "reserved_over_run_of": self._by_size(
                lambda name: self._held_seconds[name] / self._load[name].run_seconds, self.finished
            ),
            "admissions": self.admissions,
            "preemptions": self.preemptions,
        }

    def _by_size(self, value: Callable[[str], float], names: Mapping[str, float]) -> dict[str, float]:
        return {
            size.name: round(fmean(found), 2) if found else 0.0
            for size in SIZES
            for found in [[value(name) for name in names if self._load[name].size is size]]
        }


def _is_preempted(workload: Workload) -> bool:
    evicted = workload.condition(EVICTED)
    return evicted is not None and evicted.status == "True" and evicted.reason == PREEMPTED


def _written(before: Workload, now: Workload) -> list[str]:
    """What a write changed, as one word for each thing; one write may be several."""
    words: list[str] = []
    if now.is_finished and not before.is_finished:
        words.append("finished")
    if (before.status.admission is None) != (now.status.admission is None):
        words.append("released" if now.status.admission is None else "admitted")
    if now.holds(EVICTED) and not before.holds(EVICTED):
        words.append("evicted")
    if words:
        return words
    was, said = before.condition(QUOTA_RESERVED), now.condition(QUOTA_RESERVED)
    if was != said and said is not None:
        return [f"waits: {said.reason}"]
    return ["requeued" if before.condition("Requeued") != now.condition("Requeued") else "other"]
