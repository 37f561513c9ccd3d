"""Step 6.4: how long a pod that found no place is left alone, as DESIGN.md has it."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.annotations import BACK_OFF, BackOff, back_off_of
from growth.api.settings.model import GrowSettings
from growth.decide.capacity.retry_fingerprint import RetryFingerprint
from growth.decide.scale_up.pod_backoff import failed, is_held
from tests.decide.scale_up.town import NOW, a_pod

SETTINGS = GrowSettings()
HERE = RetryFingerprint("here")
SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


def a_record(
    failures: int = 1, *, at: datetime = NOW, until: datetime | None = NOW + 10 * SECOND, saw: str = "here"
) -> BackOff:
    return BackOff(failures, at, until, saw)


def test_the_schedule_is_that_of_the_design() -> None:
    record, now, waits = None, NOW, list[int | None]()
    for _ in range(10):
        record = failed(record, now, "here", SETTINGS)
        waits.append(None if record.until is None else round((record.until - now).total_seconds()))
        now = record.until or now + HOUR
    assert waits == [10, 10, 30, 60, 120, 240, 480, 600, None, None]
    assert record is not None
    assert record.failures == 10


@pytest.mark.parametrize(
    ("before", "after_seconds", "expected"),
    [
        pytest.param(None, 0, a_record(), id="the first failure"),
        pytest.param(a_record(), 9, a_record(), id="plans follow each other: it is not counted again"),
        pytest.param(
            a_record(), 10, a_record(2, at=NOW + 10 * SECOND, until=NOW + 20 * SECOND), id="after 10 s it counts"
        ),
        pytest.param(a_record(2), 9, a_record(2), id="the second, again too soon"),
        pytest.param(a_record(saw="there"), 5, a_record(), id="too soon to count, but it saw other circumstances"),
        pytest.param(a_record(9, until=None), 1, a_record(9, until=None), id="BackOff stays BackOff"),
        pytest.param(
            a_record(9, until=None),
            10,
            a_record(10, at=NOW + 10 * SECOND, until=None),
            id="BackOff that was tried in vain stays BackOff",
        ),
        pytest.param(
            a_record(at=NOW + HOUR, until=NOW + HOUR + 10 * SECOND),
            0,
            a_record(2),
            id="written on a clock that was ahead: it counts from now on",
        ),
        pytest.param(
            a_record(until=NOW - HOUR), 1, a_record(until=NOW + 11 * SECOND), id="an end before its beginning is none"
        ),
        pytest.param(
            a_record(until=NOW + 24 * HOUR), 1, a_record(until=NOW + 11 * SECOND), id="an end too far away is none"
        ),
        pytest.param(
            a_record(10**9, at=NOW - HOUR), 0, a_record(10**9 + 1, until=None), id="a thousand million failures"
        ),
        pytest.param(a_record(-7, at=NOW - HOUR), 0, a_record(-6), id="fewer than none"),
    ],
)
def test_a_failure_is_counted_at_most_once_in_ten_seconds(
    before: BackOff | None, after_seconds: int, expected: BackOff
) -> None:
    assert failed(before, NOW + after_seconds * SECOND, "here", SETTINGS) == expected


@pytest.mark.parametrize(
    ("record", "held"),
    [
        pytest.param(a_record(), True, id="its time is not over"),
        pytest.param(a_record(until=NOW), False, id="its time is over"),
        pytest.param(a_record(9, until=None), True, id="in BackOff, time does not help"),
        pytest.param(a_record(saw="there"), False, id="other circumstances"),
        pytest.param(a_record(9, until=None, saw="there"), False, id="in BackOff, other circumstances"),
        pytest.param(a_record(9, until=None, saw=""), False, id="nobody wrote what it saw"),
        pytest.param(a_record(until=NOW + 10 * MINUTE), True, id="the longest time there is"),
        pytest.param(a_record(until=NOW + 11 * MINUTE), False, id="an end that could not have been set"),
    ],
)
def test_a_pod_is_left_alone_until_time_or_circumstances_say_otherwise(record: BackOff, *, held: bool) -> None:
    assert is_held(record, NOW, HERE, SETTINGS) is held


instants = st.datetimes(timezones=st.just(UTC))


@given(st.builds(BackOff, st.integers(), instants, st.none() | instants, st.text()), instants)
def test_whatever_is_written_a_failure_leads_to_a_time_that_comes_or_to_back_off(
    written: BackOff, now: datetime
) -> None:
    if not datetime(2, 1, 1, tzinfo=UTC) < now < datetime(9998, 1, 1, tzinfo=UTC):
        return
    record = failed(written, now, "here", SETTINGS)
    assert is_held(record, now, HERE, SETTINGS)
    assert failed(record, now, "here", SETTINGS) == record, "saying it again changes nothing"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        '{"failures": 3}',
        '{"failures": "3", "at": "2026-03-01T09:00:00Z"}',
        '{"failures": 3, "at": "2026-03-01T09:00:00"}',
        '{"failures": 1' + "0" * 5000 + ', "at": "2026-03-01T09:00:00Z"}',
        '{"failures": 3, "at": "2026-03-01T09:00:00Z", "until": "tomorrow"}',
    ],
)
def test_what_cannot_be_read_counts_as_nothing(text: str) -> None:
    assert back_off_of(a_pod("web", annotations={BACK_OFF: text})) is None


def test_what_is_written_can_be_read_again() -> None:
    record = a_record(10**9, until=None)
    assert back_off_of(a_pod("web", annotations={BACK_OFF: record.encode()})) == record


def test_a_back_off_of_years_does_not_overflow() -> None:
    long = GrowSettings(back_off=timedelta(days=9000), back_off_at_most=timedelta(days=36500))
    assert failed(a_record(10**9, at=NOW - HOUR), NOW, "here", long).is_final
