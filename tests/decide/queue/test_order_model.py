"""Whole histories against a model of the order that is as simple as can be, and knows nothing of conditions.

A job has a priority and a time; of two with the same, chance (the uid) decides. The time is that of its creation; with
the strategy ``Eviction`` it is that of its last eviction, if that was for pods that were not ready. Whoever has the
highest priority, and among those the earliest time, is next. Jobs come, get ready or not, are put back, drained,
deactivated and activated by people, and end.

All jobs are of one size, so that it does not matter in which of two steps of one instant something becomes free.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOADS
from tests.decide.queue.stage import Stage, a_stage, settings
from tests.drawing import examples

PLACES = 2
LIMIT = 3
BASE = timedelta(seconds=60)
TIMEOUT = timedelta(minutes=5)
# A backoff is up to so much longer than the formula says.
JITTER = 1.01


@dataclass
class Job:
    """What the model knows of a job."""

    name: str
    uid: str
    created: datetime
    priority: int = 0
    runs_since: datetime | None = None
    is_ready: bool = False
    put_back_at: datetime | None = None
    """When it was last evicted, if that was for pods that were not ready and it was not admitted since."""
    waits_until: datetime | None = None
    count: int = 0
    is_active: bool = True
    is_at_limit: bool = False

    def stop(self, now: datetime | None = None) -> None:
        """It is evicted; for pods that are not ready if an instant is given."""
        self.runs_since, self.is_ready, self.put_back_at = None, False, now


class Model:
    """Who has a place."""

    def __init__(self, strategy: str) -> None:
        self._strategy = strategy
        self.jobs: dict[str, Job] = {}
        self.is_drained = False

    def go_on(self, now: datetime) -> None:
        """What happens by itself at an instant: first those that are late go, then the next ones come."""
        for job in self.jobs.values():
            if job.runs_since is not None and not job.is_ready and now >= job.runs_since + TIMEOUT:
                self._put_back(job, now)
        waiting = sorted(self._waiting(now), key=self._place)
        free = PLACES - sum(job.runs_since is not None for job in self.jobs.values())
        for job in waiting[:free] if not self.is_drained else ():
            job.runs_since, job.put_back_at, job.waits_until = now, None, None

    def _put_back(self, job: Job, now: datetime) -> None:
        if job.count == LIMIT:
            job.stop()
            job.is_active, job.is_at_limit = False, True
            return
        job.stop(now)
        job.count += 1
        job.waits_until = now + BASE * 2 ** (job.count - 1)

    def _waiting(self, now: datetime) -> Iterator[Job]:
        for job in self.jobs.values():
            is_back = job.waits_until is None or now >= job.waits_until
            if job.runs_since is None and job.is_active and is_back:
                yield job

    def _place(self, job: Job) -> tuple[int, datetime, str]:
        since = job.put_back_at if self._strategy == "Eviction" else None
        return -job.priority, since or job.created, job.uid

    def doubtful(self) -> Iterator[tuple[datetime, datetime]]:
        """Between these instants nobody can say whether a backoff is over: that is the jitter."""
        for job in self.jobs.values():
            if job.waits_until is not None and job.put_back_at is not None:
                yield job.waits_until, job.put_back_at + (job.waits_until - job.put_back_at) * JITTER

    def running(self) -> list[str]:
        return sorted(job.name for job in self.jobs.values() if job.runs_since is not None)


class History:
    """The same things happen to the queue and to the model."""

    def __init__(self, seed: int, strategy: str) -> None:
        self.chance = Random(seed)  # noqa: S311 - no secret
        self.model = Model(strategy)
        self.stage: Stage = a_stage(
            settings(timestamp=strategy, backoff_limit_count=LIMIT, backoff_max_seconds=None), cpu=str(PLACES)
        )

    def go_on(self) -> None:
        """One thing happens, and then whatever follows from it."""
        often = [self._come, self._come, self._wait, self._wait, self._wait]
        rarely = [self._get_ready, self._end, self._prefer, self._activate, self._deactivate, self._drain]
        happening = self.chance.choice([*often, *rarely])
        happening()
        self.stage.settle()
        self.model.go_on(self.stage.now)
        assert self.stage.admitted() == self.model.running(), happening.__name__

    def _some(self, *, runs: bool | None = None) -> Job | None:
        jobs = [job for job in self.model.jobs.values() if runs is None or (job.runs_since is not None) == runs]
        return self.chance.choice(jobs) if jobs else None

    def _come(self) -> None:
        name = f"j{len(self.stage.workloads())}"
        self.stage.a_job(name)
        for said in self.stage.look().said:
            self.stage.take(said)  # its workload is made
        meta = self.stage.workload(name).metadata
        assert meta.creation_timestamp is not None
        self.model.jobs[name] = Job(name, meta.uid, meta.creation_timestamp)

    def _wait(self) -> None:
        self.stage.now += timedelta(seconds=self.chance.choice([1, 20, 65, 130, 250, 301]))
        while late := [end for begin, end in self.model.doubtful() if begin <= self.stage.now <= end]:
            self.stage.now = max(late) + timedelta(seconds=1)

    def _get_ready(self) -> None:
        if job := self._some(runs=True):
            job.is_ready = True
            self.stage.play_jobs(ready=[job.name], only=[job.name])

    def _end(self) -> None:
        if job := self._some(runs=True):
            del self.model.jobs[job.name]
            self.stage.end(job.name)

    def _prefer(self) -> None:
        if job := self._some(runs=False):
            job.priority = self.chance.randint(0, 2)
            self._change(job, {"priority": job.priority})

    def _activate(self) -> None:
        job = self._some()
        if job is None or job.is_active:
            return
        if job.is_at_limit:
            job.count, job.waits_until, job.is_at_limit = 0, None, False
        job.is_active = True
        self._change(job, {"active": True})

    def _deactivate(self) -> None:
        job = self._some()
        if job is None or not job.is_active:
            return
        if job.runs_since is not None:
            job.stop()
        job.is_active = False
        self._change(job, {"active": False})

    def _drain(self) -> None:
        for policy in ("HoldAndDrain", "None"):
            self.model.is_drained = policy != "None"
            for job in self.model.jobs.values():
                if job.runs_since is not None:
                    job.stop()
            self.stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": policy}})
            self.stage.settle()

    def _change(self, job: Job, spec: dict[str, object]) -> None:
        self.stage.change(WORKLOADS, self.stage.workload(job.name).metadata.name, {"spec": spec})


@profile(max_examples=examples(40))
@given(st.integers(0, 2**32), st.sampled_from(["Eviction", "Creation"]))
def test_over_whole_histories_those_run_whom_the_model_says(seed: int, strategy: str) -> None:
    history = History(seed, strategy)
    for _ in range(60):
        history.go_on()
