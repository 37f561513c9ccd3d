"""Instants: RFC 3339 in, the two forms that Kubernetes writes out."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.timestamp import TimestampError, format_micro_time, format_time, parse_timestamp
from tests import strategies

NOON = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "instant"),
    [
        ("2026-01-01T12:00:00Z", NOON),
        ("2026-01-01t12:00:00z", NOON),
        ("2026-01-01T12:00:00.5Z", NOON + timedelta(milliseconds=500)),
        ("2026-01-01T12:00:00.123456Z", NOON + timedelta(microseconds=123456)),
        ("2026-01-01T12:00:00.123456789Z", NOON + timedelta(microseconds=123456)),
        ("2026-01-01T13:30:00+01:30", NOON),
        ("2026-01-01T11:00:00-01:00", NOON),
    ],
)
def test_an_instant_is_read_in_any_offset_and_held_in_utc(text: str, instant: datetime) -> None:
    parsed = parse_timestamp(text)
    assert parsed == instant
    assert parsed.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-01",
        "2026-01-01T12:00:00",
        "2026-01-01 12:00:00Z",
        "2026-01-01T12:00Z",
        "2026-13-01T12:00:00Z",
        "2026-01-01T24:00:00Z",
        "2026-01-01T12:00:00.Z",
        "2026-01-01T12:00:00+25:00",
        "0001-01-01T00:00:00+01:00",
        "now",
    ],
)
def test_anything_else_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(TimestampError, match="expected RFC 3339") as refusal:
        parse_timestamp(text)
    assert repr(text) in str(refusal.value)


def test_times_have_whole_seconds_and_micro_times_always_six_digits() -> None:
    instant = NOON + timedelta(milliseconds=500)
    assert format_time(instant) == "2026-01-01T12:00:00Z"
    assert format_micro_time(instant) == "2026-01-01T12:00:00.500000Z"
    assert format_micro_time(NOON) == "2026-01-01T12:00:00.000000Z"


def test_a_datetime_without_a_zone_is_no_instant() -> None:
    with pytest.raises(ValueError, match="expected an aware datetime"):
        format_time(datetime(2026, 1, 1))  # noqa: DTZ001 - the very mistake


@given(strategies.instants, st.integers(-23, 23))
def test_every_instant_survives_the_wire_whatever_zone_it_came_from(instant: datetime, hours: int) -> None:
    elsewhere = instant.astimezone(timezone(timedelta(hours=hours)))
    assert parse_timestamp(format_micro_time(elsewhere)) == instant
    assert parse_timestamp(format_time(elsewhere)) == instant.replace(microsecond=0)
