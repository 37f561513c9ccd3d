"""Pods of a job start together, and a job for which a plan has no place goes elsewhere."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import PODS
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOADS
from growth.api.queue.pod import QUEUED_PODS
from growth.api.queue.workload import EVICTED, ON_STANDING_NODES, QUOTA_RESERVED, REQUEUED
from growth.decide.facts.gangs import Gang, GangFindings, PendingGangs, UnplacedGang
from growth.decide.queue.decider import CAPABILITY
from growth.decide.queue.failed_flavors import FAILED_FLAVORS
from tests.decide.passes import Given, deciding
from tests.decide.queue.stage import Stage, settings, snapshot_of
from tests.decide.queue.test_existing_capacity import a_place, make_pods, unmake_pods
from tests.decide.queue.test_flavor_migration import TYPE, flavor_of, in_stock
from tests.decide.queue.test_flavor_migration import a_stage as a_stage_with_a_shop
from tests.decide.queue.test_unready_reasons import put_node, put_pod

decide = deciding(CAPABILITY)

WHY = "there is no place for 1 of its 2 pods: 1 in stock"


def a_stage(**cpu: str) -> Stage:
    """Of the first flavor one machine is left."""
    stage = a_stage_with_a_shop(**(cpu or {"small": "4", "large": "4"}))
    in_stock(stage, small=1)
    return stage


def a_pair(stage: Stage, name: str = "job", **job: Any) -> None:  # noqa: ANN401
    stage.a_job(name, parallelism=2, completions=2, **job)
    stage.settle(jobs=False)


def gangs(stage: Stage) -> list[Gang]:
    seen = msgspec.structs.replace(snapshot_of(stage.objects, stage.now), clouds=stage.clouds)
    facts = decide(seen, Given(carry=stage.memory), stage.settings).facts
    return [gang for one in facts if isinstance(one, PendingGangs) for gang in one.gangs]


def refuse(stage: Stage, *jobs: str) -> None:
    """A plan has no place for these jobs, or for any."""
    unplaced = [UnplacedGang(one, WHY) for one in gangs(stage) if not jobs or one.key[1].split("-")[1] in jobs]
    assert unplaced
    stage.findings = GangFindings(unplaced=tuple(unplaced))
    stage.settle()


def count(stage: Stage, **pods: int) -> None:
    """What the Job controller counts."""
    stage.change(QUEUED_JOBS, "job", {"status": pods})


def noted(stage: Stage, job: str = "job") -> str:
    """Where it failed and why, without what could be launched then."""
    text = stage.workload(job).metadata.annotations.get(FAILED_FLAVORS, "")
    return ",".join(one.partition(":")[0] for one in text.split(","))


# Who is a gang


def test_all_pods_of_an_admitted_job_are_a_gang() -> None:
    stage = a_stage()
    a_pair(stage)
    (gang,) = gangs(stage)
    workload = stage.workload("job")
    assert (gang.key, gang.workload) == (("default", workload.metadata.name), workload.metadata.uid)
    assert (gang.flavors, len(gang.pods)) == (("small",), 2)


def test_pods_that_are_there_and_those_that_will_be_made_are_one_gang() -> None:
    stage = a_stage()
    a_pair(stage)
    put_pod(stage, "job-1")
    (gang,) = gangs(stage)
    assert len(gang.pods) == 2
    assert stage.objects[PODS, "default", "job-1"]["metadata"]["uid"] in gang.pods


def test_pod_with_a_node_is_not_waited_for() -> None:
    stage = a_stage()
    put_node(stage, "node")
    a_pair(stage)
    put_pod(stage, "job-1", node="node")
    assert [len(gang.pods) for gang in gangs(stage)] == [1]


def test_gang_ends_when_all_pods_are_ready() -> None:
    stage = a_stage()
    a_pair(stage)
    stage.play_jobs(ready=["job"])
    stage.settle()
    put_pod(stage, "job-1")
    assert gangs(stage) == []
    count(stage, ready=1)
    stage.settle(jobs=False)
    assert gangs(stage) == []


@pytest.mark.parametrize(("wait", "expected"), [(True, 1), (False, 0)])
def test_gang_ends_with_the_first_ready_pod_where_readiness_is_not_waited_for(*, wait: bool, expected: int) -> None:
    stage = a_stage()
    stage.settings = settings(wait=wait)
    a_pair(stage)
    put_pod(stage, "job-1")
    count(stage, active=2, ready=1)
    stage.settle(jobs=False)
    assert len(gangs(stage)) == expected


@pytest.mark.parametrize("missing", ["pools", "providers", "offerings"])
def test_job_is_no_gang_where_growth_launches_nothing_for_it(missing: str) -> None:
    stage = a_stage()
    a_pair(stage)
    if missing == "pools":
        stage.drop(NODE_POOLS, "p")
    elif missing == "providers":
        stage.clouds = {}
    else:
        stage.change(NODE_POOLS, "p", {"spec": {"serverTypes": [{"name": "large"}]}})
    assert gangs(stage) == []


def test_plain_pod_is_no_gang() -> None:
    """It could not come back."""
    stage = a_stage()
    stage.a_pod("plain")
    stage.settle()
    stage.change(QUEUED_PODS, "plain", {"spec": {"schedulingGates": None}})
    stage.settle()
    assert stage.admitted() == ["plain"]
    assert gangs(stage) == []


def test_pods_that_are_not_announced_again_are_waited_for_a_moment() -> None:
    """It was put back before because its pods were not ready; the first of them is there."""
    stage = a_stage()
    a_pair(stage)
    stage.wait(timedelta(minutes=5).total_seconds())
    stage.wait(70)
    put_pod(stage, "job-1")
    assert [len(gang.pods) for gang in gangs(stage)] == [2]
    stage.look()
    assert stage.wake_at is not None
    assert stage.wake_at <= stage.now + timedelta(minutes=1)
    stage.now += timedelta(seconds=61)
    assert [len(gang.pods) for gang in gangs(stage)] == [1]


# What becomes of a job without a place


def test_job_without_a_place_moves_without_a_count_or_a_backoff() -> None:
    stage = a_stage()
    a_pair(stage)
    refuse(stage)
    workload = stage.workload("job")
    assert (flavor_of(stage, "job"), workload.status.requeue_state) == ("large", None)
    stats = workload.status.scheduling_stats
    assert stats is not None
    assert [(one.reason, one.count) for one in stats.evictions] == [("NoPlacement", 1)]
    assert stage.says("job", REQUEUED) == ("True", "NoPlacement")


def test_what_the_plan_says_is_told() -> None:
    stage = a_stage()
    a_pair(stage)
    stage.findings = GangFindings(unplaced=tuple(UnplacedGang(one, WHY) for one in gangs(stage)))
    for _ in range(2):  # first it is noted where it failed
        for said in stage.look().said:
            stage.take(said)
    condition = stage.workload("job").condition(EVICTED)
    assert condition is not None
    assert (condition.reason, condition.message) == ("NoPlacement", f"flavor small: {WHY}")


def test_job_that_was_noted_moves_although_the_plan_is_forgotten() -> None:
    """Growth is stopped between the two writes."""
    stage = a_stage()
    a_pair(stage)
    stage.findings = GangFindings(unplaced=tuple(UnplacedGang(one, WHY) for one in gangs(stage)))
    for said in stage.look().said:
        stage.take(said)
    assert noted(stage) == "small=NoPlacement"
    stage.findings, stage.memory = None, None
    stage.settle()
    assert flavor_of(stage, "job") == "large"


def test_finding_about_an_earlier_admission_does_not_count() -> None:
    stage = a_stage()
    a_pair(stage)
    old = [msgspec.structs.replace(one, admitted_at=one.admitted_at - timedelta(hours=1)) for one in gangs(stage)]
    stage.findings = GangFindings(unplaced=tuple(UnplacedGang(one, WHY) for one in old))
    stage.settle()
    assert (flavor_of(stage, "job"), stage.says("job", EVICTED)) == ("small", ("", ""))


def test_finding_about_a_job_that_runs_does_not_count() -> None:
    stage = a_stage()
    a_pair(stage)
    found = GangFindings(unplaced=tuple(UnplacedGang(one, WHY) for one in gangs(stage)))
    stage.play_jobs(ready=["job"])
    stage.settle()
    stage.findings = found
    stage.settle()
    assert flavor_of(stage, "job") == "small"


def test_nothing_is_noted_any_more_once_the_job_runs() -> None:
    stage = a_stage()
    a_pair(stage)
    refuse(stage)
    assert noted(stage) == "small=NoPlacement"
    stage.play_jobs(ready=["job"])
    stage.settle()
    assert FAILED_FLAVORS not in stage.workload("job").metadata.annotations


def test_nothing_is_noted_once_it_runs_where_readiness_is_not_waited_for() -> None:
    stage = a_stage()
    stage.settings = settings(wait=False)
    a_pair(stage)
    refuse(stage)
    stage.play_jobs(ready=["job"])
    stage.settle()
    assert FAILED_FLAVORS not in stage.workload("job").metadata.annotations


# When it is tried again


def only_small(**job: Any) -> Stage:  # noqa: ANN401
    """There is one flavor, and no place on it."""
    stage = a_stage(small="4", large="0")
    a_pair(stage, **job)
    refuse(stage)
    assert flavor_of(stage, "job") == ""
    stage.findings = None
    return stage


def test_job_without_another_flavor_waits_and_says_why() -> None:
    stage = only_small()
    assert stage.says("job", QUOTA_RESERVED) == ("False", "NoPlacement")
    condition = stage.workload("job").condition(QUOTA_RESERVED)
    assert condition is not None
    assert "flavor small: machines for all of its pods cannot be launched now" in condition.message
    stage.wait(30)
    assert flavor_of(stage, "job") == ""


def one_more(stage: Stage) -> None:
    in_stock(stage, small=2)


def another_limit(stage: Stage) -> None:
    stage.change(NODE_POOLS, "p", {"spec": {"limits": {"nodes": 5}}})


@pytest.mark.parametrize("change", [one_more, in_stock, another_limit])
def test_job_is_tried_again_at_once_when_there_is_more_to_launch(change: Callable[[Stage], None]) -> None:
    stage = only_small()
    change(stage)
    stage.settle()
    assert flavor_of(stage, "job") == "small"
    assert FAILED_FLAVORS not in stage.workload("job").metadata.annotations


@pytest.mark.parametrize("stock", [0, 1])
def test_job_is_not_tried_again_where_there_is_no_more_to_launch(stock: int) -> None:
    stage = only_small()
    in_stock(stage, small=0)
    stage.settle()
    in_stock(stage, small=stock)
    stage.settle()
    assert flavor_of(stage, "job") == ""


def test_job_is_tried_again_after_longer_and_longer() -> None:
    """Not everything that matters to a plan can be seen from here."""
    stage, waits = only_small(), list[float]()
    for _ in range(3):
        began = stage.now
        while not flavor_of(stage, "job"):
            assert stage.wake_at is not None
            stage.now = max(stage.wake_at, stage.now)
            stage.settle()
        waits.append((stage.now - began).total_seconds())
        refuse(stage)
        stage.findings = None
    assert [round(one, -1) for one in waits] == [60, 120, 240]


def test_stock_that_comes_and_goes_is_believed_less_and_less() -> None:
    stage = only_small()
    tries = 0
    for number in range(8):
        in_stock(stage, small=2 + number)
        stage.settle()
        if flavor_of(stage, "job"):
            tries += 1
            refuse(stage)
            stage.findings = None
    assert tries == 3


def test_job_without_a_place_holds_up_no_strict_queue() -> None:
    stage = a_stage(small="2", large="0")
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"queueingStrategy": "StrictFIFO"}})
    a_pair(stage)
    refuse(stage)
    stage.a_job("next")
    stage.settle()
    assert stage.admitted() == ["next"]


def test_jobs_with_the_same_pods_are_not_tried_in_vain() -> None:
    stage = a_stage(small="2", large="4")
    a_pair(stage)
    refuse(stage)
    a_pair(stage, "like")
    a_pair(stage, "other", cpu="500m")
    assert [flavor_of(stage, name) for name in ("job", "like", "other")] == ["large", "large", "small"]


def test_job_with_the_same_pods_is_tried_when_the_first_one_is_gone() -> None:
    stage = a_stage(small="2", large="0")
    a_pair(stage)
    refuse(stage)
    a_pair(stage, "like")
    assert flavor_of(stage, "like") == ""
    stage.change(WORKLOADS, stage.workload("job").metadata.name, {"metadata": {"annotations": {FAILED_FLAVORS: None}},
                                                                  "spec": {"active": False}})  # fmt: skip
    stage.settle()
    assert flavor_of(stage, "like") == "small"


# Nodes that stand


def test_nodes_that_stand_are_used_where_nothing_can_be_launched() -> None:
    stage = only_small()
    a_place(stage, cpu="1")
    stage.settle()
    assert flavor_of(stage, "job") == ""
    a_place(stage, "second", cpu="1")
    stage.settle()
    assert (flavor_of(stage, "job"), stage.workload("job").holds(ON_STANDING_NODES)) == ("small", True)
    make_pods(stage, "job", "node", "second")
    stage.play_jobs(ready=["job"])
    stage.settle()
    assert not stage.workload("job").holds(ON_STANDING_NODES)
    assert FAILED_FLAVORS not in stage.workload("job").metadata.annotations


def test_job_that_has_no_place_on_nodes_either_does_not_go_back_and_forth() -> None:
    """A plan sees what the queue does not look at."""
    stage = only_small()
    a_place(stage, cpu="2")
    stage.settle()
    refuse(stage)
    unmake_pods(stage, "job")
    stage.findings = None
    stage.settle()
    assert (flavor_of(stage, "job"), noted(stage)) == ("", "small=NoRoomOnNodes")
    assert stage.says("job", QUOTA_RESERVED) == ("False", "NoPlacement")


def test_flavors_are_refused_as_they_were_given_together() -> None:
    """Quota of cpu is of one flavor, and a job that had no place with the first one of memory may have one with the
    second."""
    stage = Stage(settings())
    for name in ("small", "large"):
        stage.a_flavor(name, nodeLabels={TYPE: name})
    stage.a_flavor("any")
    groups = [
        {"coveredResources": ["cpu"], "flavors": [_quota("any", "cpu")]},
        {"coveredResources": ["memory"], "flavors": [_quota("small", "memory"), _quota("large", "memory")]},
    ]
    stage.put(
        CLUSTER_QUEUES, {"metadata": {"name": "all"}, "spec": {"resourceGroups": groups, "namespaceSelector": {}}}
    )
    stage.a_door()
    stage.put(NODE_POOLS, {"metadata": {"name": "p"}, "spec": {"serverTypes": [{"name": "small"}, {"name": "large"}]}})
    in_stock(stage, small=1)
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": "1", "memory": "1"}}}
    a_pair(stage, pods={"containers": [container]})
    refuse(stage)
    admission = stage.workload("job").status.admission
    assert admission is not None
    assert admission.pod_set_assignments[0].flavors == {"cpu": "any", "memory": "large"}


def _quota(flavor: str, resource: str) -> dict[str, Any]:
    return {"name": flavor, "resources": [{"name": resource, "nominalQuota": "10"}]}
