"""A workload that could not start comes back, at the right time; sentences of the seed stand beside the tests."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.meta import ObjectMeta
from growth.api.queue.workload import (
    ADMITTED,
    EVICTED,
    PODS_READY,
    PODS_READY_TIMEOUT,
    RequeueState,
    Workload,
    WorkloadStatus,
)
from growth.api.status import StatusCondition
from growth.decide.queue.pending_queue import order_of, queued_since
from growth.decide.queue.requeue import ReadinessPolicy, RequeuePolicy, deadline, delay, is_waiting, next_state

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
MADE = NOW - timedelta(hours=1)


def said(kind: str, status: str = "True", reason: str = "", at: datetime = NOW) -> StatusCondition:
    return StatusCondition(kind, status, reason, "", at)  # pyright: ignore[reportArgumentType]


def workload(*conditions: StatusCondition, state: RequeueState | None = None, uid: str = "one") -> Workload:
    meta = ObjectMeta(name=uid, uid=uid, creation_timestamp=MADE)
    return Workload(meta, status=WorkloadStatus(conditions=conditions, requeue_state=state))


@pytest.mark.parametrize(("count", "seconds"), [(1, 60), (2, 120), (3, 240), (6, 1920), (7, 3600), (40, 3600)])
def test_delays_double_up_to_the_cap(count: int, seconds: int) -> None:
    """Around 60s, 120s, 240s, ...; a little jitter comes on top."""
    assert timedelta(seconds=seconds) <= delay(count, RequeuePolicy(), "one") <= timedelta(seconds=seconds * 1.01)


def test_the_sum_of_ten_delays_is_what_the_design_says() -> None:
    endless = RequeuePolicy(longest=None)
    total = sum((delay(count, endless, "one") for count in range(1, 11)), timedelta())
    assert timedelta(hours=17, minutes=3) <= total <= timedelta(hours=17, minutes=14)
    capped = sum((delay(count, RequeuePolicy(), "one") for count in range(1, 11)), timedelta())
    assert timedelta(hours=5, minutes=3) <= capped <= timedelta(hours=5, minutes=7)


@given(st.integers(-5, 10**9), st.text())
def test_no_count_that_somebody_wrote_is_too_much(count: int, uid: str) -> None:
    assert timedelta(0) < delay(count, RequeuePolicy(longest=None), uid)


def test_two_that_were_evicted_together_do_not_come_back_together() -> None:
    assert len({delay(3, RequeuePolicy(), uid) for uid in "abcdefgh"}) == 8


def test_an_eviction_counts_and_says_when_it_may_be_tried_again() -> None:
    first = next_state(workload(), RequeuePolicy(), NOW)
    assert first is not None
    assert (first.count, first.requeue_at) == (1, NOW + delay(1, RequeuePolicy(), "one"))
    second = next_state(workload(state=RequeueState(1, None)), RequeuePolicy(), NOW)
    assert second is not None
    assert second.count == 2


def test_at_the_limit_the_state_is_not_changed_any_more() -> None:
    terms = RequeuePolicy(limit_count=2)
    assert next_state(workload(state=RequeueState(1, None)), terms, NOW) is not None
    assert next_state(workload(state=RequeueState(2, None)), terms, NOW) is None
    assert next_state(workload(), RequeuePolicy(limit_count=0), NOW) is None


def test_a_workload_waits_until_its_time_has_come() -> None:
    state = RequeueState(1, NOW + timedelta(seconds=60))
    assert is_waiting(workload(state=state), NOW)
    assert not is_waiting(workload(state=state), NOW + timedelta(seconds=60))
    assert not is_waiting(workload(), NOW)


def test_the_deadline_counts_from_the_admission_and_after_it_was_ready_from_then() -> None:
    terms = ReadinessPolicy(timedelta(minutes=5), timedelta(minutes=2))
    assert deadline(workload(said(ADMITTED)), terms) == NOW + timedelta(minutes=5)
    lost = said(PODS_READY, "False", "WaitForRecovery", NOW + timedelta(hours=1))
    assert deadline(workload(said(ADMITTED), lost), terms) == NOW + timedelta(hours=1, minutes=2)
    assert deadline(workload(said(ADMITTED), lost), ReadinessPolicy(timedelta(minutes=5), None)) is None


@pytest.mark.parametrize(
    "conditions",
    [(), (said(ADMITTED, "False"),), (said(ADMITTED), said(PODS_READY)), (said(ADMITTED), said(EVICTED))],
)
def test_who_is_not_admitted_or_ready_or_evicted_has_no_deadline(conditions: tuple[StatusCondition, ...]) -> None:
    assert deadline(workload(*conditions), ReadinessPolicy()) is None


def test_only_an_eviction_for_pods_that_were_not_ready_moves_a_workload_to_the_back() -> None:
    late, other = said(EVICTED, reason=PODS_READY_TIMEOUT), said(EVICTED, reason="Preempted")
    assert queued_since(workload(late), "Eviction") == NOW
    assert queued_since(workload(late), "Creation") == MADE
    assert queued_since(workload(other), "Eviction") == MADE
    assert queued_since(workload(said(EVICTED, "False", PODS_READY_TIMEOUT)), "Eviction") == MADE


def test_the_order_is_priority_then_time_then_uid() -> None:
    def one(uid: str, priority: int) -> Workload:
        plain = workload(uid=uid)
        return Workload(plain.metadata, type(plain.spec)(priority=priority), plain.status)

    line = sorted([one("b", 0), one("a", 0), one("c", 5)], key=lambda each: order_of(each, "Eviction"))
    assert [each.metadata.uid for each in line] == ["c", "a", "b"]
