"""Pods of a job that was just admitted are known before they are made, so that machines are bought for all of them."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import PODS
from growth.api.pod import Pod
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import ADMITTED, EVICTED, PODS_READY_TIMEOUT
from growth.decide.facts.virtual_pods import UpcomingJobPods
from growth.decide.queue.decider import CAPABILITY
from tests.decide.passes import Given, deciding
from tests.decide.queue.stage import Stage, snapshot_of
from tests.decide.queue.test_flavor_migration import TYPE, a_stage
from tests.decide.queue.test_unready_reasons import put_pod

decide = deciding(CAPABILITY)


def announced(stage: Stage) -> list[Pod]:
    seen = msgspec.structs.replace(snapshot_of(stage.objects, stage.now), clouds=stage.clouds)
    facts = decide(seen, Given(carry=stage.memory), stage.settings).facts
    return [pod for one in facts if isinstance(one, UpcomingJobPods) for pod in one.pods.values()]


def admitted(stage: Stage, **job: Any) -> Stage:  # noqa: ANN401
    """A job of three pods is admitted, and the Job controller has done nothing yet."""
    stage.a_job("job", parallelism=3, completions=3, **job)
    stage.settle(jobs=False)
    return stage


def test_all_pods_are_announced_as_they_will_be() -> None:
    stage = admitted(a_stage(small="3"), pods={"nodeSelector": {"disk": "fast"}})
    pods = announced(stage)
    assert len({pod.metadata.uid for pod in pods}) == 3
    assert {tuple(sorted(pod.spec.node_selector.items())) for pod in pods} == {(("disk", "fast"), (TYPE, "small"))}
    assert {pod.metadata.controller.name for pod in pods if pod.metadata.controller is not None} == {"job"}
    assert {stage_of(pod) for pod in pods} == {("default", "1", "")}


def stage_of(pod: Pod) -> tuple[str, str, str]:
    return pod.metadata.namespace, pod.spec.containers[0].resources.requests["cpu"], pod.node_name


def test_a_pod_that_is_there_speaks_for_itself() -> None:
    stage = admitted(a_stage(small="3"))
    before = {pod.metadata.uid for pod in announced(stage)}
    put_pod(stage, "job-1")
    left = {pod.metadata.uid for pod in announced(stage)}
    assert len(left) == 2
    assert left < before
    stage.play_jobs()
    assert announced(stage) == []


def test_nobody_is_announced_who_is_not_admitted() -> None:
    stage = admitted(a_stage(small="2", large="2"))
    assert announced(stage) == []


def test_who_is_put_back_is_not_announced_any_more() -> None:
    stage = admitted(a_stage(small="3"))
    name = stage.workload("job").metadata.name
    stage.change(WORKLOADS, name, {"spec": {"active": False}})
    assert announced(stage) == []


def test_a_job_that_makes_no_pods_is_not_believed_for_long() -> None:
    stage = admitted(a_stage(small="3"))
    stage.now += timedelta(seconds=59)
    assert len(announced(stage)) == 3
    stage.now += timedelta(seconds=2)
    assert announced(stage) == []


def test_nothing_is_bought_at_each_attempt_of_a_job_that_never_makes_pods() -> None:
    """Its pods were not ready in time, because it made none. The next time they have to be there first."""
    stage = admitted(a_stage(small="3"))
    stage.wait(timedelta(minutes=5).total_seconds())
    assert stage.says("job", EVICTED) == ("True", PODS_READY_TIMEOUT)
    stage.settle()
    stage.wait(70)
    assert stage.says("job", ADMITTED)[0] == "True"
    assert announced(stage) == []


@pytest.mark.parametrize("missing", ["pools", "providers"])
def test_where_nobody_buys_nobody_is_announced(missing: str) -> None:
    stage = admitted(a_stage(small="3"))
    if missing == "pools":
        stage.drop(NODE_POOLS, "p")
    else:
        stage.clouds = {}
    assert announced(stage) == []


def test_pods_that_have_ended_count_as_made() -> None:
    """A job that was put back half-way runs only the rest, and announces no more than that."""
    stage = admitted(a_stage(small="3"))
    put_pod(stage, "job-1")
    stage.change(PODS, "job-1", {"status": {"phase": "Succeeded"}})
    assert len(announced(stage)) == 2
