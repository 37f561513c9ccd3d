"""Promises of the queue in any order of events, with a decider that sees some objects later than others.

A small cluster lives through whatever is drawn: jobs come, end and get ready, queues are stopped, people activate and
deactivate, workloads are deleted by hand, processes restart. The decider sees each kind of object as it was a few
writes ago, and what it says is done later, in any order, or lost. Then all lag ends, and what must come must come.
"""

from datetime import timedelta

from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from growth.api.action import Action, Hold
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOADS
from growth.api.queue.workload import EVICTED, PODS_READY_TIMEOUT, Workload
from growth.decide.queue.scene import usage_of
from tests.builders import Json
from tests.decide.queue.stage import Id, Stage, settings

QUOTA = 4
LIMIT = 2
JOBS = ("a", "b", "c", "d", "e")

STRATEGIES = st.sampled_from(["StrictFIFO", "BestEffortFIFO"])
TIMESTAMPS = st.sampled_from(["Eviction", "Creation"])


class Life:
    """A stage on which things happen by chance; after each write the promises are looked at."""

    def __init__(self, data: st.DataObject, strategy: str, timestamp: str, *, is_obedient: bool = False) -> None:
        """With obedient people, who create jobs suspended and leave them as they are, no pod ever runs too much."""
        self.draw, self._is_obedient = data.draw, is_obedient
        self.stage = Stage(settings(timestamp=timestamp, backoff_limit_count=LIMIT))
        self.stage.a_flavor()
        self.stage.a_queue(cpu=str(QUOTA), queueingStrategy=strategy)
        self.stage.a_door()
        self.past: list[dict[Id, Json]] = [dict(self.stage.objects)]
        self.under_way: list[Action | Hold] = []
        self.seen_until = {QUEUED_JOBS: 0, WORKLOADS: 0}
        self.made = 0

    def happen(self) -> None:
        match self.draw(st.sampled_from("jjllllttttttccrwqdDax")):
            case "j":
                self._job()
            case "l":
                self._look()
            case "t":
                self._take()
            case "c":
                self._play()
            case "r":
                self.stage.memory, self.under_way = None, []
                self.seen_until = dict.fromkeys(self.seen_until, len(self.past) - 1)
            case "w":
                self.stage.now += timedelta(seconds=self.draw(st.sampled_from([1, 30, 61, 130, 300])))
            case "q":
                policy = self.draw(st.sampled_from(["None", "None", "Hold", "HoldAndDrain"]))
                self.stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": policy}})
            case "d" | "a" as word:
                if workloads := self.stage.workloads():
                    name = self.draw(st.sampled_from(workloads)).metadata.name
                    self.stage.change(WORKLOADS, name, {"spec": {"active": word == "a"}})
            case "D":
                waiting = [one for one in self.stage.workloads() if not one.is_reserving]
                if waiting:
                    self.stage.drop(WORKLOADS, self.draw(st.sampled_from(waiting)).metadata.name)
            case _:
                self._edit()
        self.remember()

    def remember(self) -> None:
        if self.past[-1] != self.stage.objects:
            self.past.append(dict(self.stage.objects))
            self.check()

    def _job(self) -> None:
        if self.made < len(JOBS):
            pods, cpu = self.draw(st.integers(1, 2)), self.draw(st.sampled_from(["1", "2"]))
            self.stage.a_job(
                JOBS[self.made], cpu=cpu, parallelism=pods, suspend=self._is_obedient or self.draw(st.booleans())
            )
            self.made += 1

    def _edit(self) -> None:
        if self.made and not self._is_obedient:
            name = self.draw(st.sampled_from(JOBS[: self.made]))
            self.stage.change(QUEUED_JOBS, name, {"spec": {"parallelism": self.draw(st.integers(1, 2))}})

    def _look(self) -> None:
        """Jobs and workloads are seen late, each by its own watch, but never backwards; the rest at once."""
        for kind, known in self.seen_until.items():
            self.seen_until[kind] = self.draw(st.integers(max(known, len(self.past) - 6), len(self.past) - 1))
        seen = {key: one for key, one in self.stage.objects.items() if key[0] not in self.seen_until}
        for kind, instant in self.seen_until.items():
            seen |= {key: one for key, one in self.past[instant].items() if key[0] is kind}
        self.under_way = [*self.under_way, *self.stage.look(seen).said][-12:]

    def _take(self) -> None:
        if self.under_way:
            said = self.under_way.pop(self.draw(st.integers(0, len(self.under_way) - 1)))
            self.stage.take(said)

    def _play(self) -> None:
        some = self.draw(st.sets(st.sampled_from(JOBS)))
        self.stage.play_jobs(ready=some)
        running = self.stage.running()
        if running and self.draw(st.integers(0, 5)) == 0:
            self.stage.end(self.draw(st.sampled_from(running)))

    def check(self) -> None:
        """Safety: whatever was seen late, lost or done in another order."""
        used = sum(sum(usage_of(one).values()) for one in self.stage.workloads() if one.is_reserving)
        assert used <= QUOTA * 1000, "quota is exceeded"
        if self._is_obedient:
            assert sum(map(self._cpus, JOBS[: self.made])) <= QUOTA, "pods use more than there is quota"
        for workload in self.stage.workloads():
            state = workload.status.requeue_state
            assert state is None or (state.count or 0) <= LIMIT, "it was put back more often than it may be"

    def _cpus(self, job: str) -> int:
        (container,) = self.stage.objects[QUEUED_JOBS, "default", job]["spec"]["template"]["spec"]["containers"]
        return self.stage.job(job).status.active * int(container["resources"]["requests"]["cpu"])

    def calm_down(self) -> None:
        """All is seen, done and ready at once from now on."""
        self.stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "None"}})
        for workload in self.stage.workloads():
            self.stage.change(WORKLOADS, workload.metadata.name, {"spec": {"active": True}})
        self.stage.settle()
        self.remember()


@profile(max_examples=60)
@given(st.data(), STRATEGIES, TIMESTAMPS, st.booleans())
def test_quota_is_never_exceeded_and_the_count_never_above_the_limit(
    data: st.DataObject,
    strategy: str,
    timestamp: str,
    is_obedient: bool,  # noqa: FBT001
) -> None:
    life = Life(data, strategy, timestamp, is_obedient=is_obedient)
    for _ in range(data.draw(st.integers(0, 60))):
        life.happen()


@profile(max_examples=40)
@given(st.data(), STRATEGIES, TIMESTAMPS)
def test_no_job_is_lost(data: st.DataObject, strategy: str, timestamp: str) -> None:
    """However the cluster lived: once it is calm, each job that can be served is, one after the other."""
    life = Life(data, strategy, timestamp)
    for _ in range(data.draw(st.integers(0, 40))):
        life.happen()
    stage = life.stage
    for _ in range(3 * len(JOBS) + 3):
        life.calm_down()
        stage.play_jobs(ready=JOBS)
        stage.settle()
        for name in stage.running():
            stage.end(name)
        stage.settle()
        stage.now += timedelta(hours=2)
    assert [name for name in JOBS[: life.made] if stage.job(name).ended is None] == []


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


@profile(max_examples=60)
@given(WISHES, STRATEGIES, TIMESTAMPS)
def test_the_order_is_as_a_simple_model_says(wishes: list[tuple[int, int]], strategy: str, timestamp: str) -> None:
    stage = a_line(wishes, strategy, timestamp)
    workloads = [stage.workload(f"j{number}") for number in range(len(wishes))]
    stage.settle()
    assert stage.admitted() == model(wishes, workloads, strategy, timestamp)


@profile(max_examples=30)
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
