"""What requests and nodes teach about offerings, as it is written into their pool's status."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.node_pool import OfferingStatus
from growth.api.node_request import NodeRequest
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.offering_catalog import shop_of
from growth.decide.capacity.offering_history import MOST_ENTRIES, next_change
from tests.decide.lessons import lesson_of
from tests.decide.marketplace import (
    HOUR,
    MINUTE,
    NOW,
    PROVISION,
    SECOND,
    SMALL,
    a_cloud,
    a_failed_request,
    a_pool,
    a_request,
    an_entry,
    an_offering,
)

# What could not be had


@pytest.mark.parametrize(
    ("level", "minutes"),
    [(0, 5), (1, 10), (2, 20), (3, 30), (4, 30), (50, 30), (5000, 30)],
    ids=str,
)
def test_an_offering_is_left_alone_for_longer_each_time(level: int, minutes: int) -> None:
    known = [an_entry(level=level, since=NOW - HOUR, until=NOW - 30 * MINUTE)] if level else []
    assert lesson_of([a_failed_request()], known) == (
        an_entry(level=level + 1, since=NOW, until=NOW + minutes * MINUTE),
    )


def test_it_says_what_went_wrong() -> None:
    (entry,) = lesson_of([a_failed_request(reason="QuotaExceeded")])
    assert (entry.offering, entry.reason, entry.message) == ("kwok", "QuotaExceeded", "it was QuotaExceeded")


def test_a_quota_of_a_family_is_noted_for_the_family() -> None:
    (entry,) = lesson_of([a_failed_request(reason="FamilyQuotaExceeded")])
    assert (entry.offering, entry.level) == ("kwok-small*", 1)


@pytest.mark.parametrize(("had", "is_open"), [("kwok-small-nbg1", True), ("kwok-large-fsn1", False)])
def test_a_family_is_open_when_one_of_it_was_had(had: str, is_open: bool) -> None:  # noqa: FBT001
    cloud = a_cloud(an_offering(), an_offering(location="nbg1"), an_offering("large"))
    known = [an_entry("kwok-small*", reason="FamilyQuotaExceeded", until=NOW - SECOND)]
    (entry,) = lesson_of([a_request(phase="Provisioning", offering=had)], known, cloud=cloud)
    assert (entry.available_since == NOW) is is_open


def test_ten_failures_at_once_raise_the_level_once() -> None:
    requests = [a_failed_request(f"default-{number}", since=NOW - number * SECOND) for number in range(10)]
    (entry,) = lesson_of(requests)
    assert (entry.level, entry.since) == (1, NOW - 9 * SECOND)


@pytest.mark.parametrize(
    ("failed", "level"),
    [
        pytest.param(a_failed_request(since=NOW - MINUTE), 1, id="the one that was noted"),
        pytest.param(a_failed_request(since=NOW, asked_at=NOW - 61 * SECOND), 1,
                     id="one that was asked for with it, and answered later"),
        pytest.param(a_failed_request(since=NOW, asked_at=NOW - 55 * SECOND), 1,
                     id="one of the same plan that was written a little later"),
        pytest.param(a_failed_request(since=NOW, asked_at=NOW - 10 * SECOND), 2,
                     id="one that was tried early, because stock was listed"),
        pytest.param(a_failed_request(since=NOW - HOUR), 1, id="one that is older still"),
    ],
)  # fmt: skip
def test_what_raises_the_level_before_the_time_is_over(failed: NodeRequest, level: int) -> None:
    (entry,) = lesson_of([failed], [an_entry()])
    assert entry.level == level


def test_a_failure_after_the_time_is_over_raises_the_level() -> None:
    (entry,) = lesson_of([a_failed_request()], [an_entry(until=NOW - SECOND)])
    assert (entry.level, entry.since, entry.until) == (2, NOW, NOW + 10 * MINUTE)


def test_each_offering_and_each_provider_has_its_own_level() -> None:
    requests = [
        a_failed_request("a"),
        a_failed_request("b", offering="kwok-small-nbg1", reason="NoMachine"),
        a_failed_request("c", reason="Unauthorized"),
    ]
    entries = lesson_of(requests, [an_entry(level=3, since=NOW - HOUR, until=NOW - HOUR)])
    assert [(one.offering, one.level) for one in entries] == [("kwok", 1), (SMALL, 4), ("kwok-small-nbg1", 1)]


# What can be had again


@pytest.mark.parametrize(
    ("request_", "is_open"),
    [
        pytest.param(a_request(phase="Provisioning"), True, id="one that was sold after the failure"),
        pytest.param(a_request(phase="Ready"), True, id="one whose node is ready already"),
        pytest.param(a_request(phase="Provisioning", asked_at=NOW - HOUR), True, id="whatever the server's clock says"),
        pytest.param(a_request(phase="Ready", since=NOW - 55 * SECOND, asked_at=NOW + HOUR), False,
                     id="sold together with the failure: no news, whatever the server's clock says"),
        pytest.param(a_request(phase="Provisioning", since=NOW + HOUR), False, id="a clock was set back"),
        pytest.param(a_request(), False, id="not answered yet"),
        pytest.param(a_request(phase="Provisioning", offering="kwok-small-nbg1"), False, id="had somewhere else"),
    ],
)  # fmt: skip
def test_an_offering_is_open_when_one_could_be_had_after_the_failure(request_: NodeRequest, *, is_open: bool) -> None:
    cloud = a_cloud(an_offering(), an_offering(location="nbg1"))
    (entry,) = lesson_of([request_], [an_entry(level=3)], cloud=cloud)
    assert entry == an_entry(level=3, available_since=NOW if is_open else None)


def test_what_another_pool_could_have_is_open_for_all() -> None:
    known = [an_entry("kwok", reason="QuotaExceeded", until=NOW - SECOND)]
    (entry,) = lesson_of([], known, others=[a_request("gpu-1", "Provisioning", pool="gpu")])
    assert entry.available_since == NOW


@pytest.mark.parametrize(("pool", "is_open"), [("other", False), ("default", True)])
def test_a_pools_mistake_is_over_when_that_pool_had_one(pool: str, is_open: bool) -> None:  # noqa: FBT001
    had = [a_request("had-1", "Provisioning", pool=pool)]
    own, others = (had, []) if pool == "default" else ([], had)
    (entry,) = lesson_of(own, [an_entry(reason="Invalid", until=NOW - SECOND)], others=others)
    assert (entry.available_since == NOW) is is_open


def test_a_failure_after_it_was_open_again_goes_on_where_the_level_was() -> None:
    known = [an_entry(level=2, since=NOW - 20 * MINUTE, until=NOW - 10 * MINUTE, available_since=NOW - 9 * MINUTE)]
    (entry,) = lesson_of([a_failed_request()], known)
    assert (entry.level, entry.until, entry.available_since) == (3, NOW + 20 * MINUTE, None)


def test_an_offering_that_was_opened_early_and_is_sold_out_again_is_closed_again() -> None:
    known = [an_entry(since=NOW - 2 * MINUTE, until=NOW + 3 * MINUTE, available_since=NOW - MINUTE)]
    (entry,) = lesson_of([a_failed_request(asked_at=NOW - SECOND)], known)
    assert (entry.level, entry.until, entry.available_since) == (2, NOW + 10 * MINUTE, None)


# What is forgotten


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        pytest.param(an_entry(until=NOW - 3 * HOUR + SECOND), True, id="a second before it is forgotten"),
        pytest.param(an_entry(since=NOW - 4 * HOUR, until=NOW - 3 * HOUR), False, id="three hours after it was over"),
        pytest.param(an_entry(since=NOW - 4 * HOUR, until=NOW - 3 * HOUR, available_since=NOW - HOUR), False,
                     id="open again or not"),
        pytest.param(OfferingStatus(SMALL, lacks={"cpu": "1"}), True, id="what its nodes lack is remembered"),
    ],
)  # fmt: skip
def test_what_went_wrong_is_forgotten(entry: OfferingStatus, *, expected: bool) -> None:
    assert lesson_of(known=[entry]) == ((entry,) if expected else ())


def test_of_a_type_that_disappointed_only_its_size_is_remembered() -> None:
    known = an_entry(since=NOW - 4 * HOUR, until=None, surprises=2, lacks={"cpu": "1"})
    assert lesson_of(known=[known]) == (OfferingStatus(SMALL, lacks={"cpu": "1"}),)


def test_a_failure_that_nobody_noted_for_hours_is_not_learnt_any_more() -> None:
    long_ago = a_failed_request(since=NOW - 4 * HOUR)
    assert lesson_of([long_ago]) == ()


def test_when_the_next_one_is_forgotten() -> None:
    entries = [an_entry("a"), an_entry("b", until=NOW + MINUTE), OfferingStatus("c", lacks={"cpu": "1"})]
    assert next_change(entries, NOW, PROVISION) == NOW + MINUTE + 3 * HOUR
    assert next_change(entries[2:], NOW, PROVISION) is None


def test_a_status_holds_no_more_than_it_may() -> None:
    times = [NOW - number * SECOND for number in range(300)]
    known = [an_entry(f"kwok-{number:03}", since=time, until=time) for number, time in enumerate(times)]
    assert lesson_of(known=known) == tuple(known[:MOST_ENTRIES])  # the oldest are forgotten first


# Clocks that were set back


def test_what_lies_ahead_counts_from_now_and_may_be_tried() -> None:
    ahead = an_entry(level=2, since=NOW + 2 * HOUR, until=NOW + 3 * HOUR)
    assert lesson_of(known=[ahead]) == (an_entry(level=2, since=NOW, until=NOW),)


def test_a_failure_after_the_clock_was_set_back_is_learnt() -> None:
    known = lesson_of(known=[an_entry(since=NOW + 2 * HOUR, until=NOW + 3 * HOUR)])
    (entry,) = lesson_of([a_failed_request(since=NOW + SECOND)], known, now=NOW + SECOND)
    assert (entry.level, entry.since, entry.until) == (2, NOW + SECOND, NOW + SECOND + 10 * MINUTE)


# Promises

_STEPS = st.lists(
    st.tuples(st.timedeltas(timedelta(0), HOUR), st.sampled_from(["fails", "can be had", "nothing"])), max_size=12
)


@given(_STEPS)
def test_the_level_never_falls_before_it_is_forgotten_and_the_wait_is_bounded(
    steps: list[tuple[timedelta, str]],
) -> None:
    now, known = NOW, tuple[OfferingStatus, ...]()
    level = 0
    for wait, what in steps:
        now += wait
        requests = {"fails": [a_failed_request(since=now)], "can be had": [a_request(phase="Ready", since=now)]}
        known = lesson_of(requests.get(what, []), known, now=now)
        for entry in known:
            assert entry.level >= level
            assert entry.since is not None
            assert entry.until is not None
            assert entry.until - entry.since <= PROVISION.unmet_at_most
        level = known[0].level if known else 0
        if what == "fails":
            pool = a_pool(learnt=known)
            offered = shop_of({"kwok": a_cloud(read_at=now)}, [pool], requests["fails"], now, PROVISION).offered
            assert offered[SMALL].access is Availability.CLOSED
