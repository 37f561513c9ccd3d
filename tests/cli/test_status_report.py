"""What ``growth status`` concludes from what is written in the cluster."""

import re
from datetime import timedelta

import msgspec
import pytest

from bench.status_scene import LEADER, NAMESPACE, NOW, a_night, a_pool, a_report, ago
from growth.api.core import ConfigMap
from growth.api.growth_status import GROWTH_STATUS, STATUS, ClusterStatus, PoolHealth, TroubledNode
from growth.api.meta import ObjectMeta
from growth.api.node_pool import NodeCounts, NodePoolStatus, OfferingStatus, Unhealthy
from growth.api.status import StatusCondition
from growth.cli.status_report import ClosedOffering, HealthSummary, LeaderView, PoolStatusRow, StatusReport, report_of
from tests.repository import page_text

GONE = LeaderView(is_alive=False, holder="growth-1", renewed_at=ago(hours=3), why="it was last seen 3h ago")


@pytest.mark.parametrize(
    ("report", "health", "code"),
    [
        pytest.param(a_report(ClusterStatus()), HealthSummary.HEALTHY, 0, id="a healthy cluster"),
        pytest.param(a_report(*a_night()), HealthSummary.UNHEALTHY, 1, id="an unhealthy one"),
        pytest.param(
            a_report(ClusterStatus(is_healthy=False, alarm="alarm")),
            HealthSummary.UNHEALTHY,
            1,
            id="unhealthy, not halted",
        ),
        pytest.param(a_report(None), HealthSummary.UNKNOWN, 1, id="nobody has said anything"),
        pytest.param(
            a_report(ClusterStatus(), leader=GONE), HealthSummary.UNKNOWN, 1, id="whoever called it healthy is gone"
        ),
        pytest.param(a_report(*a_night(), GONE), HealthSummary.UNKNOWN, 1, id="whoever called it unhealthy is gone"),
    ],
)
def test_only_what_a_living_leader_calls_healthy_is_healthy(
    report: StatusReport, health: HealthSummary, code: int
) -> None:
    assert (report.health, report.exit_code) == (health, code)
    assert bool(report.problem) == (health is HealthSummary.UNKNOWN)


def test_what_somebody_else_wrote_into_the_config_map_is_not_believed() -> None:
    found = ConfigMap(ObjectMeta(name=GROWTH_STATUS), {STATUS: "all is well"})
    report = report_of(found, (), LEADER, NAMESPACE, NOW)
    assert report.health is HealthSummary.UNKNOWN
    assert "growth-system/growth-status cannot be read" in report.problem


def test_what_was_written_last_is_still_told() -> None:
    report = a_report(*a_night(), GONE)
    assert report.was_told
    assert (report.is_halted, report.unready, report.foreign_unready) == (True, 9, 2)
    assert report.problem == "Growth is not running: it was last seen 3h ago"


def test_a_pool_tells_what_is_closed_and_until_when() -> None:
    unhealthy = Unhealthy("", ago(minutes=3), "2 of 3 are unready")
    until = NOW + timedelta(minutes=2)
    sold_out = OfferingStatus("kwok-cx33", since=ago(minutes=1), until=until, reason="OutOfStock", message="sold out")
    status = NodePoolStatus(unhealthy=(unhealthy,), offerings=(sold_out,))
    assert a_report(None, [a_pool("default", status)]).pools[0].closed == (
        ClosedOffering("", "2 of 3 are unready", ago(minutes=3)),
        ClosedOffering("kwok-cx33", "OutOfStock: sold out", ago(minutes=1), until),
    )


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(OfferingStatus("kwok-cx33", until=ago(seconds=1), reason="OutOfStock"), id="its time is over"),
        pytest.param(
            OfferingStatus("kwok-cx33", until=NOW + timedelta(hours=1), available_since=ago(minutes=1)),
            id="one could be had meanwhile",
        ),
        pytest.param(OfferingStatus("kwok-cx33", lacks={"cpu": "100m"}, surprises=1), id="it was a surprise once"),
    ],
)
def test_an_offering_that_is_bought_is_not_called_closed(entry: OfferingStatus) -> None:
    assert a_report(None, [a_pool("default", NodePoolStatus(offerings=(entry,)))]).pools[0].closed == ()


def test_an_offering_that_surprised_twice_is_closed_without_a_time() -> None:
    entry = OfferingStatus("kwok-cx33", surprises=2, reason="SmallerThanPromised", message="it has 3 cores")
    (closed,) = a_report(None, [a_pool("default", NodePoolStatus(offerings=(entry,)))]).pools[0].closed
    assert closed == ClosedOffering("kwok-cx33", "SmallerThanPromised: it has 3 cores")


def test_a_pool_that_is_not_valid_says_why() -> None:
    invalid = StatusCondition("Valid", "False", "NoProvider", "nobody sells cx33")
    assert a_report(None, [a_pool("default", NodePoolStatus(conditions=(invalid,)))]).pools[0].problem == (
        "nobody sells cx33"
    )


def test_machines_of_a_pool_that_is_gone_are_not_forgotten() -> None:
    left = PoolHealth("old", states={"Ready": 2, "Unready": 1})
    (pool,) = a_report(ClusterStatus(pools=(left,))).pools
    assert (pool.name, pool.problem) == ("old", "there is no such NodePool, but 3 machines of it")


def test_pools_come_in_the_order_of_their_names() -> None:
    pools = [a_pool(name, NodePoolStatus(nodes=NodeCounts(ready=1))) for name in ("gpu", "batch")]
    assert [pool.name for pool in a_report(ClusterStatus(), pools).pools] == ["batch", "gpu"]


@pytest.mark.parametrize(
    "kind", [StatusReport, LeaderView, PoolStatusRow, ClosedOffering, TroubledNode], ids=lambda kind: kind.__name__
)
def test_every_field_of_the_json_is_on_the_page(kind: type[msgspec.Struct]) -> None:
    page = page_text("registry")
    table = page.partition("`growth status --output json` prints one object:")[2].partition("**NodePool:**")[0]
    told = {name.removesuffix("[]") for name in re.findall(r"`([\w\[\]]+)`", table)}
    assert {field.encode_name for field in msgspec.structs.fields(kind)} - told == set()
    assert all(f"`{health}`" in table for health in HealthSummary)
