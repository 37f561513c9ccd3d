"""What people see on the queues."""

from growth.api.actions import PatchObject
from growth.api.queue.kinds import CLUSTER_QUEUES, RESOURCE_FLAVORS
from growth.api.status import condition_of
from tests.decide.queue.stage import Stage, a_stage, settings


def condition(stage: Stage, kind: str = "Active") -> tuple[str, str]:
    found = condition_of(stage.queue().status.conditions, kind)
    return (found.status, found.reason) if found is not None else ("", "")


def total(stage: Stage) -> tuple[int | str, int | str]:
    status = stage.queue().status
    return status.flavors_reservation[0].resources[0].total, status.flavors_usage[0].resources[0].total


def test_a_queue_tells_who_waits_and_what_is_used() -> None:
    stage = a_stage(cpu="2")
    for name in ("one", "two", "three"):
        stage.a_job(name, cpu="900m")
    stage.settle()
    status = stage.queue().status
    assert (status.pending_workloads, status.reserving_workloads, status.admitted_workloads) == (1, 2, 2)
    assert total(stage) == ("1800m", "1800m")
    local_queue = stage.local_queue().status
    assert (local_queue.pending_workloads, local_queue.reserving_workloads, local_queue.admitted_workloads) == (1, 2, 2)
    assert local_queue.flavors_usage[0].resources[0].total == "1800m"


def test_counts_go_back_to_nothing() -> None:
    stage = a_stage()
    stage.a_job("one")
    stage.settle()
    stage.end("one")
    stage.settle()
    status = stage.queue().status
    assert (status.pending_workloads, status.reserving_workloads, status.admitted_workloads) == (0, 0, 0)
    assert total(stage) == ("0", "0")
    assert stage.local_queue().status.flavors_usage == ()


def test_what_has_not_changed_is_not_written_again() -> None:
    stage = a_stage()
    stage.a_job("one")
    stage.settle()
    assert [said for said in stage.look().said if isinstance(said, PatchObject)] == []


def test_a_queue_tells_whether_it_is_at_work() -> None:
    stage = a_stage()
    stage.settle()
    assert condition(stage) == ("True", "Ready")
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "Hold"}})
    stage.settle()
    assert condition(stage) == ("False", "Stopped")
    local_queue = condition_of(stage.local_queue().status.conditions, "Active")
    assert local_queue is not None
    assert (local_queue.status, local_queue.reason) == ("False", "ClusterQueueIsInactive")
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"stopPolicy": "None"}})
    stage.drop(RESOURCE_FLAVORS, "any")
    stage.settle()
    assert condition(stage) == ("False", "FlavorNotFound")


def test_a_strict_queue_with_creation_is_warned_of_the_seeds_drawback() -> None:
    """When used with StrictFIFO, the requeuingStrategy.timestamp: Creation policy could lead to a blocked queue."""
    stage = a_stage(settings(timestamp="Creation"), queueingStrategy="StrictFIFO")
    stage.settle()
    assert condition(stage, "RequeuingMayBlock") == ("True", "StrictFIFOWithCreation")
    stage.change(CLUSTER_QUEUES, "all", {"spec": {"queueingStrategy": "BestEffortFIFO"}})
    stage.settle()
    assert condition(stage, "RequeuingMayBlock") == ("", "")


def test_a_strict_queue_with_eviction_is_not() -> None:
    stage = a_stage(settings(), queueingStrategy="StrictFIFO")
    stage.settle()
    assert condition(stage, "RequeuingMayBlock") == ("", "")
