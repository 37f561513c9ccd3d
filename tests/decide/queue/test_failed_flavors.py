"""Story 1 of the seed: who could not start on one flavor starts on another one as soon as that has room."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.kinds import PODS
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.workload import EVICTED, REQUEUED
from growth.api.settings.model import Settings
from growth.decide.queue.failed_flavors import FAILED_FLAVORS
from tests.decide.queue.stage import Stage, settings
from tests.decide.queue.test_flavor_migration import a_stage as a_stage_with_a_shop
from tests.decide.queue.test_flavor_migration import flavor_of, in_stock
from tests.decide.queue.test_unready_reasons import put_node, put_pod

LATE = timedelta(minutes=5).total_seconds()


def a_stage(
    terms: Settings | None = None,
    flavors: tuple[str, ...] = ("first", "second"),
    **queue: Any,  # noqa: ANN401
) -> Stage:
    """Flavors of somebody else's nodes, tried in this order. The first is taken by a job that runs."""
    stage = Stage(terms)
    for name in flavors:
        stage.a_flavor(name, nodeLabels={"type": name})
    stage.a_queue(flavors=dict.fromkeys(flavors, "1"), **queue)
    stage.a_door()
    stage.a_job("other")
    stage.settle()
    stage.play_jobs(ready=["other"])
    stage.a_job("job")
    stage.settle()
    assert (flavor_of(stage, "other"), flavor_of(stage, "job")) == ("first", "second")
    return stage


def fail(stage: Stage, **pod: Any) -> None:  # noqa: ANN401
    """The job's pod does not get ready in time."""
    put_pod(stage, "job-1", **pod)
    stage.wait(LATE)
    assert stage.says("job", EVICTED) == ("True", "PodsReadyTimeout")
    stage.drop(PODS, "job-1")
    stage.settle()


def failures(stage: Stage) -> str:
    return stage.workload("job").metadata.annotations.get(FAILED_FLAVORS, "")


def free_the_first(stage: Stage) -> None:
    stage.end("other")
    stage.settle()


def test_it_is_admitted_where_something_is_free_while_its_backoff_lasts() -> None:
    stage = a_stage()
    fail(stage)
    assert failures(stage) == "second=PodsReadyTimeout"
    assert flavor_of(stage, "job") == ""
    free_the_first(stage)
    assert flavor_of(stage, "job") == "first"
    assert "job" in stage.running()
    assert stage.says("job", REQUEUED) == ("True", "UntriedFlavor")
    state = stage.workload("job").status.requeue_state
    assert state is not None
    assert (state.count, state.requeue_at) == (1, None)


def test_flavor_on_which_a_job_ran_and_did_not_recover_is_noted_as_such() -> None:
    stage = a_stage()
    stage.play_jobs(ready=["job"])
    stage.settle()
    stage.change(QUEUED_JOBS, "job", {"status": {"ready": 0}})
    stage.settle()
    fail(stage)
    assert failures(stage) == "second=WaitForRecovery"
    free_the_first(stage)
    assert flavor_of(stage, "job") == "first"


def test_it_goes_at_once_if_the_other_one_has_room_already() -> None:
    stage = a_stage(flavors=("first", "second", "third"))
    put_pod(stage, "job-1")
    stage.wait(LATE)
    assert flavor_of(stage, "job") == "third"


def test_who_could_not_start_for_another_reason_waits() -> None:
    stage = a_stage()
    put_node(stage, "node")
    fail(stage, node="node", waits_for={"reason": "ImagePullBackOff"})
    free_the_first(stage)
    assert (failures(stage), flavor_of(stage, "job")) == ("", "")
    stage.wait(70)
    assert flavor_of(stage, "job") == "first"


def test_who_has_tried_all_waits_and_begins_with_the_one_that_failed_first() -> None:
    stage = a_stage()
    fail(stage)
    free_the_first(stage)
    fail(stage)
    assert failures(stage) == "second=PodsReadyTimeout,first=PodsReadyTimeout"
    assert flavor_of(stage, "job") == ""
    stage.wait(130)
    assert flavor_of(stage, "job") == "second"


def test_if_nothing_else_has_room_it_is_tried_once_more_after_the_backoff() -> None:
    stage = a_stage()
    fail(stage)
    stage.wait(70)
    assert flavor_of(stage, "job") == "second"


def test_where_the_setting_says_so_everybody_waits() -> None:
    terms = settings()
    stage = a_stage(msgspec.structs.replace(terms, queue=msgspec.structs.replace(terms.queue, try_other_flavors=False)))
    fail(stage)
    free_the_first(stage)
    assert flavor_of(stage, "job") == ""
    stage.wait(70)
    assert flavor_of(stage, "job") == "first"


def test_it_holds_up_nobody_in_a_strict_queue() -> None:
    stage = a_stage(settings(timestamp="Creation"), queueingStrategy="StrictFIFO")
    fail(stage)
    stage.a_job("behind")
    stage.settle()
    assert flavor_of(stage, "behind") == "second"


def test_nobody_has_to_go_for_it() -> None:
    stage = a_stage(settings(), preemption={"withinClusterQueue": "LowerOrNewerEqualPriority"})
    fail(stage)
    assert "other" in stage.running()
    assert stage.says("other", EVICTED) == ("", "")


def test_a_place_is_proven_good_by_running_there() -> None:
    stage = a_stage()
    fail(stage)
    stage.wait(70)
    stage.play_jobs(ready=["job"])
    stage.settle()
    assert failures(stage) == ""


@pytest.mark.parametrize("is_seen_before", [False, True])
def test_a_flavor_without_machines_is_forgiven_when_there_are_some(*, is_seen_before: bool) -> None:
    """Also one of which that was only learnt after it had failed."""
    stage = a_stage_with_a_shop(small="1", large="0")
    stage.a_job("job")
    stage.settle()
    put_pod(stage, "job-1")
    if is_seen_before:
        in_stock(stage, small=0)
        stage.settle()
        assert stage.says("job", EVICTED) == ("True", "FlavorOutOfStock")
    else:
        stage.wait(LATE)
        assert failures(stage) == "small=PodsReadyTimeout"
        in_stock(stage, small=0)
        stage.settle()
    assert failures(stage) == "small=FlavorOutOfStock"
    in_stock(stage)
    stage.settle()
    assert failures(stage) == ""
    assert flavor_of(stage, "job") == ("small" if is_seen_before else "")
