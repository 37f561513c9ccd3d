"""Machines of a flavor cannot be had: who would wait for them in vain goes elsewhere, at once."""

import msgspec
import pytest

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import PODS
from growth.api.node_request import PLANNED_FOR
from growth.api.queue.workload import EVICTED, QUOTA_RESERVED
from growth.api.settings.model import QueueSettings
from growth.api.status import condition_of
from tests.decide.marketplace import a_cloud, an_offering
from tests.decide.queue.stage import Stage, settings
from tests.decide.queue.test_unready_reasons import put_pod

TYPE = "node.kubernetes.io/instance-type"


def a_stage(**cpu: str) -> Stage:
    """Flavors of two types of machines, tried in this order, and a pool that buys both."""
    stage = Stage(settings())
    for name in ("small", "large"):
        stage.a_flavor(name, nodeLabels={TYPE: name})
    stage.a_queue(flavors=cpu or {"small": "1", "large": "1"})
    stage.a_door()
    types = [{"name": name} for name in ("small", "large")]
    stage.put(NODE_POOLS, {"metadata": {"name": "p"}, "spec": {"serverTypes": types}})
    in_stock(stage)
    return stage


def in_stock(stage: Stage, **stock: int) -> None:
    """How many there are of each; unlike that as many as one likes."""
    offerings = [an_offering(name, stock=stock.get(name)) for name in ("small", "large")]
    stage.clouds = {"kwok": msgspec.structs.replace(a_cloud(*offerings), read_at=stage.now)}


def flavor_of(stage: Stage, job: str) -> str:
    admission = stage.workload(job).status.admission
    return admission.pod_set_assignments[0].flavors["cpu"] if admission is not None else ""


def test_nobody_is_admitted_where_nothing_can_be_had() -> None:
    stage = a_stage()
    in_stock(stage, small=0)
    stage.a_job("job")
    stage.settle()
    assert flavor_of(stage, "job") == "large"


def test_who_waits_for_a_machine_that_cannot_be_had_moves_without_a_count() -> None:
    """Story 1, without the timeout: Growth knows."""
    stage = a_stage()
    stage.a_job("job")
    stage.settle()
    assert flavor_of(stage, "job") == "small"
    put_pod(stage, "job-1")
    in_stock(stage, small=0)
    stage.settle(jobs=False)
    assert stage.says("job", EVICTED) == ("True", "FlavorOutOfStock")
    stage.settle()
    assert flavor_of(stage, "job") == "large"
    assert stage.workload("job").status.requeue_state is None


def pod_uid(stage: Stage) -> str:
    return stage.objects[PODS, "default", "job-1"]["metadata"]["uid"]


def announced_uid(stage: Stage) -> str:
    return f"announced-{stage.workload('job').metadata.uid}-0"


def machine(stage: Stage, name: str, phase: str, *pods: str) -> None:
    """A machine was asked for, for these pods."""
    stage.put(
        NODE_REQUESTS,
        {
            "metadata": {"name": name, "annotations": {PLANNED_FOR: ",".join(pods)}},
            "spec": {"pool": "p", "targetOffering": "kwok-small-fsn1"},
            "status": {"phase": phase},
        },
    )


@pytest.mark.parametrize(
    ("phase", "is_announced", "stays"),
    [
        pytest.param("Provisioning", False, True, id="it comes for the pod"),
        pytest.param("Provisioning", True, True, id="it was bought before there were pods"),
        pytest.param("Unmet", False, False, id="it could not be had"),
        pytest.param("Unmet", True, False, id="it could not be had before there were pods"),
    ],
)
def test_whoever_has_bought_the_last_machine_waits_for_it(*, phase: str, is_announced: bool, stays: bool) -> None:
    """That nothing is left is what it has brought about itself."""
    stage = a_stage()
    stage.a_job("job")
    stage.settle()
    put_pod(stage, "job-1")
    machine(stage, "m", phase, announced_uid(stage) if is_announced else pod_uid(stage))
    in_stock(stage, small=0)
    stage.settle()
    assert flavor_of(stage, "job") == ("small" if stays else "large")


def test_one_machine_for_two_pods_is_not_enough_to_wait_for() -> None:
    stage = a_stage(small="2", large="2")
    stage.a_job("job", parallelism=2, completions=2)
    stage.settle()
    put_pod(stage, "job-1")
    put_pod(stage, "job-2")
    machine(stage, "m", "Provisioning", announced_uid(stage))
    in_stock(stage, small=0)
    stage.settle()
    assert flavor_of(stage, "job") == "large"


def test_a_machine_that_is_given_up_holds_nobody() -> None:
    """The flavor was closed before, so nothing is heard of it then."""
    stage = a_stage()
    stage.settings = msgspec.structs.replace(stage.settings, queue=QueueSettings(enabled=True))
    stage.a_job("job")
    stage.settle()
    put_pod(stage, "job-1")
    machine(stage, "m", "Provisioning", pod_uid(stage))
    in_stock(stage, small=0)
    stage.settle()
    assert flavor_of(stage, "job") == "small"
    stage.change(NODE_REQUESTS, "m", {"status": {"phase": "Unmet"}})
    stage.settle()
    assert flavor_of(stage, "job") == "large"


def test_who_never_gets_enough_machines_is_tried_less_and_less() -> None:
    """Else what can be had of them would be bought and given back for ever."""
    stage = a_stage(small="1", large="0")
    stage.a_job("job")
    waits: list[bool] = []
    for _ in range(5):
        in_stock(stage)
        stage.settle()
        waits.append(flavor_of(stage, "job") == "")
        stage.wait(125)
        assert flavor_of(stage, "job") == "small"
        put_pod(stage, "job-1")
        in_stock(stage, small=0)
        stage.settle()
        assert stage.says("job", EVICTED) == ("True", "FlavorOutOfStock")
        stage.drop(PODS, "job-1")
    assert waits == [False, False, False, False, True]
    assert stage.workload("job").status.requeue_state is None


def test_who_runs_stays() -> None:
    stage = a_stage()
    stage.a_job("job")
    stage.settle()
    stage.play_jobs(ready=["job"])
    in_stock(stage, small=0)
    stage.settle()
    assert flavor_of(stage, "job") == "small"


def test_both_are_out_of_stock_until_one_recovers() -> None:
    stage = a_stage()
    in_stock(stage, small=0, large=0)
    stage.a_job("job")
    stage.settle()
    assert stage.says("job", QUOTA_RESERVED) == ("False", "FlavorOutOfStock")
    reported = condition_of(stage.queue().status.conditions, "FlavorsOutOfStock")
    assert reported is not None
    assert "small" in reported.message
    in_stock(stage, small=0)
    stage.settle()
    assert flavor_of(stage, "job") == "large"
    in_stock(stage)
    stage.settle()
    assert condition_of(stage.queue().status.conditions, "FlavorsOutOfStock") is None


@pytest.mark.parametrize("stock", [1, 5])
def test_a_flavor_with_a_machine_left_is_open(stock: int) -> None:
    stage = a_stage()
    in_stock(stage, small=stock)
    stage.a_job("job")
    stage.settle()
    assert flavor_of(stage, "job") == "small"
