"""A job that waits for machines: not put back for that, and if it is, its machines are kept for it."""

from datetime import timedelta
from typing import Final

import pytest

from growth.api.annotations import STARTED_AT
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES, PODS
from growth.api.node_request import PLANNED_FOR
from growth.api.offering import POOL
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import EVICTED, PODS_READY
from growth.api.settings.model import Settings
from growth.api.timestamp import format_time
from growth.decide.facts.kept_nodes import RetainedNodes
from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.decider import decide_workloads
from growth.decide.queue.index import index_of
from growth.decide.queue.requeue import MACHINES
from tests.builders import a_node
from tests.decide.passes import Given, facts_in
from tests.decide.queue.stage import Stage, a_stage, settings, snapshot_of
from tests.decide.queue.test_unready_reasons import put_pod

EVICTED_FOR_TIME: Final = ("True", "PodsReadyTimeout")
EXTENDED: Final = settings(extend=True)
BY_THE_LETTER: Final = settings(extend=False)


def a_job_without_a_node(stage: Stage) -> None:
    """Admitted, its pod refused, and a machine asked for."""
    stage.a_job("job")
    stage.settle()
    put_pod(stage, "job-1")
    pod = stage.objects[PODS, "default", "job-1"]
    stage.put(
        NODE_REQUESTS,
        {
            "metadata": {"name": "m", "annotations": {PLANNED_FOR: pod["metadata"]["uid"]}},
            "spec": {"pool": "p", "targetOffering": "o"},
            "status": {"phase": "Provisioning", "phaseSince": stage.now.isoformat()},
        },
    )
    stage.settle()


def the_machine_comes(stage: Stage) -> None:
    """Its node joins, is opened, and the pod goes there."""
    made = a_node("m", labels={POOL: "p"})
    now = format_time(stage.now)
    stage.put(
        NODES, {**made, "metadata": {**made["metadata"], "creationTimestamp": now, "annotations": {STARTED_AT: now}}}
    )
    stage.change(NODE_REQUESTS, "m", {"status": {"phase": "Ready", "phaseSince": stage.now.isoformat()}})
    stage.change(PODS, "job-1", {"spec": {"nodeName": "m"}, "status": {"conditions": []}})
    stage.settle()


def words(stage: Stage, kind: str) -> str:
    condition = stage.workload("job").condition(kind)
    return condition.message if condition is not None else ""


def machines(stage: Stage) -> str:
    return stage.workload("job").metadata.annotations.get(MACHINES, "")


def test_it_says_what_it_waits_for_and_is_not_put_back_before_that_should_be_there() -> None:
    stage = a_stage(EXTENDED)
    a_job_without_a_node(stage)
    assert words(stage, PODS_READY) == (
        "0 of 1 pods are ready or have succeeded; waits for a machine, expected by 09:15 UTC"
    )
    stage.wait(14 * 60)
    assert (stage.says("job", EVICTED), stage.running()) == (("", ""), ["job"])
    stage.wait(2 * 60)
    assert stage.says("job", EVICTED) == EVICTED_FOR_TIME


def test_it_is_looked_at_again_when_the_machine_should_be_there() -> None:
    stage = a_stage(EXTENDED)
    a_job_without_a_node(stage)
    assert stage.wake_at is not None
    assert timedelta(minutes=15) - timedelta(seconds=1) < stage.wake_at - stage.now <= timedelta(minutes=15)


def test_once_the_machine_is_there_its_pods_have_the_whole_timeout() -> None:
    stage = a_stage(EXTENDED)
    a_job_without_a_node(stage)
    stage.wait(12 * 60)
    the_machine_comes(stage)
    stage.wait(4 * 60)
    assert stage.running() == ["job"]
    stage.wait(2 * 60)
    assert stage.says("job", EVICTED) == EVICTED_FOR_TIME
    assert words(stage, EVICTED).endswith("pod job-1: it is on node m, and does not get ready")


def test_a_pod_beside_it_that_waits_for_no_machine_is_not_waited_for() -> None:
    stage = a_stage(EXTENDED)
    a_job_without_a_node(stage)
    put_pod(stage, "job-2")
    stage.wait(5 * 60 + 1)
    assert stage.says("job", EVICTED) == EVICTED_FOR_TIME
    assert words(stage, EVICTED).endswith("waits for a machine, expected by 09:15 UTC; pod job-2: there is no node")


def test_pods_that_are_ready_before_their_job_says_so_are_not_put_back() -> None:
    stage = a_stage(EXTENDED)
    a_job_without_a_node(stage)
    stage.wait(12 * 60)
    the_machine_comes(stage)
    stage.change(PODS, "job-1", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
    stage.wait(1)
    assert stage.running() == ["job"]
    stage.play_jobs(ready=["job"])
    stage.settle()
    assert stage.says("job", PODS_READY) == ("True", "Started")


def test_a_job_whose_pods_were_never_made_says_so() -> None:
    stage = a_stage(EXTENDED)
    stage.a_job("job")
    stage.settle(jobs=False)  # a ResourceQuota, say, does not let them
    stage.now += timedelta(minutes=5, seconds=1)
    stage.settle(jobs=False)
    assert words(stage, EVICTED).endswith("0 of 1 pods are ready or have succeeded; its job has made no pods")


def test_by_the_letter_nobody_waits_for_machines_but_they_are_noted_before_it_goes() -> None:
    stage = a_stage(BY_THE_LETTER)
    a_job_without_a_node(stage)
    stage.now += timedelta(minutes=5, seconds=1)
    (said,) = [one for one in stage.look().said if one.subject.kind == WORKLOADS.name]
    assert stage.take(said)
    assert (machines(stage), stage.says("job", EVICTED)) == ("m", ("", ""))
    stage.memory = None  # another process goes on with it
    stage.settle()
    assert stage.says("job", EVICTED) == EVICTED_FOR_TIME
    assert "waits for a machine" in words(stage, EVICTED)


def test_a_job_that_waited_for_no_machine_is_not_written_on() -> None:
    stage = a_stage(BY_THE_LETTER)
    stage.a_job("job")
    stage.settle()
    put_pod(stage, "job-1")
    stage.wait(5 * 60 + 1)
    assert MACHINES not in stage.workload("job").metadata.annotations


def machines_kept_if_put_back(stage: Stage) -> str:
    """What would be noted if its time were over now."""
    objects, now, memory = dict(stage.objects), stage.now, stage.memory
    stage.wait(5 * 60)
    found = machines(stage)
    stage.objects, stage.now, stage.memory = objects, now, memory
    return found


def test_machines_on_which_its_pods_cannot_start_anyway_are_not_kept() -> None:
    stage = a_stage(BY_THE_LETTER)
    a_job_without_a_node(stage)
    stage.wait(2 * 60)
    the_machine_comes(stage)
    assert machines_kept_if_put_back(stage) == "m"
    container = {"name": "main", "image": "x", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
    stage.change(PODS, "job-1", {"status": {"containerStatuses": [container]}})
    stage.wait(3 * 60 + 1)
    assert (stage.says("job", EVICTED), machines(stage)) == (EVICTED_FOR_TIME, "")


def kept(stage: Stage) -> set[str]:
    """What those see who remove nodes: a new process each time."""
    snapshot = snapshot_of(stage.objects, stage.now)
    facts = decide_workloads(
        Given(index=index_of(snapshot, stage.settings)).inputs(snapshot, stage.settings, QueueCarry())
    ).facts
    return {name for one in facts if isinstance(one, RetainedNodes) for name in one.names}


def put_back() -> Stage:
    """One that was put back before its machine came."""
    stage = a_stage(BY_THE_LETTER)
    a_job_without_a_node(stage)
    stage.wait(5 * 60 + 1)
    stage.drop(PODS, "job-1")
    stage.settle()
    return stage


def test_its_machine_is_kept_until_it_may_be_tried_again_and_no_longer() -> None:
    stage = put_back()
    assert kept(stage) == {"m"}
    stage.wait(59)
    assert kept(stage) == {"m"}
    stage.wait(2)
    assert stage.says("job", "Requeued") == ("True", "BackoffFinished")
    assert kept(stage) == set()


@pytest.mark.parametrize(
    "patch", [{"spec": {"active": False}}, {"metadata": {"deletionTimestamp": "2026-03-02T09:00:00Z"}}]
)
def test_no_machine_is_kept_for_who_does_not_come_back(patch: dict[str, dict[str, object]]) -> None:
    stage = put_back()
    stage.change(WORKLOADS, stage.workload("job").metadata.name, patch)
    assert kept(stage) == set()


def test_no_machine_is_kept_until_an_instant_that_somebody_wrote_by_hand() -> None:
    stage = put_back()
    name = stage.workload("job").metadata.name
    stage.change(WORKLOADS, name, {"status": {"requeueState": {"requeueAt": "2099-01-01T00:00:00Z"}}})
    assert kept(stage) == set()


def test_where_there_is_no_queue_nobody_is_awaited() -> None:
    assert facts_in(snapshot_of({}, a_stage().now), Settings()).get(RetainedNodes).names == frozenset()
