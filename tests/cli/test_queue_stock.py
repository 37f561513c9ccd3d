"""What ``growth queue`` and ``growth queue explain`` say of flavors whose machines cannot be had, or that failed."""

from datetime import timedelta

import msgspec

from growth.api.queue.cluster_queues import SHORT, ClusterQueue
from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOADS
from growth.api.status import StatusCondition, condition_of
from growth.cli.queue_entry import WorkloadPhase
from growth.cli.queue_explain_report import WorkloadReport
from growth.cli.queue_stock import closed_by
from growth.decide.queue.failed_flavors import FAILED_FLAVORS
from tests.cli.test_queue_explain import shown as shown_story
from tests.cli.test_queue_explain import story
from tests.cli.test_queue_report import entry, reported
from tests.cli.test_queue_view import shown
from tests.decide.queue.stage import Stage, read
from tests.decide.queue.test_flavor_migration import a_stage, in_stock
from tests.decide.queue.test_gangs import only_small


def words_of(told: WorkloadReport) -> str:
    return " ".join(" ".join(shown_story(told)).split())


def test_a_flavor_that_is_out_of_stock_is_marked_with_why() -> None:
    stage = a_stage()
    in_stock(stage, small=0)
    stage.a_job("job")
    stage.settle()
    report = reported(stage)
    shares = {one.flavor: one.closed for one in report.queues[0].shares}
    assert shares["small"].startswith("none of its machines can be had now (small")
    assert shares["large"] == ""
    assert report.queues[0].warnings == ()
    lines = shown(report)
    assert any(line.startswith("  ✕ small ") for line in lines)
    assert f"  ✕ flavor small is closed: {shares['small']}" in lines


def test_who_waits_for_a_closed_flavor_is_not_told_that_there_is_quota() -> None:
    stage = a_stage()
    in_stock(stage, small=0, large=0)
    stage.a_job("job")
    stage.settle()
    found = entry(reported(stage), "job")
    assert found.standing is WorkloadPhase.QUEUED
    assert found.why.startswith("flavor small: none of its machines can be had now")
    told = story(stage, "job")
    assert words_of(told).count("✕ out of stock") == 2
    assert [change.partition(": Growth tries")[1] for change in told.changes] == [": Growth tries"] * 2


def test_each_flavor_has_its_own_sentence_whatever_words_are_in_it() -> None:
    stage = a_stage()
    stage.settle()
    queue: ClusterQueue = read(CLUSTER_QUEUES, stage.objects[CLUSTER_QUEUES, "", "all"])
    assert condition_of(queue.status.conditions, SHORT) is None
    assert closed_by([queue]) == {}
    message = "flavor small: sold out (cx22; flavor unknown: x): later; flavor large: none left; try again"
    said = StatusCondition(SHORT, "True", "FlavorOutOfStock", message)
    stage.change(CLUSTER_QUEUES, "all", {"status": {"conditions": [_plain(said)]}})
    assert closed_by([stage.queue()]) == {
        "small": "sold out (cx22; flavor unknown: x): later",
        "large": "none left; try again",
    }


def _plain(said: StatusCondition) -> dict[str, str]:
    return {"type": said.type, "status": said.status, "reason": said.reason, "message": said.message}


def a_failure(stage: Stage, failed: str) -> None:
    """A job that was not ready in time on one flavor, and another one that has all of the other."""
    stage.a_job("first")
    stage.settle()
    stage.a_job("other")
    stage.settle()
    stage.play_jobs(ready=["other"])
    stage.settle()
    stage.wait(5 * 60 + 1)
    name = stage.workload("first").metadata.name
    stage.change(WORKLOADS, name, {"metadata": {"annotations": {FAILED_FLAVORS: failed}}})


def test_who_failed_on_a_flavor_waits_only_for_the_others_until_its_backoff_is_over() -> None:
    stage = a_stage()
    a_failure(stage, "small=FlavorOutOfStock")
    found = entry(reported(stage), "first")
    assert (found.standing, found.position, found.failed) == (WorkloadPhase.BACKOFF, 0, {"small": "FlavorOutOfStock"})
    assert found.why.endswith("it failed on small (no machines could be had); until then it waits only for large")
    told = story(stage, "first")
    assert told.next.endswith("it is queued again for every flavor; large may serve it before.")
    assert "● enough, but it failed here: no machines could be had" in words_of(told)


def test_job_without_a_place_is_told_with_the_flavor_and_what_helps() -> None:
    stage = only_small()
    found = entry(reported(stage), "job")
    assert (found.standing, found.failed) == (WorkloadPhase.QUEUED, {"small": "NoPlacement"})
    assert "it failed on small (no place for all of its pods)" in found.why
    told = story(stage, "job")
    assert "● enough, but it failed here: no place for all of its pods" in words_of(told)
    assert "machines for all of its pods cannot be launched now: Growth tries again by itself" in told.changes[0]


def test_who_failed_everywhere_waits_until_its_backoff_is_over() -> None:
    stage = a_stage()
    a_failure(stage, "small=FlavorOutOfStock,large=PodsReadyTimeout")
    found = entry(reported(stage), "first")
    assert found.why.endswith("it failed on small (no machines could be had), large (not ready in time)")
    assert story(stage, "first").next.endswith("it is queued again.")


def test_flavor_without_recovery_is_explained_as_such() -> None:
    stage = a_stage()
    a_failure(stage, "small=WaitForRecovery,large=PodsReadyTimeout")
    words = "it failed on small (it ran there and did not recover in time), large (not ready in time)"
    assert entry(reported(stage), "first").why.endswith(words)


def test_when_its_backoff_is_over_it_tries_the_others_first() -> None:
    stage = a_stage(small="1", large="1")
    a_failure(stage, "small=SomethingNew")
    stage.now += timedelta(minutes=2)
    found = entry(reported(stage), "first")
    assert found.standing is WorkloadPhase.QUEUED
    assert found.why.startswith("it failed on small (SomethingNew), so it tries large first")


def test_where_nobody_may_try_others_early_it_does_not_say_so() -> None:
    stage = a_stage()
    a_failure(stage, "small=FlavorOutOfStock")
    queue = msgspec.structs.replace(stage.settings.queue, try_other_flavors=False)
    strict = msgspec.structs.replace(stage.settings, queue=queue)
    assert "until then" not in entry(reported(stage, strict), "first").why
    assert story(stage, "first", strict).next.endswith("it is queued again.")
