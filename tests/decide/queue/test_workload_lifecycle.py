"""From state to state: each row of the table in ``lifecycle``; the seed's sentences stand beside the tests."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import PatchObject
from growth.api.kinds import Kind
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    LIMIT_EXCEEDED,
    PODS_READY,
    PODS_READY_TIMEOUT,
    QUOTA_RESERVED,
    REQUEUED,
    RequeueState,
)
from growth.api.settings.model import Settings
from tests.decide.queue.stage import Stage, a_stage, settings

TIMEOUT = 300


def admitted(terms: Settings | None = None) -> Stage:
    """One job that was admitted, and whose pods are not ready."""
    stage = a_stage(terms)
    stage.a_job("one")
    stage.settle()
    assert stage.running() == ["one"]
    return stage


def state(stage: Stage) -> RequeueState:
    found = stage.workload("one").status.requeue_state
    assert found is not None
    return found


def activate(stage: Stage, *, active: bool = True) -> None:
    stage.change(WORKLOADS, stage.workload("one").metadata.name, {"spec": {"active": active}})
    stage.settle()


@pytest.mark.parametrize(("ending", "reason"), [("Complete", "Succeeded"), ("Failed", "Failed")])
def test_a_job_that_has_ended_has_a_finished_workload_and_frees_its_quota(ending: str, reason: str) -> None:
    stage = admitted()
    stage.a_job("two")
    stage.end("one", ending)
    stage.settle()
    assert stage.says("one", FINISHED) == ("True", reason)
    assert stage.admitted() == ["two"]


def test_a_job_that_is_not_seen_is_not_taken_for_gone() -> None:
    """Somebody who just began to lead may see workloads before jobs; nothing ends and nothing is freed by that."""
    stage = admitted()
    workload = stage.workload("one").metadata.name
    blind = {key: one for key, one in stage.objects.items() if key[2] != "one"}
    stage.now += timedelta(hours=1)
    assert [said.subject.name for said in stage.look(blind).said if said.subject.name == workload] == []
    stage.change(WORKLOADS, workload, {"spec": {"active": False}})
    blind = {key: one for key, one in stage.objects.items() if key[2] != "one"}
    for said in stage.look(blind).said:
        stage.take(said)
    assert stage.admitted() == ["one"], "its pods may still run"


def test_a_workload_that_its_job_left_behind_is_finished() -> None:
    stage = admitted()
    key = next(key for key in stage.objects if key[0] is WORKLOADS)
    stage.change(WORKLOADS, key[2], {"metadata": {"ownerReferences": None}})
    stage.objects = {known: one for known, one in stage.objects.items() if known[2] != "one"}
    stage.settle()
    assert stage.says("one", FINISHED) == ("True", "OwnerNotFound")


def test_not_ready_in_time_is_evicted_with_a_count_and_an_instant() -> None:
    """When a workload eviction is issued with the PodsReadyTimeout condition, the workload controller increments the
    requeueState.count by 1 each time and sets the time to requeueAt when a workload will be re-queued."""
    stage = admitted()
    assert stage.wake_at is not None
    assert TIMEOUT - 1 < (stage.wake_at - stage.now).total_seconds() <= TIMEOUT
    stage.wait(TIMEOUT)
    assert stage.says("one", EVICTED) == ("True", "PodsReadyTimeout")
    assert state(stage).count == 1
    requeue_at = state(stage).requeue_at
    assert requeue_at is not None
    assert 60 <= (requeue_at - stage.now).total_seconds() <= 61
    assert stage.wake_at == requeue_at
    assert stage.running() == []
    assert [stage.says("one", kind) for kind in (QUOTA_RESERVED, ADMITTED, REQUEUED, PODS_READY)] == [
        ("False", "PendingEvaluation"),
        ("False", "NoReservation"),
        ("False", "PodsReadyTimeout"),
        ("False", "WaitForStart"),
    ]


def test_after_its_backoff_it_is_queued_again_and_its_count_stays() -> None:
    stage = admitted()
    stage.wait(TIMEOUT)
    stage.wait(59)
    assert stage.admitted() == [], "during this time, the workload is taken as an inadmissible"
    stage.wait(2)
    assert stage.admitted() == ["one"]
    assert stage.says("one", REQUEUED) == ("True", "BackoffFinished")
    assert stage.says("one", EVICTED) == ("False", "QuotaReserved")
    assert state(stage) == RequeueState(1, None)
    stage.play_jobs(ready=["one"])
    stage.settle()
    assert stage.says("one", PODS_READY) == ("True", "Started")
    assert state(stage).count == 1


def test_requeue_instant_stays_until_it_is_admitted() -> None:
    """ "When the workload was re-queued or will be re-queued": its quota is taken when its backoff is over."""
    stage = admitted()
    stage.wait(TIMEOUT)
    requeue_at = state(stage).requeue_at
    stage.a_job("other")
    stage.settle()
    stage.wait(120)
    assert (stage.admitted(), stage.says("one", REQUEUED)) == (["other"], ("True", "BackoffFinished"))
    assert state(stage) == RequeueState(1, requeue_at)
    stage.end("other")
    stage.settle()
    assert (stage.admitted(), state(stage)) == (["one"], RequeueState(1, None))


def test_requeued_workload_does_not_back_off_again_when_the_clock_is_set_back() -> None:
    stage = admitted()
    stage.wait(TIMEOUT)
    stage.a_job("other")
    stage.settle()
    stage.wait(61)
    assert stage.says("one", REQUEUED) == ("True", "BackoffFinished")
    stage.now -= timedelta(seconds=30)
    stage.end("other")
    stage.settle()
    assert (stage.admitted(), stage.says("one", REQUEUED)) == (["one"], ("True", "BackoffFinished"))


def test_past_requeue_instant_that_somebody_wrote_holds_nothing_back() -> None:
    stage = a_stage()
    stage.a_job("holder")
    stage.settle()
    stage.a_job("one")
    stage.settle()
    past = (stage.now - timedelta(hours=1)).isoformat()
    name = stage.workload("one").metadata.name
    stage.change(WORKLOADS, name, {"status": {"requeueState": {"count": 1, "requeueAt": past}}})
    stage.end("holder")
    stage.settle()
    assert (stage.admitted(), stage.says("one", REQUEUED)) == (["one"], ("", ""))
    assert state(stage) == RequeueState(1, None)


def test_requeue_instant_is_not_earlier_the_next_time() -> None:
    stage = admitted()
    for count in (1, 2):
        stage.wait(TIMEOUT)
        assert state(stage).count == count
        requeue_at = state(stage).requeue_at
        assert requeue_at is not None
        assert requeue_at > stage.now
        stage.wait(125)
        assert stage.admitted() == ["one"]


def test_story_2_other_workloads_have_a_chance_meanwhile() -> None:
    """The administrator would like to use an exponential backoff mechanism and add a maximum number of retries."""
    stage = admitted(settings(timestamp="Creation", backoff_limit_count=3))
    stage.a_job("other")
    stage.wait(TIMEOUT)
    assert stage.admitted() == ["other"]
    stage.end("other")
    for count in (1, 2, 3):
        assert state(stage).count == count
        stage.wait(60 * 2 ** (count - 1) * 1.02)
        assert stage.admitted() == ["one"]
        stage.wait(TIMEOUT)
    assert not stage.workload("one").spec.active


def deactivated() -> Stage:
    stage = admitted(settings(backoff_limit_count=1))
    stage.wait(TIMEOUT)
    stage.wait(61)
    stage.wait(TIMEOUT)
    return stage


def test_at_the_limit_it_is_deactivated_and_its_state_is_not_modified() -> None:
    """If requeueState.count reaches backoffLimitCount, the workload controller doesn't modify requeueState and
    deactivates a workload by setting false to spec.active. After that, Evicted with WorkloadInactive is added; finally
    the job is stopped."""
    stage = deactivated()
    assert not stage.workload("one").spec.active
    assert state(stage) == RequeueState(1, None)
    assert stage.says("one", EVICTED) == ("True", "WorkloadInactive")
    assert stage.says("one", DEACTIVATION_TARGET) == ("True", "RequeuingLimitExceeded")
    assert stage.says("one", QUOTA_RESERVED)[0] == "False"
    assert stage.running() == []
    stage.wait(100_000)
    assert stage.admitted() == []


def test_the_cause_is_written_before_it_is_deactivated() -> None:
    """Otherwise a crash in between would leave one of which nobody knows why, and Story 3 would not work."""
    stage = admitted(settings(backoff_limit_count=0))
    stage.now += timedelta(seconds=TIMEOUT)
    for said in stage.look().said:
        stage.take(said)
    assert stage.workload("one").spec.active
    assert stage.says("one", DEACTIVATION_TARGET) == ("True", "RequeuingLimitExceeded")


@pytest.mark.parametrize("is_restarted", [False, True], ids=["same process", "restarted"])
def test_story_3_a_reactivated_workload_begins_anew(is_restarted: bool) -> None:  # noqa: FBT001
    """When a deactivated workload by eviction is re-activated, the requeueState is reset to null."""
    stage = deactivated()
    if is_restarted:
        stage.memory = None
    activate(stage)
    assert stage.workload("one").status.requeue_state is None
    assert stage.says("one", REQUEUED) == ("True", "Reactivated")
    assert stage.says("one", DEACTIVATION_TARGET) == ("", "")
    assert stage.admitted() == ["one"]
    stage.wait(TIMEOUT)
    assert state(stage).count == 1, "it has all its attempts again"


def test_a_persons_own_deactivation_does_not_reset_the_state() -> None:
    """If a workload is deactivated by other ways such as user operations, the requeueState is not reset."""
    stage = admitted(settings(backoff_limit_count=5))
    stage.wait(TIMEOUT)
    stage.wait(61)
    activate(stage, active=False)
    assert stage.says("one", EVICTED) == ("True", "WorkloadInactive")
    assert stage.running() == []
    activate(stage)
    assert state(stage).count == 1
    assert stage.admitted() == ["one"]


def test_deactivated_and_activated_during_its_backoff_it_still_waits() -> None:
    stage = admitted()
    stage.now += timedelta(seconds=TIMEOUT)
    stage.look()
    stage.settle(jobs=False)
    activate(stage, active=False)
    activate(stage)
    assert state(stage).count == 1
    assert stage.admitted() == []
    stage.wait(61)
    assert stage.admitted() == ["one"]


def test_one_that_waits_and_is_deactivated_is_left_out_until_it_is_activated() -> None:
    stage = admitted()
    stage.a_job("two")
    stage.settle()
    name = stage.workload("two").metadata.name
    stage.change(WORKLOADS, name, {"spec": {"active": False}})
    stage.end("one")
    stage.settle()
    assert stage.says("two", QUOTA_RESERVED) == ("False", "Deactivated")
    assert stage.admitted() == []
    stage.change(WORKLOADS, name, {"spec": {"active": True}})
    stage.settle()
    assert stage.admitted() == ["two"]


def test_one_at_its_limit_whose_queue_is_drained_can_still_be_activated() -> None:
    stage = admitted(settings(backoff_limit_count=0))
    stage.now += timedelta(seconds=TIMEOUT)
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "HoldAndDrain"}})
    stage.settle()
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "None"}})
    stage.settle()
    stage.change(WORKLOADS, stage.workload("one").metadata.name, {"spec": {"active": True}})
    stage.settle()
    assert stage.workload("one").spec.active
    assert stage.admitted() == ["one"]


def test_the_time_limit_counts_from_the_first_admission() -> None:
    """When the time is reached, the workload is deactivated: also while it waits for its next attempt."""
    stage = admitted(settings(backoff_limit_timeout=TIMEOUT + 30))
    stage.wait(TIMEOUT)
    assert stage.workload("one").spec.active
    assert stage.wake_at is not None
    assert (stage.wake_at - stage.now).total_seconds() <= 30
    stage.wait(30)
    assert not stage.workload("one").spec.active
    assert stage.says("one", EVICTED) == ("True", "WorkloadInactive")
    activate(stage)
    assert stage.workload("one").spec.active
    assert stage.admitted() == ["one"], "it begins anew, with all its time"


def test_the_time_limit_is_not_for_one_that_was_ready() -> None:
    stage = admitted(settings(backoff_limit_timeout=TIMEOUT))
    stage.play_jobs(ready=["one"])
    stage.settle()
    stage.wait(10 * TIMEOUT)
    assert stage.workload("one").spec.active


def test_pods_that_were_ready_have_time_to_recover() -> None:
    stage = admitted()
    stage.play_jobs(ready=["one"])
    stage.settle()
    stage.wait(10_000)
    stage.objects = {
        key: {**one, "status": {**one["status"], "ready": 0}} if key[2] == "one" else one
        for key, one in stage.objects.items()
    }
    stage.settle()
    assert stage.says("one", PODS_READY) == ("False", "WaitForRecovery")
    stage.wait(TIMEOUT - 1)
    assert stage.running() == ["one"]
    stage.play_jobs(ready=["one"])
    stage.settle()
    assert stage.says("one", PODS_READY) == ("True", "Recovered")


def lost(stage: Stage, name: str) -> None:
    """Its pods were ready, and are not any more."""
    stage.play_jobs(ready=[name])
    stage.settle()
    stage.objects = {
        key: {**one, "status": {**one["status"], "ready": 0}} if key[2] == name else one
        for key, one in stage.objects.items()
    }
    stage.settle()


def test_eviction_after_recovery_timeout_says_that_it_ran() -> None:
    stage = admitted()
    lost(stage, "one")
    stage.wait(TIMEOUT + 1)
    assert stage.says("one", EVICTED) == ("True", PODS_READY_TIMEOUT)
    evicted = stage.workload("one").condition(EVICTED)
    assert evicted is not None
    assert evicted.message.startswith("it ran and did not recover in time (recoveryTimeout): 0 of 1 pods are ready")


def test_deactivation_after_recovery_timeout_says_that_it_ran() -> None:
    stage = admitted(settings(backoff_limit_count=0))
    lost(stage, "one")
    stage.wait(TIMEOUT + 1)
    target = stage.workload("one").condition(DEACTIVATION_TARGET)
    assert target is not None
    assert target.reason == LIMIT_EXCEEDED
    assert target.message.startswith("it ran and did not recover in time (recoveryTimeout): ")


def test_without_wait_for_pods_ready_nobody_is_put_back() -> None:
    stage = admitted(settings(wait=False))
    stage.wait(1_000_000)
    assert stage.running() == ["one"]
    assert stage.says("one", PODS_READY) == ("", "")


@pytest.mark.parametrize(
    ("kind", "name", "reason", "back"),
    [
        (CLUSTER_QUEUES, "all", "ClusterQueueStopped", "ClusterQueueRestarted"),
        (LOCAL_QUEUES, "door", "LocalQueueStopped", "LocalQueueRestarted"),
    ],
    ids=["ClusterQueue", "LocalQueue"],
)
def test_a_queue_is_held_drained_and_at_work_again(kind: Kind[Any], name: str, reason: str, back: str) -> None:
    stage = admitted()
    stage.change(kind, name, {"spec": {"stopPolicy": "Hold"}})
    stage.settle()
    assert stage.running() == ["one"], "Hold lets run who was admitted"
    stage.change(kind, name, {"spec": {"stopPolicy": "HoldAndDrain"}})
    stage.settle()
    assert stage.says("one", EVICTED) == ("True", reason)
    assert stage.says("one", REQUEUED) == ("False", reason)
    assert stage.running() == []
    stage.change(kind, name, {"spec": {"stopPolicy": "None"}})
    stage.settle()
    assert stage.says("one", REQUEUED) == ("True", back)
    assert stage.running() == ["one"]
    assert stage.workload("one").status.requeue_state is None, "that was not its fault"


def test_quota_is_held_until_the_pods_are_gone() -> None:
    stage = admitted()
    stage.a_job("two")
    stage.now += timedelta(seconds=TIMEOUT)
    stage.settle(jobs=False)
    assert stage.says("one", EVICTED) == ("True", "PodsReadyTimeout")
    assert stage.running() == []
    assert stage.admitted() == ["one"], "its job still has a pod"
    stage.settle()
    assert stage.admitted() == ["two"]


def test_quota_is_not_freed_while_a_start_may_be_under_way() -> None:
    """The job is to be started, which is not seen yet; its queue is drained. Only one of both writes can win."""
    stage = a_stage()
    stage.a_job("one")
    start = None
    while start is None:
        said = stage.look().said
        start = next((one for one in said if one.subject.name == "one" and isinstance(one, PatchObject)), None)
        for one in said:
            if one is not start:
                stage.take(one)
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "HoldAndDrain"}})
    for said in stage.look().said:
        stage.take(said) if said.subject.kind == "Workload" else None
    stage.look()
    assert stage.admitted() == ["one"]
    # Its last look at the workload came before that.
    assert stage.take(msgspec.structs.replace(start, given=()))
    stage.play_jobs()
    for said in stage.look().said:
        stage.take(said)
    assert (stage.running(), stage.admitted()) == ([], ["one"])
    stage.settle()
    assert stage.admitted() == []


@pytest.mark.parametrize(
    "edit",
    [
        {"conditions": []},
        {"admission": None},
        {"requeueState": {"count": 999_999_999}},
        {"conditions": [{"type": "Requeued", "status": "False", "reason": "Nonsense"}]},
        {"conditions": [{"type": "Evicted", "status": "True", "reason": "Nonsense"}]},
        {"conditions": [{"type": "Evicted", "status": "True", "reason": "Preempted"}], "admission": None},
        {
            "admission": {
                "podSetAssignments": [{"name": "main", "flavors": {"cpu": "any"}, "resourceUsage": {"cpu": "x"}}]
            }
        },
    ],
    ids=str,
)
def test_a_status_that_somebody_edited_is_mended(edit: dict[str, object]) -> None:
    stage = admitted()
    stage.change(WORKLOADS, stage.workload("one").metadata.name, {"status": edit})
    stage.settle()
    assert (stage.running(), stage.admitted()) == (["one"], ["one"])
    stage.a_job("two")
    stage.settle()
    assert stage.admitted() == ["one"], "it is counted all the same"


def test_a_requeued_condition_that_somebody_took_away_does_not_end_the_backoff() -> None:
    stage = admitted()
    stage.wait(TIMEOUT)
    stage.change(WORKLOADS, stage.workload("one").metadata.name, {"status": {"conditions": []}})
    stage.settle()
    assert stage.admitted() == []


def test_a_queue_that_vanishes_leaves_who_was_admitted_running_and_counts_them_when_it_is_back() -> None:
    stage = admitted()
    stage.drop(CLUSTER_QUEUES, "all")
    stage.a_job("two")
    stage.settle()
    assert (stage.running(), stage.admitted()) == (["one"], ["one"])
    stage.a_queue()
    stage.settle()
    assert stage.admitted() == ["one"]
    assert stage.says("two", QUOTA_RESERVED) == ("False", "WaitingForQuota")


def test_a_workload_without_a_job_is_judged_by_what_is_said_of_its_pods() -> None:
    stage = a_stage()
    template = {"spec": {"containers": [{"name": "main", "resources": {"requests": {"cpu": "1"}}}]}}
    spec = {"queueName": "door", "podSets": [{"name": "main", "count": 1, "template": template}]}
    stage.put(WORKLOADS, {"metadata": {"name": "job-hand-made"}, "spec": spec})
    stage.settle()
    assert stage.admitted() == ["job-hand-made"]
    stage.wait(TIMEOUT)
    assert stage.says("hand", EVICTED) == ("True", "PodsReadyTimeout")
    assert stage.admitted() == []
