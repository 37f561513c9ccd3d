"""Promises of the queue in any order of events, with a decider that sees some objects later than others.

A small cluster lives through whatever is drawn: jobs come, end and get ready, queues are stopped, people activate and
deactivate, workloads are deleted by hand, processes restart. The decider sees each kind of object as it was a few
writes ago, and what it says is done later, in any order, or lost. Then all lag ends, and what must come must come.
"""

from datetime import timedelta

from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from growth.api.queue.workload import EVICTED, PODS_READY_TIMEOUT, Workload
from growth.decide.queue.held_quota import usage_of
from tests.decide.queue.lives import Life
from tests.decide.queue.stage import Stage, settings
from tests.drawing import examples

QUOTA = 4
LIMIT = 2
JOBS = ("a", "b", "c", "d", "e")

HAPPENINGS = {
    "job": 3,
    "pass": 12,
    "play": 6,
    "leave": 3,
    "restart": 1,
    "wait": 3,
    "stop": 2,
    "activate": 1,
    "deactivate": 2,
    "delete": 1,
    "prefer": 2,
    "edit": 1,
}
"""What may happen, and how often beside the others."""

SEEDS = st.integers(0, 2**32)
STRATEGIES = st.sampled_from(["StrictFIFO", "BestEffortFIFO"])
TIMESTAMPS = st.sampled_from(["Eviction", "Creation"])


class OneQueue(Life):
    """Jobs of two doors in one queue."""

    def __init__(self, seed: int, strategy: str, timestamp: str, *, is_obedient: bool = False) -> None:
        """With obedient people, who create jobs suspended and leave them as they are, no pod ever runs too much."""
        stage = Stage(settings(timestamp=timestamp, backoff_limit_count=LIMIT))
        stage.a_flavor()
        stage.a_queue(cpu=str(QUOTA), queueingStrategy=strategy)
        stage.a_door()
        stage.a_door("second")
        super().__init__(seed, stage, JOBS, HAPPENINGS)
        self._is_obedient = is_obedient

    def happen(self, word: str) -> None:
        match word:
            case "job":
                self._job()
            case "wait":
                self.stage.now += timedelta(seconds=self.chance.choice([1, 30, 61, 130, 300]))
            case "stop":
                kind, name = self.chance.choice([(CLUSTER_QUEUES, "all"), (LOCAL_QUEUES, "door")])
                policy = self.chance.choice(["None", "None", "Hold", "HoldAndDrain"])
                self.stage.change(kind, name, {"spec": {"stopPolicy": policy}})
            case "edit":
                self._edit()
            case "activate" | "deactivate" | "delete" | "prefer":
                if workloads := self.stage.workloads():
                    self._touch(word, self.chance.choice(workloads))
            case _:
                super().happen(word)

    def _touch(self, word: str, workload: Workload) -> None:
        """A person does something to a workload."""
        name = workload.metadata.name
        if word == "prefer":
            self.stage.change(WORKLOADS, name, {"spec": {"priority": self.chance.randint(0, 9)}})
        elif word != "delete":
            self.stage.change(WORKLOADS, name, {"spec": {"active": word == "activate"}})
        elif not workload.is_reserving:
            self.stage.drop(WORKLOADS, name)

    def _job(self) -> None:
        if self.made < len(JOBS):
            pods, cpu, local_queue = (
                self.chance.randint(1, 2),
                self.chance.choice("12"),
                self.chance.choice(["door", "second"]),
            )
            suspend = self._is_obedient or self.chance.random() < 0.5
            self.stage.a_job(JOBS[self.made], cpu=cpu, parallelism=pods, suspend=suspend, local_queue=local_queue)
            self.made += 1

    def _edit(self) -> None:
        if self.made and not self._is_obedient:
            name = self.chance.choice(self.jobs)
            self.stage.change(QUEUED_JOBS, name, {"spec": {"parallelism": self.chance.randint(1, 2)}})

    def check(self) -> None:
        used = sum(sum(usage_of(one).values()) for one in self.stage.workloads() if one.is_reserving)
        assert used <= QUOTA * 1000, "quota is exceeded"
        if self._is_obedient:
            assert sum(map(self._cpus, self.jobs)) <= QUOTA, "pods use more than there is quota"
        for workload in self.stage.workloads():
            state = workload.status.requeue_state
            assert state is None or (state.count or 0) <= LIMIT, "it was put back more often than it may be"

    def _cpus(self, job: str) -> int:
        (container,) = self.stage.objects[QUEUED_JOBS, "default", job]["spec"]["template"]["spec"]["containers"]
        status = self.stage.job(job).status
        return (status.active + status.terminating) * int(container["resources"]["requests"]["cpu"])

    def calm_down(self) -> None:
        for kind, name in ((CLUSTER_QUEUES, "all"), (LOCAL_QUEUES, "door")):
            self.stage.change(kind, name, {"spec": {"stopPolicy": "None"}})
        for workload in self.stage.workloads():
            self.stage.change(WORKLOADS, workload.metadata.name, {"spec": {"active": True}})
        super().calm_down()


@profile(max_examples=examples(120))
@given(SEEDS, STRATEGIES, TIMESTAMPS, st.booleans())
def test_quota_is_never_exceeded_and_the_count_never_above_the_limit(
    seed: int,
    strategy: str,
    timestamp: str,
    is_obedient: bool,  # noqa: FBT001
) -> None:
    OneQueue(seed, strategy, timestamp, is_obedient=is_obedient).live(80)


@profile(max_examples=examples(20))
@given(SEEDS, STRATEGIES, TIMESTAMPS)
def test_no_job_is_lost(seed: int, strategy: str, timestamp: str) -> None:
    """However the cluster lived: once it is calm, each job that can be served is, one after the other."""
    life = OneQueue(seed, strategy, timestamp)
    life.live(50)
    stage = life.stage
    for _ in range(3 * len(JOBS) + 3):
        life.calm_down()
        stage.play_jobs(ready=JOBS)
        stage.settle()
        for name in stage.running():
            stage.end(name)
        stage.settle()
        stage.now += timedelta(hours=2)
    assert [name for name in life.jobs if stage.job(name).ended is None] == []


WISHES = st.lists(st.tuples(st.integers(0, 2), st.integers(1, QUOTA + 1)), min_size=1, max_size=6)


def a_line(wishes: list[tuple[int, int]], strategy: str, timestamp: str) -> Stage:
    """Jobs with these priorities and cpus, all waiting; half of them were evicted, the first one last."""
    stage = Stage(settings(timestamp=timestamp))
    stage.a_flavor()
    stage.a_queue(cpu=str(QUOTA), queueingStrategy=strategy)
    stage.a_door()
    for number, (_, cpu) in enumerate(wishes):
        stage.a_job(f"j{number}", cpu=str(cpu))
    for said in stage.look().said:
        stage.take(said)
    for number, (priority, _) in enumerate(wishes):
        at = (stage.now - timedelta(minutes=10 + number)).isoformat()
        evicted = {"type": EVICTED, "status": "True", "reason": PODS_READY_TIMEOUT, "lastTransitionTime": at}
        status = {"conditions": [evicted]} if number % 2 else {}
        name = stage.workload(f"j{number}").metadata.name
        stage.change(WORKLOADS, name, {"spec": {"priority": priority}, "status": status})
    return stage


def model(wishes: list[tuple[int, int]], workloads: list[Workload], strategy: str, timestamp: str) -> list[str]:
    """Who is admitted, said as simply as possible."""

    def place(number: int) -> tuple[int, object]:
        evicted = workloads[number].condition(EVICTED)
        created = workloads[number].metadata.creation_timestamp
        is_back = evicted is not None and timestamp == "Eviction"
        return -wishes[number][0], evicted.last_transition_time if evicted is not None and is_back else created

    left, admitted = QUOTA, list[str]()
    for number in sorted(range(len(wishes)), key=place):
        if wishes[number][1] <= left:
            left -= wishes[number][1]
            admitted.append(f"j{number}")
        elif strategy == "StrictFIFO":
            break
    return sorted(admitted)


@profile(max_examples=examples(60))
@given(WISHES, STRATEGIES, TIMESTAMPS)
def test_the_order_is_as_a_simple_model_says(wishes: list[tuple[int, int]], strategy: str, timestamp: str) -> None:
    stage = a_line(wishes, strategy, timestamp)
    workloads = [stage.workload(f"j{number}") for number in range(len(wishes))]
    stage.settle()
    assert stage.admitted() == model(wishes, workloads, strategy, timestamp)


@profile(max_examples=examples(30))
@given(st.lists(st.integers(1, QUOTA), min_size=2, max_size=5), st.integers(0, 3))
def test_the_head_of_a_strict_queue_is_served_before_whoever_comes_later(cpus: list[int], late: int) -> None:
    """Small ones come for ever; the large one in front gets its quota when those before it have ended."""
    stage = Stage()
    stage.a_flavor()
    stage.a_queue(cpu=str(QUOTA), queueingStrategy="StrictFIFO")
    stage.a_door()
    for number, cpu in enumerate(cpus):
        stage.a_job(f"j{number}", cpu=str(cpu))
        stage.settle()
    order = list[str]()
    for turn in range(len(cpus) + late):
        stage.a_job(f"late{turn}")
        stage.settle()
        order += [name for name in stage.admitted() if name not in order]
        for name in stage.admitted()[:1]:
            stage.end(name)
        stage.settle()
        order += [name for name in stage.admitted() if name not in order]
    firsts = [name for name in order if name.startswith("j")]
    places = [int(name[1:]) for name in firsts]
    assert sorted(places) == list(range(len(places))), "nobody overtakes"
    assert [name.startswith("late") for name in order] == sorted(name.startswith("late") for name in order)
