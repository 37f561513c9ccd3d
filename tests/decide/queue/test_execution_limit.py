"""How long a workload may run, and what counts."""

from datetime import timedelta

import pytest

from growth.api.actions import Hold, RecordEvent
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOADS
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    MAX_EXECUTION_TIME,
    REQUEUED,
    EvictionCount,
)
from growth.api.settings.model import Settings
from tests.decide.queue.stage import Stage, a_stage, settings


def limited(seconds: str = "600", *, wait: bool = False) -> Stage:
    """A job that runs and may do so for a while."""
    stage = a_stage(settings(wait=wait))
    stage.a_job("one", labels={MAX_EXECUTION_TIME: seconds})
    stage.settle()
    return stage


def drain(stage: Stage, policy: str) -> None:
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": policy}})
    stage.settle()


def spent(stage: Stage) -> int | None:
    return stage.workload("one").status.accumulated_past_execution_time_seconds


def test_the_label_of_a_job_says_how_long_its_workload_may_run() -> None:
    assert limited().workload("one").spec.maximum_execution_time_seconds == 600


def test_whose_time_is_over_is_deactivated_at_the_second() -> None:
    stage = limited()
    stage.wait(598)
    assert stage.running() == ["one"]
    assert stage.wake_at is not None
    stage.now = stage.wake_at
    stage.settle()
    assert stage.running() == []
    assert not stage.workload("one").spec.active
    assert stage.says("one", DEACTIVATION_TARGET) == ("True", "MaximumExecutionTimeExceeded")
    assert stage.says("one", EVICTED) == ("True", "WorkloadInactive")
    stats = stage.workload("one").status.scheduling_stats
    assert stats is not None
    assert stats.evictions == (EvictionCount("WorkloadInactive", "MaximumExecutionTimeExceeded", 1),)
    stage.wait(100_000)
    assert stage.admitted() == []


def test_what_it_ran_before_an_eviction_counts_and_what_it_waited_does_not() -> None:
    stage = limited()
    stage.wait(400)
    drain(stage, "HoldAndDrain")
    assert spent(stage) == 400
    stage.wait(5000)
    assert spent(stage) == 400
    drain(stage, "None")
    assert stage.running() == ["one"]
    stage.wait(198)
    assert stage.running() == ["one"]
    stage.wait(3)
    assert not stage.workload("one").spec.active


def test_who_is_activated_again_has_all_its_time_anew() -> None:
    """Otherwise it would be deactivated again in the same second. It could start, so that is not forgotten."""
    stage = limited(wait=True)
    stage.wait(301)
    stage.wait(61)
    stage.play_jobs(ready=["one"])
    stage.wait(700)
    assert not stage.workload("one").spec.active
    state = stage.workload("one").status.requeue_state
    stage.change(WORKLOADS, stage.workload("one").metadata.name, {"spec": {"active": True}})
    stage.settle()
    assert stage.says("one", REQUEUED) == ("True", "Reactivated")
    assert stage.says("one", DEACTIVATION_TARGET) == ("", "")
    assert (spent(stage), stage.workload("one").status.requeue_state) == (None, state)
    stage.play_jobs(ready=["one"])
    stage.wait(599)
    assert stage.running() == ["one"]
    stage.wait(2)
    assert stage.running() == []


LIMITS = [
    pytest.param(settings(backoff_limit_timeout=120), "", 120, id="backoffLimitTimeout"),
    pytest.param(settings(), "", 300, id="timeout"),
    pytest.param(settings(wait=False), "600", 600, id="maximumExecutionTimeSeconds"),
]
"""Each limit: the settings, the label of the job, and after how many seconds the limit is reached."""


def at_its_limit(terms: Settings, label: str, seconds: int) -> Stage:
    """A job that runs half a second before its limit, and then the instant of the limit, before anything is decided."""
    stage = a_stage(terms)
    stage.a_job("one", labels={MAX_EXECUTION_TIME: label} if label else {})
    stage.settle()
    admitted_at = stage.workload("one").condition(ADMITTED)
    assert admitted_at is not None
    assert admitted_at.last_transition_time is not None
    limit = admitted_at.last_transition_time + timedelta(seconds=seconds)
    stage.wait((limit - stage.now).total_seconds() - 0.5)
    assert (stage.running(), stage.says("one", EVICTED)) == (["one"], ("", ""))
    assert stage.wake_at == limit
    stage.now = limit
    return stage


@pytest.mark.parametrize(("terms", "label", "seconds"), LIMITS)
def test_workload_that_finishes_at_its_limit_is_not_evicted(terms: Settings, label: str, seconds: int) -> None:
    """Whether it has finished is checked first."""
    stage = at_its_limit(terms, label, seconds)
    stage.end("one")
    stage.settle()
    assert stage.says("one", FINISHED) == ("True", "Succeeded")
    workload = stage.workload("one")
    assert workload.spec.active
    assert [workload.condition(kind) for kind in (EVICTED, DEACTIVATION_TARGET)] == [None, None]
    assert workload.status.requeue_state is None
    stage.wait(100_000)
    assert stage.workload("one") == workload


@pytest.mark.parametrize(("terms", "label", "seconds"), LIMITS)
def test_workload_that_runs_at_its_limit_is_evicted(terms: Settings, label: str, seconds: int) -> None:
    stage = at_its_limit(terms, label, seconds)
    stage.settle()
    assert stage.says("one", EVICTED)[0] == "True"
    stage.end("one")
    stage.settle()
    assert stage.says("one", FINISHED) == ("True", "Succeeded")


def test_without_a_limit_it_runs_for_as_long_as_it_takes() -> None:
    stage = a_stage(settings(wait=False))
    stage.a_job("one")
    stage.settle()
    stage.wait(10_000_000)
    assert stage.running() == ["one"]
    assert stage.wake_at is None


@pytest.mark.parametrize("text", ["0", "-1", "1h", "1.5", "", "99999999999", "٣"])
def test_a_label_that_says_no_time_is_answered_in_words(text: str) -> None:
    """Kueue would refuse the job; we can only leave it where it is, and say why."""
    stage = limited(text)
    assert stage.workloads() == []
    said = stage.look().said
    (hold,) = [one for one in said if isinstance(one, Hold)]
    assert f"label kueue.x-k8s.io/max-exec-time-seconds is {text!r}" in hold.why
    assert "expected a whole number of seconds" in hold.why
    assert [one.reason for one in said if isinstance(one, RecordEvent)] == ["BadLabel"]
    stage.change(QUEUED_JOBS, "one", {"metadata": {"labels": {MAX_EXECUTION_TIME: "60"}}})
    stage.settle()
    assert stage.running() == ["one"]


def test_another_time_counts_while_it_waits_and_not_while_it_runs() -> None:
    stage = limited()
    stage.change(QUEUED_JOBS, "one", {"metadata": {"labels": {MAX_EXECUTION_TIME: "60"}}})
    stage.settle()
    assert stage.workload("one").spec.maximum_execution_time_seconds == 600
    drain(stage, "HoldAndDrain")
    assert stage.workload("one").spec.maximum_execution_time_seconds == 60
    stage.change(QUEUED_JOBS, "one", {"metadata": {"labels": {MAX_EXECUTION_TIME: None}}})
    stage.settle()
    assert stage.workload("one").spec.maximum_execution_time_seconds is None
