"""Promises of cohorts and preemption in any order of events: quota, one's own, an end to preemption, nobody lost."""

from collections import Counter
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOAD_PRIORITY_CLASSES
from growth.api.queue.workload import EVICTED, PRIORITY_CLASS
from tests.decide.queue.cohort_lives import MOST_JOBS, Cohorts
from tests.decide.queue.cohort_tree import Node, Queue, Quota, Work
from tests.decide.queue.cohort_worlds import GROUPS, put_tree, put_work
from tests.decide.queue.stage import NOW, Stage, settings

CPU = ("red", "cpu")
BOTH = ((("cpu", "example.com/gpu"), ("red",)),)
SEEDS = st.integers(0, 2**32)
TIMESTAMPS = st.sampled_from(["Eviction", "Creation"])
TO_SEND_BACK, TO_GO_AND_COME = 3, 3
"""Passes that it takes."""
MOST_OFTEN = 2
"""How often somebody is sent back for one thing that happened."""
MOST_AN_HOUR = 20
"""How often in an hour in which something happens every minute (``test_set_properties``)."""


@pytest.mark.parametrize("is_strict", [False, True])
def test_who_was_sent_back_does_not_come_back_before_the_one_for_whom_it_was(is_strict: bool) -> None:  # noqa: FBT001
    """The preemptor has to borrow from the whole company, the preempted one only within its department. Were that still
    asked when its place is free, it would get it again, and be sent back again, for ever."""
    company = Node("company", None, {CPU: Quota(2)})
    department = Node("department", company, {CPU: Quota(4)})
    first = Queue("first", department, {CPU: Quota(6)}, GROUPS[1], reclaim="LowerPriority", borrows=True)
    first.is_strict = is_strict
    second = Queue("second", department, {CPU: Quota(0)}, GROUPS[1])
    stage = Stage(settings(wait=False))
    put_tree(stage, [company, department, first, second])
    put_work(stage, Work("highest", "1", first, 9, NOW, ({"cpu": 6},)))
    put_work(stage, Work("low", "2", second, 0, NOW, ({"cpu": 4},)))
    stage.settle()
    assert stage.admitted() == ["highest", "low"]
    put_work(stage, Work("high", "3", first, 5, NOW, ({"cpu": 6},)))
    stage.settle()
    assert stage.admitted() == ["high", "highest"]


def nobody_was_sent_back(stage: Stage) -> bool:
    """Nor was anybody who is back again."""
    return all(one.condition(EVICTED) is None for one in stage.workloads())


def test_who_borrows_takes_from_nobody_what_is_its_own_and_would_be_taken_back() -> None:
    """The other queue uses more cpu than its own, and of gpus less. For a large one that borrows both, small would have
    to go, too, for its gpu; it would take that back, for it is its queue's own."""
    cpu, gpu = ("red", "cpu"), ("red", "example.com/gpu")
    company = Node("company")
    first = Queue("first", company, {cpu: Quota(8), gpu: Quota(2)}, BOTH, reclaim="LowerPriority", borrows=True)
    second = Queue("second", company, {cpu: Quota(1), gpu: Quota(2)}, BOTH, reclaim="Any")
    stage = Stage(settings(wait=False))
    put_tree(stage, [company, first, second])
    put_work(stage, Work("wide", "1", second, 1, NOW, ({"cpu": 7},)))
    put_work(stage, Work("small", "2", second, 0, NOW, ({"cpu": 1, "example.com/gpu": 1},)))
    stage.settle()
    put_work(stage, Work("large", "3", first, 3, NOW, ({"cpu": 5, "example.com/gpu": 4},)))
    stage.settle()
    assert stage.admitted() == ["small", "wide"]
    assert nobody_was_sent_back(stage)


def test_who_borrows_sends_back_nobody_who_would_have_a_right_to_come_back() -> None:
    """The other queue borrows three. Were both of its newer ones sent back for the large one, that one of them that is
    within the queue's own would send back the large one, and the other one would borrow again."""
    company = Node("company")
    first = Queue("first", company, {CPU: Quota(3)}, GROUPS[1], reclaim="Any", borrows=True)
    second = Queue("second", company, {CPU: Quota(4)}, GROUPS[1], reclaim="Any")
    stage = Stage(settings(wait=False))
    put_tree(stage, [company, first, second])
    put_work(stage, Work("kept", "1", second, 3, NOW, ({"cpu": 2},)))
    put_work(stage, Work("own", "2", second, 1, NOW, ({"cpu": 2},)))
    put_work(stage, Work("borrowed", "3", second, 1, NOW, ({"cpu": 3},)))
    stage.settle()
    put_work(stage, Work("large", "4", first, 3, NOW, ({"cpu": 5},)))
    stage.settle()
    assert stage.admitted() == ["borrowed", "kept", "own"]
    assert nobody_was_sent_back(stage)


def where_low_has_everything() -> tuple[Stage, Queue]:
    """Work of another queue holds all that there is; the queue may take it to borrow it."""
    company = Node("company", None, {CPU: Quota(4)})
    first = Queue("first", company, {CPU: Quota(1)}, GROUPS[1], reclaim="LowerPriority", borrows=True)
    second = Queue("second", company, {CPU: Quota(1)}, GROUPS[1])
    stage = Stage(settings(wait=False))
    put_tree(stage, [company, first, second])
    put_work(stage, Work("low", "1", second, 0, NOW, ({"cpu": 4},)))
    stage.settle()
    return stage, first


@pytest.mark.parametrize(("was_sent_back", "admitted"), [(False, ["high"]), (True, ["low"])])
def test_who_was_sent_back_takes_nothing_to_borrow_it(was_sent_back: bool, admitted: list[str]) -> None:  # noqa: FBT001
    stage, first = where_low_has_everything()
    put_work(stage, Work("high", "2", first, 5, NOW, ({"cpu": 4},), was_sent_back=was_sent_back))
    stage.settle()
    assert stage.admitted() == admitted


def test_who_was_sent_back_does_not_speak_for_others_who_want_the_same() -> None:
    stage, first = where_low_has_everything()
    put_work(stage, Work("before", "2", first, 5, NOW, ({"cpu": 4},), was_sent_back=True))
    put_work(stage, Work("behind", "3", first, 5, NOW, ({"cpu": 4},)))
    stage.settle()
    assert stage.admitted() == ["behind"]


def test_preempted_workload_does_not_return_while_one_before_the_preemptor_has_to_borrow_further() -> None:
    """The large one is more important than the preemptor and fits nowhere. It has to borrow from the company, the
    preempted one only within the department: were it asked first, it would return, and be preempted again, forever."""
    company = Node("company", None, {CPU: Quota(1)})
    department = Node("department", company)
    own = Queue("own", department, {CPU: Quota(2)}, GROUPS[1], reclaim="Any", borrows=True)
    other = Queue("other", department, {CPU: Quota(0)}, GROUPS[1])
    third = Queue("third", company, {CPU: Quota(0)}, GROUPS[1])
    stage = Stage(settings(wait=False))
    put_tree(stage, [company, department, own, other, third])
    put_work(stage, Work("far", "1", third, 9, NOW, ({"cpu": 1},)))
    put_work(stage, Work("borrower", "2", other, 5, NOW, ({"cpu": 2},)))
    stage.settle()
    put_work(stage, Work("large", "3", own, 9, NOW, ({"cpu": 3},)))
    put_work(stage, Work("mine", "4", own, 0, NOW, ({"cpu": 2},)))
    stage.settle()
    assert stage.admitted() == ["far", "mine"]


def live(seed: int, timestamp: str, *, is_shrinking: bool) -> None:
    Cohorts(seed, timestamp, is_shrinking=is_shrinking).live(90)


@profile(max_examples=6)
@given(SEEDS, TIMESTAMPS, st.booleans())
def test_nobody_is_admitted_beyond_what_its_queue_may_have(seed: int, timestamp: str, is_shrinking: bool) -> None:  # noqa: FBT001
    """Neither its queue, nor any cohort above it, uses more than it may at any instant: whatever is seen late, done in
    another order, lost or forgotten. Where quota is taken away nobody is sent back, and nobody comes in addition."""
    live(seed, timestamp, is_shrinking=is_shrinking)


@pytest.mark.long
@profile(max_examples=150)
@given(SEEDS, TIMESTAMPS, st.booleans())
def test_the_same_in_many_more_lives(seed: int, timestamp: str, is_shrinking: bool) -> None:  # noqa: FBT001
    live(seed, timestamp, is_shrinking=is_shrinking)


def a_full_house(seed: int, timestamp: str, jobs: int, more: int = 0, *, preemptors_first: bool = False) -> Cohorts:
    """So many jobs have come, and some more may; nobody waits for readiness, all is seen at once."""
    life = Cohorts(seed, timestamp, waits=False, most=jobs + more, preemptors_first=preemptors_first)
    for number in range(jobs):
        life.come()
        if number % 3 == 2:
            life.come_to_rest()
    life.come_to_rest()
    return life


def take_back(seed: int, timestamp: str) -> None:
    life = a_full_house(seed, timestamp, MOST_JOBS)
    stage, name = life.stage, life.chance.choice(life.queues).name
    stage.change(CLUSTER_QUEUES, name, {"spec": {"preemption": {"reclaimWithinCohort": "Any"}}})
    # Others of the queue take back what they can.
    life.come_to_rest()
    (owned,) = [life.own_left(queue) for queue in life.queues if queue.name == name]
    left = max(owned.values())
    if left <= 0:
        return
    stage.put(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": "first"}, "value": 9})
    amount = life.chance.randint(1, left)
    stage.a_job("mine", cpu=f"{amount}m", local_queue=name, labels={PRIORITY_CLASS: "first"})
    late = [job for job in life.jobs if life.chance.random() < 0.5]
    for _ in range(TO_SEND_BACK + life.chance.randint(0, 5)):
        life.one_pass(late)
    for _ in range(TO_GO_AND_COME):
        life.one_pass()
    assert "mine" in stage.admitted()


@profile(max_examples=8)
@given(SEEDS, TIMESTAMPS)
def test_what_is_a_queues_own_is_taken_back(seed: int, timestamp: str) -> None:
    """With reclaimWithinCohort Any the head of a queue gets what it asks for, if that is no more than is left of the
    queue's own: two passes until it is known and others are sent back, one to stop their jobs; then, as soon as the
    last pod is gone, one pass to free their quota, one to give it, and one more for what came between."""
    take_back(seed, timestamp)


@pytest.mark.long
@profile(max_examples=200)
@given(SEEDS, TIMESTAMPS)
def test_the_same_of_many_more_queues(seed: int, timestamp: str) -> None:
    take_back(seed, timestamp)


def keep_coming(seed: int, timestamp: str, minutes: int, *, preemptors_first: bool) -> None:
    life = a_full_house(seed, timestamp, 8, more=minutes, preemptors_first=preemptors_first)
    in_all = Counter[str]()
    for _ in range(minutes):
        running = sorted(set(life.stage.running()) & set(life.jobs))
        if running and life.chance.random() < 0.7:
            life.replace(life.chance.choice(running))
        elif life.jobs:
            life.prefer()
        sent_back = life.come_to_rest()
        victims = Counter(victim for victim, _ in sent_back)
        assert max(victims.values(), default=0) <= MOST_OFTEN, f"sent back again and again: {sent_back}"
        in_all += victims
        life.stage.now += timedelta(minutes=1)
        assert life.come_to_rest() == [], "somebody is sent back though nothing has happened"
    assert max(in_all.values(), default=0) <= MOST_AN_HOUR, f"sent back too often in an hour: {in_all}"


@profile(max_examples=4)
@given(SEEDS, TIMESTAMPS, st.booleans())
def test_preemption_comes_to_an_end(seed: int, timestamp: str, preemptors_first: bool) -> None:  # noqa: FBT001
    """The bound: whatever happens (a job ends and another one comes, a priority changes), all is at rest within 30
    passes, and nobody was sent back more than twice by then (twice: whoever it made room for was overtaken by somebody
    with a right to it). So no two go back and forth, and nobody is preempted more than twice as often as something
    happens in its tree; and not once while nothing happens. In an hour with one thing a minute nobody is preempted
    more than 20 times."""
    keep_coming(seed, timestamp, 12, preemptors_first=preemptors_first)


@pytest.mark.long
@profile(max_examples=30)
@given(SEEDS, TIMESTAMPS, st.booleans())
def test_preemption_comes_to_an_end_all_day_long(seed: int, timestamp: str, preemptors_first: bool) -> None:  # noqa: FBT001
    keep_coming(seed, timestamp, 60, preemptors_first=preemptors_first)


@pytest.mark.long
@pytest.mark.parametrize("preemptors_first", [False, True])
def test_a_circle_of_four_ends(preemptors_first: bool) -> None:  # noqa: FBT001
    """By Kueue's rules each of four sends back the next, for ever: the older one the newer one of its queue, somebody
    who wants to borrow that older and less important one, the newer one by right whoever borrows most lately, and that
    one the less important one of its queue."""
    keep_coming(118948, "Eviction", 60, preemptors_first=preemptors_first)


def live_and_end(seed: int, timestamp: str) -> None:
    life = Cohorts(seed, timestamp, is_modest=True)
    life.live(60)
    stage = life.stage
    for name in life.jobs:
        stage.change(QUEUED_JOBS, name, {"status": {"terminating": 0}})
    for _ in range(MOST_JOBS + 3):
        life.come_to_rest()
        for name in stage.running():
            stage.end(name)
        life.come_to_rest()
        if all(stage.job(name).ended is not None for name in life.jobs):
            return
        stage.now += timedelta(hours=2)
    raise AssertionError([name for name in life.jobs if stage.job(name).ended is None])


@profile(max_examples=6)
@given(SEEDS, TIMESTAMPS)
def test_nobody_is_lost_in_a_cohort(seed: int, timestamp: str) -> None:
    """However it lived: once it is calm, each job that can be served is, one after the other. The bound: as many rounds
    as there are jobs, and a few for backoffs."""
    live_and_end(seed, timestamp)


@pytest.mark.long
@profile(max_examples=100)
@given(SEEDS, TIMESTAMPS)
def test_nobody_is_lost_in_many_more_cohorts(seed: int, timestamp: str) -> None:
    live_and_end(seed, timestamp)
