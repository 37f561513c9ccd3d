"""Whether somebody renews Kueue's Lease, by our own clock alone."""

from datetime import UTC, datetime, timedelta

import pytest

from growth.api.change import Change, ChangeType
from growth.api.core import LeaseSpec
from growth.api.meta import ObjectMeta
from growth.api.queue.kueue_installation import LEASE_NAME, KueueLease
from growth.observe.lease_heartbeats import KueueLeases

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Clock:
    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def a_lease(renewed: datetime, *, holder: str = "manager-0", seconds: int = 15) -> KueueLease:
    return KueueLease(ObjectMeta(LEASE_NAME, "kueue-system", "u"), LeaseSpec(holder, seconds, renew_time=renewed))


def observed(leases: KueueLeases, lease: KueueLease, happened: ChangeType = ChangeType.MODIFIED) -> None:
    leases.hear([Change(happened, lease, None)])


@pytest.mark.parametrize("skew", [timedelta(0), timedelta(days=-400), timedelta(days=400)])
def test_what_its_holders_clock_says_does_not_matter(clock: Clock, skew: timedelta) -> None:
    leases = KueueLeases(clock)
    observed(leases, a_lease(NOON + skew))
    assert leases.held["kueue-system"].heard_at == NOON, "it was renewed just now, for all that we know"
    clock.now += timedelta(seconds=10)
    observed(leases, a_lease(NOON + skew))
    assert leases.held["kueue-system"].heard_at == NOON, "it was read again, and nobody had renewed it"
    observed(leases, a_lease(NOON + skew + timedelta(seconds=10)))
    assert leases.held["kueue-system"].heard_at == clock.now


def test_one_that_nobody_holds_tells_of_nobody(clock: Clock) -> None:
    leases = KueueLeases(clock)
    observed(leases, a_lease(NOON))
    observed(leases, a_lease(NOON, holder=""))
    assert not leases.held
    observed(leases, a_lease(NOON))
    observed(leases, a_lease(NOON), ChangeType.DELETED)
    assert not leases.held


def test_it_is_good_for_as_long_as_it_says_and_a_little_more(clock: Clock) -> None:
    leases = KueueLeases(clock)
    observed(leases, a_lease(NOON, seconds=60))
    assert leases.held["kueue-system"].good_for == timedelta(seconds=62)
    observed(leases, a_lease(NOON, seconds=0))
    assert leases.held["kueue-system"].good_for == timedelta(seconds=17), "as Kueue writes it"
