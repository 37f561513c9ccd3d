"""Somebody more important comes: who has to go, goes; who waits for it, gets it; nobody goes back and forth."""

from typing import Any

import pytest

from growth.api.queue.kinds import WORKLOAD_PRIORITY_CLASSES
from growth.api.queue.workload import (
    EVICTED,
    PREEMPTED,
    PRIORITY_CLASS,
    QUOTA_RESERVED,
    REQUEUED,
    WAITS_FOR_PREEMPTED,
)
from tests.decide.queue.stage import Stage, a_stage, settings

BY_PRIORITY = {"withinClusterQueue": "LowerPriority"}
RECLAIMING = {"reclaimWithinCohort": "Any"}


def a_class(stage: Stage, name: str, value: int) -> None:
    stage.put(WORKLOAD_PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})


def an_important_job(stage: Stage, name: str, **job: Any) -> None:  # noqa: ANN401
    stage.a_job(name, labels={PRIORITY_CLASS: "high"}, **job)


def a_stage_with_one_running(**spec: Any) -> Stage:  # noqa: ANN401
    stage = a_stage(**spec)
    a_class(stage, "high", 100)
    stage.a_job("low")
    stage.settle()
    assert stage.running() == ["low"]
    return stage


def test_who_is_more_important_gets_the_place_and_gives_it_back() -> None:
    stage = a_stage_with_one_running(preemption=BY_PRIORITY)
    an_important_job(stage, "high")
    stage.settle()
    assert (stage.running(), stage.admitted()) == (["high"], ["high"])
    assert stage.says("low", EVICTED) == ("True", "Preempted")
    assert stage.says("low", PREEMPTED) == ("True", "InClusterQueue")
    assert stage.says("low", REQUEUED)[0] == "True"
    stage.end("high")
    stage.settle()
    assert stage.admitted() == ["low"]
    assert stage.says("low", PREEMPTED) == ("False", "QuotaReserved")


def test_nobody_is_sent_back_where_the_queue_does_not_say_so() -> None:
    stage = a_stage_with_one_running()
    an_important_job(stage, "high")
    stage.settle()
    assert stage.running() == ["low"]
    assert stage.says("high", QUOTA_RESERVED) == ("False", "WaitingForQuota")


def test_the_place_is_given_only_when_the_pods_that_had_it_are_gone() -> None:
    stage = a_stage_with_one_running(preemption=BY_PRIORITY)
    an_important_job(stage, "high")
    stage.settle(jobs=False)
    assert stage.admitted() == ["low"]
    assert stage.says("high", QUOTA_RESERVED) == ("False", "WaitingForPreemptedWorkloads")
    stage.settle()
    assert stage.running() == ["high"]


def test_what_is_waited_for_goes_to_nobody_else() -> None:
    stage = a_stage(cpu="2", preemption=BY_PRIORITY)
    a_class(stage, "high", 100)
    stage.a_job("low", cpu="1")
    stage.settle()
    an_important_job(stage, "high", cpu="2")
    stage.a_job("small", cpu="1")
    stage.settle(jobs=False)
    assert stage.admitted() == ["low"]
    stage.settle()
    assert stage.running() == ["high"]


def history_of_a_newcomer(*, preemptors_first: bool) -> Stage:
    """``mine`` has preempted ``low``, whose pods are still there when ``newcomer`` comes, which is more important."""
    stage = a_stage(settings(preemptors_first=preemptors_first), preemption=BY_PRIORITY)
    a_class(stage, "high", 100)
    a_class(stage, "higher", 200)
    stage.a_job("low")
    stage.settle()
    an_important_job(stage, "mine")
    stage.settle(jobs=False)
    assert stage.says("mine", QUOTA_RESERVED) == ("False", WAITS_FOR_PREEMPTED)
    stage.a_job("newcomer", labels={PRIORITY_CLASS: "higher"})
    stage.settle(jobs=False)
    assert stage.admitted() == ["low"]
    stage.settle()
    return stage


def evictions(stage: Stage) -> dict[str, int]:
    """Of each job."""
    found = {name: stage.workload(name).status.scheduling_stats for name in ("low", "mine", "newcomer")}
    return {
        name: sum(one.count for one in stats.evictions) if stats is not None else 0 for name, stats in found.items()
    }


def test_newcomer_starts_before_waiting_preemptor_of_lower_priority() -> None:
    stage = history_of_a_newcomer(preemptors_first=False)
    assert stage.running() == ["newcomer"]
    assert stage.says("mine", QUOTA_RESERVED) == ("False", "WaitingForQuota")
    stage.a_job("later")
    stage.end("newcomer")
    stage.settle()
    assert stage.admitted() == ["mine"]
    assert evictions(stage) == {"low": 1, "mine": 0, "newcomer": 0}


def test_waiting_preemptor_starts_before_newcomer_when_set() -> None:
    """As in Kueue: it starts, and is preempted by the more important one."""
    stage = history_of_a_newcomer(preemptors_first=True)
    assert stage.running() == ["newcomer"]
    assert evictions(stage) == {"low": 1, "mine": 1, "newcomer": 0}


@pytest.mark.parametrize("preemptors_first", [False, True])
def test_waiting_preemptor_starts_before_older_ones_of_its_priority(preemptors_first: bool) -> None:  # noqa: FBT001
    """The older one asks for more than it may take, and would get it as soon as another job ends."""
    stage = a_stage(settings(preemptors_first=preemptors_first), cpu="3", preemption=BY_PRIORITY)
    a_class(stage, "high", 100)
    an_important_job(stage, "kept", cpu="1")
    stage.a_job("low", cpu="2")
    stage.settle()
    an_important_job(stage, "older", cpu="3")
    stage.settle()
    an_important_job(stage, "mine", cpu="2")
    stage.settle(jobs=False)
    assert stage.says("mine", QUOTA_RESERVED) == ("False", WAITS_FOR_PREEMPTED)
    stage.end("kept")
    stage.settle()
    assert stage.admitted() == ["mine"]


def test_no_more_are_sent_back_while_it_is_not_seen_that_some_are() -> None:
    stage = a_stage(cpu="2", preemption=BY_PRIORITY)
    a_class(stage, "high", 100)
    stage.a_job("first")
    stage.a_job("second")
    stage.settle()
    an_important_job(stage, "high")
    stage.settle(jobs=False)
    before = dict(stage.objects)
    stage.look(before)
    stage.look(before)
    stage.settle()
    assert len(stage.running()) == 2
    assert "high" in stage.running()


def a_cohort(timestamp: str = "Eviction") -> Stage:
    stage = Stage(settings(wait=False, timestamp=timestamp))
    a_class(stage, "high", 100)
    stage.a_flavor()
    for name in ("one", "two"):
        stage.a_queue(name, cpu="1", cohortName="team", preemption=RECLAIMING)
        stage.a_door(f"door-{name}", name)
    return stage


@pytest.mark.parametrize("timestamp", ["Eviction", "Creation"])
def test_a_queue_takes_back_its_own_and_nobody_goes_back_and_forth(timestamp: str) -> None:
    """The seed's test: whoever was sent back is older and more important, and yet does not come back before the one for
    whom it was sent back."""
    stage = a_cohort(timestamp)
    for name in ("first", "second"):
        an_important_job(stage, name, local_queue="door-two")
        stage.wait(1)
    assert stage.running() == ["first", "second"]
    stage.a_job("mine", local_queue="door-one")
    stage.settle()
    assert stage.running() == ["first", "mine"]
    assert stage.says("second", PREEMPTED) == ("True", "InCohortReclamation")
    evicted_at = stage.workload("second").condition(EVICTED)
    for _ in range(5):
        stage.wait(60)
    assert stage.running() == ["first", "mine"]
    assert stage.workload("second").condition(EVICTED) == evicted_at


def test_a_preempted_workload_has_no_backoff_and_keeps_its_place() -> None:
    stage = a_stage_with_one_running(preemption=BY_PRIORITY)
    an_important_job(stage, "high")
    stage.a_job("later")
    stage.settle()
    stage.end("high")
    stage.settle()
    assert stage.admitted() == ["low"]
    assert stage.workload("low").status.requeue_state is None


def test_what_is_free_of_a_strict_queues_own_is_kept_for_its_head() -> None:
    """Two of its three are lent, and cannot be taken back: the third one is not lent, too."""
    stage = Stage(settings(wait=False))
    stage.a_flavor()
    stage.a_queue("strict", cpu="3", cohortName="team", queueingStrategy="StrictFIFO")
    stage.a_queue("other", cpu="0", cohortName="team")
    stage.a_door("door-strict", "strict")
    stage.a_door("door-other", "other")
    for name in ("first", "second"):
        stage.a_job(name, local_queue="door-other")
    stage.settle()
    stage.a_job("large", cpu="3", local_queue="door-strict")
    stage.settle()
    stage.a_job("third", local_queue="door-other")
    stage.settle()
    assert stage.running() == ["first", "second"]
    stage.end("first")
    stage.end("second")
    stage.settle()
    assert stage.admitted() == ["large"]
