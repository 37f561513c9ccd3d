"""Machines of a flavor cannot be had: who would wait for them in vain goes elsewhere, at once."""

import msgspec
import pytest

from growth.api.growth_kinds import NODE_POOLS
from growth.api.queue.workload import EVICTED, QUOTA_RESERVED
from growth.api.status import condition_of
from tests.decide.marketplace import a_cloud, an_offering
from tests.decide.queue.stage import Stage, settings
from tests.decide.queue.test_diagnosis import put_pod

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
    told = condition_of(stage.queue().status.conditions, "FlavorsOutOfStock")
    assert told is not None
    assert "small" in told.message
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
