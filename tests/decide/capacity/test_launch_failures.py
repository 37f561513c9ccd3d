"""Which offerings are suspect after launches that never worked: the table of docs/failed-launches.md."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from growth.api.annotations import STARTED_AT, mark_of
from growth.api.node_pool import FailedLaunches, NodePool, NodePoolStatus
from growth.api.node_request import NodeRequest
from growth.api.offering import OFFERING, POOL
from growth.decide.capacity.failed_launch_status import failed_launches, wasted
from growth.decide.capacity.launch_failures import LaunchRecord, record_of, wait_after
from growth.decide.capacity.offering_catalog import shop_of
from growth.decide.capacity.offering_history import PoolObservation
from tests.decide.marketplace import (
    HOUR,
    MINUTE,
    NOW,
    PROVISION,
    SECOND,
    a_cloud,
    a_node,
    a_pool,
    a_request,
    an_offering,
)

TYPES = ("small", "large", "huge")
OFFERINGS = tuple(an_offering(one, place) for one in TYPES for place in ("fsn1", "nbg1"))
CLOUD = a_cloud(*OFFERINGS)
SMALL, LARGE = "kwok-small-fsn1", "kwok-large-fsn1"
FAILURE_TIME = PROVISION.machine_within


def pool_with(*entries: FailedLaunches, name: str = "default", **spec: Any) -> NodePool:  # noqa: ANN401
    return a_pool(name, types=TYPES, status=NodePoolStatus(failed_launches=entries), **spec)


def failed(
    offering: str = SMALL,
    *,
    launched: timedelta = -FAILURE_TIME,
    failures: int = 1,
    **fields: Any,  # noqa: ANN401
) -> FailedLaunches:
    at = NOW + launched
    stated: dict[str, Any] = {"rounds": failures, "reason": "NoNode", "message": "no node registered", **fields}
    return FailedLaunches(offering, failures=failures, since=at, launched_at=at, last_at=at + FAILURE_TIME, **stated)


def worked(offering: str, at: timedelta) -> FailedLaunches:
    return FailedLaunches(offering, worked_at=NOW + at)


def known(*entries: FailedLaunches, others: Sequence[NodePool] = ()) -> LaunchRecord | None:
    pool = pool_with(*entries)
    return record_of(pool, (pool, *others), OFFERINGS, {}, PROVISION)


def suspects(*entries: FailedLaunches) -> set[str]:
    record = known(*entries)
    return set(record.suspects) if record is not None else set()


SMALL_EVERYWHERE = {"kwok-small-fsn1", "kwok-small-nbg1"}


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([], set[str](), id="nothing failed"),
        pytest.param([failed()], SMALL_EVERYWHERE, id="a failure makes its type suspect in every location"),
        pytest.param([failed(), worked("kwok-small-nbg1", -MINUTE)], {SMALL}, id="a node elsewhere narrows it"),
        pytest.param([failed(), worked("kwok-small-nbg1", -HOUR)], SMALL_EVERYWHERE, id="not one that is older"),
        pytest.param([failed(), worked(LARGE, -MINUTE)], SMALL_EVERYWHERE, id="nor one of another type"),
        pytest.param([failed(worked_at=NOW)], set[str](), id="a node of the offering itself ends it"),
        pytest.param([failed(), failed(LARGE)], SMALL_EVERYWHERE | {LARGE, "kwok-large-nbg1"}, id="two types"),
        pytest.param([failed(template="other")], set[str](), id="machines were made differently then"),
        pytest.param([failed("kwok-small")], SMALL_EVERYWHERE, id="a request that left the location open"),
    ],
)
def test_what_plans_leave_out(entries: list[FailedLaunches], expected: set[str]) -> None:
    assert suspects(*entries) == expected


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([failed()], {"kwok-large", "kwok-huge"}, id="no node of the pool works"),
        pytest.param([failed(), worked(LARGE, -HOUR)], {"kwok-huge"}, id="one worked before"),
        pytest.param([failed(), worked(LARGE, -MINUTE)], set[str](), id="one works since"),
    ],
)
def test_types_of_which_one_machine_comes_first(entries: list[FailedLaunches], expected: set[str]) -> None:
    record = known(*entries)
    assert record is not None
    assert record.unproven == expected


def test_pools_with_same_machine_settings_share_failures() -> None:
    alike = pool_with(failed(), name="alike")
    other = pool_with(failed(LARGE), name="other", machine={"image": "ubuntu"})
    record = known(others=(alike, other))
    assert record is not None
    assert set(record.suspects) == SMALL_EVERYWHERE


def test_wait_is_longer_than_a_launch_takes_to_fail_and_doubles() -> None:
    waits = [wait_after(rounds, PROVISION) for rounds in (1, 2, 3, 4, 5, 5000)]
    assert waits == [15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 3 * HOUR]
    record = known(failed(failures=2), failed("kwok-small-nbg1"))
    assert record is not None
    assert record.retry_at == {"kwok-small": NOW + HOUR}, "all failures of a type count"


# What is written down


def given_up(name: str = "default-1", offering: str = SMALL, **fields: Any) -> NodeRequest:  # noqa: ANN401
    stated: dict[str, Any] = {"asked_at": NOW - FAILURE_TIME, "reason": "NoNode", **fields}
    request = a_request(name, "Deprovisioning", offering=offering, **stated)
    status = msgspec.structs.replace(request.status, provider_id=f"kwok://{name}")
    return msgspec.structs.replace(request, status=status)


def lesson(
    *requests: NodeRequest, pool: NodePool | None = None, nodes: Sequence[Any] = (), now: datetime = NOW
) -> PoolObservation:
    pool = pool or pool_with()
    clouds = {CLOUD.provider: CLOUD}
    return PoolObservation(
        pool=pool,
        requests=requests,
        every_request=requests,
        nodes={node.metadata.name: node for node in nodes},
        catalog=shop_of(clouds, [pool], requests, now, PROVISION),
        listed={one.id: one for one in OFFERINGS},
        providers=("kwok",),
        now=now,
        alike=[pool.metadata.name],
    )


def noted(found: PoolObservation) -> NodePool:
    """The pool with the status that follows."""
    status = msgspec.structs.replace(
        found.pool.status,
        failed_launches=failed_launches(found, PROVISION),
        wasted=wasted(found, PROVISION),
    )
    return msgspec.structs.replace(found.pool, status=status)


def test_each_machine_is_counted_once_and_those_launched_together_are_one_round() -> None:
    requests = [given_up(f"default-{number}") for number in range(3)]
    pool = noted(lesson(*requests))
    again = noted(lesson(*requests, pool=pool))
    (entry,) = again.status.failed_launches
    assert (entry.offering, entry.failures, entry.rounds) == (SMALL, 3, 1)
    assert again.status == pool.status
    later = given_up("default-9", asked_at=NOW + SECOND, since=NOW + FAILURE_TIME)
    after = noted(lesson(later, pool=again, now=NOW + FAILURE_TIME))
    (entry,) = after.status.failed_launches
    assert (entry.failures, entry.rounds) == (4, 2)


def test_wasted_machines_cost_their_price_for_the_time_until_they_were_given_up() -> None:
    pool = noted(lesson(given_up(), given_up("default-2")))
    assert (pool.status.wasted.machines, pool.status.wasted.cost) == (2, "0.5000")
    assert len(pool.status.wasted.counted) == 2
    gone = noted(lesson(pool=pool))
    assert (gone.status.wasted.machines, gone.status.wasted.cost, gone.status.wasted.counted) == (2, "0.5000", ())


def test_refusals_are_no_failed_launches() -> None:
    pool = noted(lesson(a_request("default-1", "Unmet", reason="OutOfStock")))
    assert (pool.status.failed_launches, pool.status.wasted.machines) == ((), 0)


def started(name: str, offering: str, born: datetime) -> Any:  # noqa: ANN401
    node = a_node(name, offering=offering)
    meta = msgspec.structs.replace(
        node.metadata,
        labels={**node.metadata.labels, OFFERING: offering, POOL: "default"},
        annotations={STARTED_AT: "2026-03-01T09:00:00Z"},
        creation_timestamp=born,
    )
    return msgspec.structs.replace(node, metadata=meta)


def test_working_nodes_are_noted_only_while_something_fails() -> None:
    node = started("works", LARGE, NOW - HOUR)
    assert failed_launches(lesson(nodes=[node]), PROVISION) == ()
    entries = failed_launches(lesson(given_up(), nodes=[node]), PROVISION)
    assert {one.offering: one.worked_at for one in entries} == {SMALL: None, LARGE: NOW - HOUR}


def test_a_newer_working_node_of_the_offering_ends_its_failures() -> None:
    pool = noted(lesson(given_up()))
    node = started("works", SMALL, NOW + MINUTE)
    assert failed_launches(lesson(pool=pool, nodes=[node], now=NOW + 2 * MINUTE), PROVISION) == ()


def test_failures_are_forgotten_when_nothing_failed_for_long_after_their_wait() -> None:
    pool = noted(lesson(given_up()))
    ends_at = NOW + FAILURE_TIME + PROVISION.forget_after
    assert failed_launches(lesson(pool=pool, now=ends_at - SECOND), PROVISION)
    assert failed_launches(lesson(pool=pool, now=ends_at), PROVISION) == ()


def test_failures_with_another_template_are_dropped() -> None:
    pool = noted(lesson(given_up()))
    assert pool.status.failed_launches[0].template == mark_of(pool)
    spec = msgspec.structs.replace(pool.spec, machine=msgspec.structs.replace(pool.spec.machine, image="fixed"))
    assert failed_launches(lesson(pool=msgspec.structs.replace(pool, spec=spec)), PROVISION) == ()
