"""Who gets quota: in order, and never the same quota twice."""

from collections.abc import Callable
from typing import Any

import pytest

from growth.api.actions import PatchObject
from growth.api.kinds import NAMESPACES, Kind
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.workload import EVICTED, PODS_READY, QUOTA_RESERVED
from growth.decide.contract import Decision
from tests.decide.queue.stage import Stage, a_stage, settings


def admissions(decision: Decision[Any]) -> list[str]:
    """The workloads that are given something, by their names without the digest."""
    return [
        said.subject.name[:-6].removeprefix("job-")
        for said in decision.said
        if isinstance(said, PatchObject) and said.subresource == "status" and said.body["status"].get("admission")
    ]


def queued(stage: Stage, *jobs: str) -> Stage:
    """Jobs that have workloads of which nothing is said yet."""
    for job in jobs:
        stage.a_job(job)
    for said in stage.look().said:
        stage.take(said)
    return stage


def test_many_are_admitted_in_one_pass_in_the_order_of_their_creation() -> None:
    stage = queued(a_stage(cpu="2"), "c", "b", "a")
    assert sorted(admissions(stage.look())) == ["b", "c"]


def test_a_higher_priority_comes_first() -> None:
    stage = queued(a_stage(), "low", "high")
    stage.change(WORKLOADS, stage.workload("high").metadata.name, {"spec": {"priority": 5}})
    assert admissions(stage.look()) == ["high"]


def test_the_order_goes_across_queues_that_compete() -> None:
    """Heads of all queues stand in one line: with a cohort, what one gets the other does not."""
    stage = Stage()
    stage.a_flavor()
    for name, cpu in (("one", "0"), ("two", "0"), ("spare", "1")):
        stage.a_queue(name, cpu=cpu, cohortName="team")
        stage.a_door(f"door-{name}", name)
    stage.a_job("early", local_queue="door-two")
    stage.a_job("late", local_queue="door-one")
    stage.settle()
    assert stage.admitted() == ["early"]


def test_whoever_need_not_borrow_comes_before_whoever_must() -> None:
    stage = Stage()
    stage.a_flavor()
    for name, cpu in (("one", "1"), ("two", "0")):
        stage.a_queue(name, cpu=cpu, cohortName="team")
        stage.a_door(f"door-{name}", name)
    stage.a_job("early", local_queue="door-two")
    stage.a_job("late", local_queue="door-one")
    stage.settle()
    assert stage.admitted() == ["late"]


@pytest.mark.parametrize(("strategy", "after"), [("StrictFIFO", []), ("BestEffortFIFO", ["small"])])
def test_whoever_cannot_be_served_holds_up_a_strict_queue_only(strategy: str, after: list[str]) -> None:
    stage = a_stage(cpu="2", queueingStrategy=strategy)
    stage.a_job("large", cpu="3")
    stage.a_job("small")
    stage.settle()
    assert stage.admitted() == after
    assert stage.says("large", QUOTA_RESERVED) == ("False", "ExceedsMaxQuota")
    if not after:
        waits = stage.workload("small").condition(QUOTA_RESERVED)
        assert waits is not None
        assert "StrictFIFO" in waits.message


def test_a_workload_in_its_backoff_does_not_hold_up_a_strict_queue() -> None:
    stage = a_stage(settings(timestamp="Creation"), queueingStrategy="StrictFIFO")
    stage.a_job("lost")
    stage.a_job("next")
    stage.settle()
    stage.wait(300)
    assert stage.says("lost", EVICTED) == ("True", "PodsReadyTimeout")
    stage.settle()
    assert stage.admitted() == ["next"]


def test_who_is_in_a_namespace_that_is_not_selected_waits_and_holds_up_nobody() -> None:
    stage = a_stage(queueingStrategy="StrictFIFO", namespaceSelector={"matchLabels": {"team": "b"}})
    stage.a_job("one")
    stage.settle()
    assert stage.says("one", QUOTA_RESERVED) == ("False", "Misconfigured")
    stage.change(NAMESPACES, "default", {"metadata": {"labels": {"team": "b"}}})
    stage.settle()
    assert stage.admitted() == ["one"]


def test_a_queue_without_a_selector_is_for_nobody() -> None:
    stage = a_stage(namespaceSelector=None)
    stage.a_job("one")
    stage.settle()
    assert stage.admitted() == []


def _stop(stage: Stage, kind: Kind[Any], name: str) -> None:
    stage.change(kind, name, {"spec": {"stopPolicy": "Hold"}})


@pytest.mark.parametrize(
    ("break_it", "kind", "name", "reason"),
    [
        (Stage.drop, LOCAL_QUEUES, "door", "Misconfigured"),
        (Stage.drop, CLUSTER_QUEUES, "all", "Misconfigured"),
        (Stage.drop, RESOURCE_FLAVORS, "any", "Misconfigured"),
        (_stop, CLUSTER_QUEUES, "all", "Suspended"),
        (_stop, LOCAL_QUEUES, "door", "Suspended"),
    ],
    ids=["no door", "no queue", "no flavor", "queue stopped", "door stopped"],
)
def test_a_queue_that_is_not_at_work_admits_nobody_and_others_go_on(
    break_it: Callable[[Stage, Kind[Any], str], None], kind: Kind[Any], name: str, reason: str
) -> None:
    stage = a_stage()
    stage.a_flavor("fine")
    stage.a_queue("other", flavors={"fine": "1"})
    stage.a_door("other-door", "other")
    break_it(stage, kind, name)
    stage.a_job("one")
    stage.a_job("other", local_queue="other-door")
    stage.settle()
    assert stage.admitted() == ["other"]
    assert stage.says("one", QUOTA_RESERVED) == ("False", reason)


def test_what_nobody_can_read_is_said_on_it_and_others_go_on() -> None:
    stage = queued(a_stage(), "two")
    bad = {"name": "main", "count": 1, "template": {"spec": {"containers": "none"}}}
    stage.put(WORKLOADS, {"metadata": {"name": "job-one-bad"}, "spec": {"queueName": "door", "podSets": [bad]}})
    stage.settle()
    assert stage.says("one", QUOTA_RESERVED) == ("False", "Misconfigured")
    assert stage.admitted() == ["two"]


def test_one_queue_with_a_quota_that_is_no_quantity_harms_no_other() -> None:
    stage = a_stage()
    stage.a_queue("odd", cpu="plenty")
    stage.a_door("odd-door", "odd")
    stage.a_job("lost", local_queue="odd-door")
    stage.a_job("one")
    stage.settle()
    assert stage.admitted() == ["one"]
    assert stage.says("lost", QUOTA_RESERVED) == ("False", "Misconfigured")


def test_with_block_admission_one_comes_after_the_other_is_ready() -> None:
    stage = a_stage(settings(block=True), cpu="9")
    stage.a_queue("other", cpu="9")
    stage.a_door("other-door", "other")
    stage.a_job("first")
    stage.a_job("second", local_queue="other-door")
    stage.settle()
    assert stage.admitted() == ["first"]
    assert stage.says("second", QUOTA_RESERVED) == ("False", "WaitingForPodsReady")
    stage.play_jobs(ready=["first"])
    stage.settle()
    assert stage.admitted() == ["first", "second"]
    assert stage.says("first", PODS_READY) == ("True", "Started")


def test_what_was_decided_counts_until_it_is_seen() -> None:
    """The first is admitted; before that is seen, somebody with a higher priority comes."""
    stage = queued(a_stage(), "first")
    before = dict(stage.objects)
    first = stage.look()
    stage.a_job("urgent")
    (urgent,) = [said for said in stage.look(dict(stage.objects)).said if said.subject.name.startswith("job-urgent")]
    stage.take(urgent)
    stage.change(WORKLOADS, stage.workload("urgent").metadata.name, {"spec": {"priority": 9}})
    stale = {**stage.objects, **before}
    assert admissions(stage.look(stale)) == ["first"], "it is decided once more"
    for said in first.said:
        stage.take(said)
    stage.settle()
    assert stage.admitted() == ["first"]


def test_what_was_decided_counts_also_when_its_door_is_closed_meanwhile() -> None:
    stage = queued(a_stage(), "first")
    stage.a_door("second-door")
    first = stage.look()
    assert admissions(first) == ["first"]
    before = dict(stage.objects)
    stage.change(LOCAL_QUEUES, "door", {"spec": {"stopPolicy": "Hold"}})
    stage.a_job("second", local_queue="second-door")
    for said in stage.look({**stage.objects, **{key: one for key, one in before.items() if key[0] is WORKLOADS}}).said:
        if said.subject.name.startswith("job-second"):
            stage.take(said)
    assert admissions(stage.look()) == [], "the write for the first may still be under way"
    for said in first.said:
        stage.take(said)
    stage.settle()
    assert stage.admitted() == ["first"]


def test_an_admission_that_failed_because_somebody_changed_the_workload_is_forgotten() -> None:
    stage = queued(a_stage(), "first", "second")
    first = stage.look()
    stage.change(WORKLOADS, stage.workload("first").metadata.name, {"spec": {"active": False}})
    assert not any(stage.take(said) for said in first.said if said.subject.name.startswith("job-first"))
    stage.settle()
    assert stage.admitted() == ["second"]


def test_a_quota_that_shrinks_takes_nothing_away_and_gives_nothing() -> None:
    stage = a_stage(cpu="2")
    stage.a_job("one")
    stage.a_job("two")
    stage.settle()
    groups = stage.objects[CLUSTER_QUEUES, "", "all"]["spec"]["resourceGroups"]
    groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = "1"
    stage.end("one")
    stage.a_job("three")
    stage.settle()
    assert stage.admitted() == ["two"]
    assert stage.says("three", QUOTA_RESERVED) == ("False", "WaitingForQuota")
