"""What ``growth queue`` and ``growth queue explain`` say of cohorts, and of who goes for whom."""

from typing import Any

import msgspec
import pytest

from bench.queue_cohort_scene import an_evening
from bench.queue_scene import NOW, SETTINGS, world_of
from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, WORKLOADS
from growth.cli.queue_entry import WorkloadPhase, WorkloadRow
from growth.cli.queue_explain_report import WorkloadReport
from growth.cli.queue_reader import see
from growth.cli.queue_report import QueueReport, report_of
from tests.builders import Json
from tests.cli.test_queue_explain import shown as shown_story
from tests.cli.test_queue_explain import story
from tests.cli.test_queue_report import entry, reported
from tests.cli.test_queue_view import shown
from tests.decide.queue.stage import Stage, settings
from tests.decide.queue.test_preemption_order import a_class, an_important_job


def a_cohort(stage: Stage, name: str, parent: str = "", cpu: str = "") -> None:
    spec: Json = {"parentName": parent} if parent else {}
    if cpu:
        spec["resourceGroups"] = quota({"nominalQuota": cpu})
    stage.put(COHORTS, {"metadata": {"name": name}, "spec": spec})


def quota(limits: Json) -> list[Json]:
    resources = [{"name": "cpu", **limits}]
    return [{"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": resources}]}]


def a_member(stage: Stage, name: str, cohort: str, cpu: str, limits: Json | None = None, **spec: Any) -> None:  # noqa: ANN401
    """A ClusterQueue in a cohort, and a LocalQueue of the same name."""
    groups = quota({"nominalQuota": cpu, **(limits or {})})
    inside: Json = {"resourceGroups": groups, "namespaceSelector": {}, "cohortName": cohort, **spec}
    stage.put(CLUSTER_QUEUES, {"metadata": {"name": name}, "spec": inside})
    stage.a_door(name, name)


def a_stage() -> Stage:
    stage = Stage(settings(wait=False))
    stage.a_flavor()
    a_class(stage, "high", 100)
    return stage


def two_of_a_cohort(**spec: Any) -> Stage:  # noqa: ANN401
    """The second queue has borrowed two of the first one's four cores."""
    stage = a_stage()
    a_member(stage, "first", "all", "4", **spec)
    a_member(stage, "second", "all", "1")
    for number in range(3):
        stage.a_job(f"guest-{number}", local_queue="second")
        stage.settle()
    return stage


def share(report: QueueReport, queue: str) -> tuple[int, int, int]:
    """What is used, borrowed and lent."""
    (found,) = [one for one in report.queues if one.name == queue]
    (only,) = found.shares
    return only.used, only.borrowed, only.lent


def test_queues_stand_below_their_cohorts() -> None:
    stage = a_stage()
    a_cohort(stage, "all")
    a_cohort(stage, "ml", "all")
    for name, cohort in (("train", "ml"), ("shop", "all"), ("alone", ""), ("zoo", "zoos")):
        a_member(stage, name, cohort, "1")
    stage.settle()
    report = reported(stage)
    assert [(one.name, one.path) for one in report.queues] == [
        ("alone", ()),
        ("shop", ("all",)),
        ("train", ("all", "ml")),
        ("zoo", ("zoos",)),
    ]
    assert [one.path for one in report.cohorts] == [("all",), ("all", "ml"), ("zoos",)]
    titles = [line for line in shown(report) if "cohort" in line or "at work" in line]
    assert titles == [
        "alone  BestEffortFIFO  ● at work",
        "▾ cohort all",
        "  shop  BestEffortFIFO  ● at work",
        "  ▾ cohort ml",
        "    train  BestEffortFIFO  ● at work",
        "▾ cohort zoos",
        "  zoo  BestEffortFIFO  ● at work",
    ]


def test_of_one_queue_the_cohorts_above_it_are_shown() -> None:
    stage = two_of_a_cohort()
    report = reported(stage, queue="second")
    assert [one.name for one in report.queues] == ["second"]
    assert [one.path for one in report.cohorts] == [("all",)]


def test_what_is_borrowed_by_one_is_lent_by_the_other() -> None:
    report = reported(two_of_a_cohort())
    assert share(report, "second") == (3000, 2000, 0)
    assert share(report, "first") == (0, 0, 2000)
    assert "    any   cpu ▒▒▒▒▒▒▒▒▒▒·········· 0 of 4, 2 lent" in shown(report)
    assert "    any   cpu ███████▓▓▓▓▓▓▓▓▓▓▓▓▓ 3 of 1, 2 borrowed" in shown(report)


def test_a_cohort_shows_the_quota_that_it_has_itself() -> None:
    stage = a_stage()
    a_cohort(stage, "all", cpu="4")
    a_member(stage, "only", "all", "1")
    stage.a_job("guest", cpu="2", local_queue="only")
    stage.settle()
    lines = shown(reported(stage))
    at = lines.index("▾ cohort all  with quota of its own")
    assert lines[at + 1] == "  any   cpu ▒▒▒▒▒··············· 0 of 4, 1 lent"


def test_a_cohort_without_queues_that_lends_is_shown() -> None:
    stage = a_stage()
    a_cohort(stage, "all")
    a_cohort(stage, "spare", "all", cpu="4")
    a_cohort(stage, "idle", "all")
    a_member(stage, "only", "all", "1")
    stage.a_job("guest", cpu="2", local_queue="only")
    stage.settle()
    lines = shown(reported(stage))
    at = lines.index("  ▾ cohort spare  with quota of its own")
    assert lines[at + 1] == "    any   cpu ▒▒▒▒▒··············· 0 of 4, 1 lent"
    assert not any("idle" in line for line in lines)


def test_cohorts_that_are_in_each_other_say_so() -> None:
    stage = a_stage()
    a_cohort(stage, "egg", "hen")
    a_cohort(stage, "hen", "egg")
    a_member(stage, "lost", "egg", "1")
    stage.a_job("job", local_queue="lost")
    stage.settle()
    report = reported(stage)
    assert {one.trouble for one in report.cohorts} == {
        "in a circle: egg in hen in egg",
        "in a circle: hen in egg in hen",
    }
    words = " ".join(shown(report))
    assert "lost  BestEffortFIFO  ✕ admits nobody: its cohorts are in each other (egg in hen in egg)" in words
    assert entry(report, "job").standing is WorkloadPhase.HELD


def test_without_a_cohort_nothing_is_borrowed_however_much_is_used() -> None:
    stage = a_stage()
    a_member(stage, "only", "", "2")
    stage.a_job("big", cpu="2", local_queue="only")
    stage.settle()
    stage.change(CLUSTER_QUEUES, "only", {"spec": {"resourceGroups": quota({"nominalQuota": "1"})}})
    stage.settle()
    assert share(reported(stage), "only") == (2000, 0, 0)


def facts(told: WorkloadReport) -> str:
    return " ".join(" ".join(shown_story(told)).split())


def test_who_waits_for_others_to_go_names_them() -> None:
    stage = two_of_a_cohort(preemption={"reclaimWithinCohort": "Any"})
    stage.a_job("owner", cpu="4", local_queue="first")
    stage.settle(jobs=False)
    found = entry(reported(stage), "owner")
    assert (found.standing, set(found.waits_for)) == (WorkloadPhase.QUEUED, {"default/guest-1", "default/guest-2"})
    assert found.why in (
        "waits for default/guest-1, default/guest-2 to go",
        "waits for default/guest-2, default/guest-1 to go",
    )
    told = story(stage, "owner")
    assert told.changes == ()
    assert set(told.victims) == {"default/guest-1 (1 cpu)", "default/guest-2 (1 cpu)"}
    assert told.next.endswith("are gone: what they hold is kept for it.")
    assert any(step.words.endswith("to go (WaitingForPreemptedWorkloads)") for step in told.steps)


def test_who_has_to_go_is_known_before_that_is_written() -> None:
    stage = two_of_a_cohort(preemption={"reclaimWithinCohort": "Any"})
    stage.a_job("owner", cpu="4", local_queue="first")
    stage.look()
    for said in stage.look().said:
        if type(said).__name__ == "CreateObject":
            stage.take(said)
    assert set(entry(reported(stage), "owner").waits_for) == {"default/guest-1", "default/guest-2"}


def test_whose_quota_was_taken_back_knows_by_whom() -> None:
    stage = two_of_a_cohort(preemption={"reclaimWithinCohort": "Any"})
    stage.a_job("owner", cpu="4", local_queue="first")
    stage.settle(jobs=False)
    leaving = entry(reported(stage), "guest-2")
    why = "queue first took back what is its own, for default/owner"
    assert (leaving.standing, leaving.why) == (WorkloadPhase.LEAVING, why)
    stage.settle()
    queued = entry(reported(stage), "guest-2")
    assert queued.standing is WorkloadPhase.QUEUED
    assert queued.why.startswith(f"sent back: {why}; 1 cpu are asked for")
    assert queued.sent_back is not None
    assert (queued.sent_back.by, queued.sent_back.reason) == ("default/owner", "InCohortReclamation")
    told = story(stage, "guest-2")
    (step,) = [one.words for one in told.steps if why in one.words]
    assert step == f"it was sent back (InCohortReclamation): {why}"
    assert "default/owner (4 cpu, queue first)" in told.holders[0]


def test_who_gave_way_in_its_queue_knows_to_whom() -> None:
    stage = a_stage()
    a_member(stage, "only", "", "1", preemption={"withinClusterQueue": "LowerPriority"})
    stage.a_job("low", local_queue="only")
    stage.settle()
    an_important_job(stage, "high", local_queue="only")
    stage.settle()
    why = "default/high comes before it in the same queue (priority 100 against 0)"
    assert entry(reported(stage), "low").why.startswith(f"sent back: {why}")


def test_who_gave_way_to_one_that_borrows_knows_that() -> None:
    stage = a_stage()
    borrowing = {"reclaimWithinCohort": "LowerPriority", "borrowWithinCohort": {"policy": "LowerPriority"}}
    a_member(stage, "mighty", "all", "0", preemption=borrowing)
    a_member(stage, "weak", "all", "0")
    a_member(stage, "owner", "all", "1")
    stage.a_job("low", local_queue="weak")
    stage.settle()
    an_important_job(stage, "high", local_queue="mighty")
    stage.settle()
    found = entry(reported(stage), "low")
    assert found.sent_back is not None
    assert found.sent_back.reason == "InCohortReclaimWhileBorrowing"
    words = "default/high of queue mighty is more important, and borrows what it had (priority 100 against 0)"
    assert found.sent_back.why == words


def test_one_that_has_quota_again_was_not_sent_back() -> None:
    stage = two_of_a_cohort(preemption={"reclaimWithinCohort": "Any"})
    stage.a_job("owner", cpu="4", local_queue="first")
    stage.settle()
    stage.end("owner")
    stage.settle()
    found = entry(reported(stage), "guest-2")
    assert (found.standing, found.sent_back) == (WorkloadPhase.RUNNING, None)


def test_one_that_was_evicted_for_something_else_since_was_not_sent_back() -> None:
    stage = two_of_a_cohort(preemption={"reclaimWithinCohort": "Any"})
    stage.a_job("owner", cpu="4", local_queue="first")
    stage.settle()
    workload = stage.workload("guest-2")
    conditions = [
        {**msgspec.to_builtins(one), "reason": "Drained" if one.type == "Evicted" else one.reason}
        for one in workload.status.conditions
    ]
    stage.change(WORKLOADS, workload.metadata.name, {"status": {"conditions": conditions}})
    assert entry(reported(stage), "guest-2").sent_back is None


def test_who_may_borrow_no_more_is_told_which_limit_to_raise() -> None:
    stage = a_stage()
    a_member(stage, "bound", "all", "1", {"borrowingLimit": "1"})
    a_member(stage, "rich", "all", "8")
    for number in range(3):
        stage.a_job(f"job-{number}", local_queue="bound")
        stage.settle()
    stage.a_job("other", local_queue="rich")
    stage.settle()
    told = story(stage, "job-2")
    assert "◌ too little: it may borrow 1 cpu at most (borrowingLimit), and has borrowed 1 cpu" in facts(told)
    assert "raise the borrowingLimit of cpu, flavor any, in bound" in told.changes
    assert "default/other" not in told.holders[0]


def test_who_could_have_what_another_keeps_to_itself_is_told_so() -> None:
    stage = a_stage()
    a_member(stage, "poor", "all", "1")
    a_member(stage, "keeper", "all", "8", {"lendingLimit": "0"})
    for number in range(2):
        stage.a_job(f"job-{number}", local_queue="poor")
        stage.settle()
    told = story(stage, "job-1")
    assert "keeper keeps 8 cpu to itself (lendingLimit)" in facts(told)
    assert "raise the lendingLimit of cpu, flavor any, in keeper" in told.changes


def test_whose_own_is_lent_is_told_how_to_take_it_back() -> None:
    stage = two_of_a_cohort()
    stage.a_job("owner", cpu="4", local_queue="first")
    stage.settle()
    told = story(stage, "owner")
    words = (
        "others have borrowed 2 cpu of it: with preemption.reclaimWithinCohort ClusterQueue first would take that back"
    )
    assert words in told.changes
    assert told.holders[0].startswith("flavor any: default/guest-0 (1 cpu, queue second)")


def test_who_is_behind_a_head_knows_what_that_one_lacks() -> None:
    stage = a_stage()
    a_member(stage, "strict", "", "2", queueingStrategy="StrictFIFO")
    for name, cpu in (("runs", "1"), ("big", "2"), ("small", "1")):
        stage.a_job(name, cpu=cpu, local_queue="strict")
        stage.settle()
    head = "default/big: 2 cpu are asked for, and of flavor any are left 1 cpu"
    assert story(stage, "small").held_up_by == head
    assert f"held up by {head}" in facts(story(stage, "small"))
    assert story(stage, "big").held_up_by == ""


LONG = "a-name-that-says-everything-about-what-it-is-for-and-goes-on-and-on"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_long_names_and_deep_cohorts_do_not_break_it(width: int) -> None:
    stage = a_stage()
    above = ""
    for depth in range(12):
        a_cohort(stage, f"{LONG}-{depth}", above)
        above = f"{LONG}-{depth}"
    a_member(stage, f"{LONG}-queue", above, "1", preemption={"withinClusterQueue": "LowerPriority"})
    stage.a_job(f"{LONG}-1"[-60:], local_queue=f"{LONG}-queue")
    stage.settle()
    an_important_job(stage, f"{LONG}-2"[-60:], local_queue=f"{LONG}-queue")
    stage.settle(jobs=False)
    report = reported(stage)
    lines = [*shown(report, width), *shown_story(story(stage, f"{LONG}-2"[-60:]), width)]
    assert max(map(len, lines)) <= width
    # Both ends of a name are there.
    rows: list[WorkloadRow] = list(report.entries)
    assert len(rows) == 2
    assert sum("on-1" in line for line in lines) >= 1
    assert sum("on-2" in line for line in lines) >= 1


@pytest.mark.parametrize("width", [80, 120])
def test_the_picture_shows_who_goes_for_whom_and_what_is_out_of_stock(width: int) -> None:
    report = report_of(see(world_of(an_evening()).snapshot(NOW), SETTINGS))
    lines = shown(report, width)
    assert max(map(len, lines)) <= width
    words = " ".join(" ".join(lines).split())
    for said in (
        "0 of 8, 8 lent",
        "8 of 24, 6 lent",
        "30 of 16, 14 borrowed",
        "waits for batch/report-3 to go",
        "queue web took back what is its own, for web/checkout",
        "✕ flavor spot is closed: none of its machines can be had now",
    ):
        assert said in words
