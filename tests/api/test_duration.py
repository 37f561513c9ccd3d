"""Durations: Go's text in, the shortest text out."""

from datetime import timedelta

import pytest
from hypothesis import given

from growth.api.duration import DurationError, format_duration, parse_duration
from tests import strategies


@pytest.mark.parametrize(
    ("text", "duration"),
    [
        ("0", timedelta(0)),
        ("0s", timedelta(0)),
        ("15s", timedelta(seconds=15)),
        ("1h30m", timedelta(minutes=90)),
        ("1.5s", timedelta(milliseconds=1500)),
        (".5h", timedelta(minutes=30)),
        ("5.s", timedelta(seconds=5)),
        ("300ms", timedelta(milliseconds=300)),
        ("2us", timedelta(microseconds=2)),
        ("2µs", timedelta(microseconds=2)),
        ("2\u03bcs", timedelta(microseconds=2)),
        ("-10m", timedelta(minutes=-10)),
        ("+1m1m", timedelta(minutes=2)),
    ],
)
def test_a_duration_is_read_as_go_reads_it(text: str, duration: timedelta) -> None:
    assert parse_duration(text) == duration


def test_a_nanosecond_is_not_nothing() -> None:
    assert parse_duration("1ns") == timedelta(microseconds=1)


@pytest.mark.parametrize(
    "text", ["", "-", "5", "1d", "s", ".s", "1h 30m", "1h30", "1,5s", "99999999h", "ten", "1" * 200]
)
def test_anything_else_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(DurationError, match="is not a duration: expected numbers") as refusal:
        parse_duration(text)
    assert repr(text) in str(refusal.value)


@pytest.mark.parametrize(
    ("duration", "text"),
    [
        (timedelta(0), "0s"),
        (timedelta(minutes=10), "10m"),
        (timedelta(hours=5, minutes=3), "5h3m"),
        (timedelta(hours=1, seconds=1), "1h1s"),
        (timedelta(milliseconds=1500), "1.5s"),
        (timedelta(milliseconds=300), "300ms"),
        (timedelta(microseconds=1500), "1500us"),
        (timedelta(minutes=-10), "-10m"),
    ],
)
def test_the_shortest_text_is_printed(duration: timedelta, text: str) -> None:
    assert format_duration(duration) == text


@given(strategies.durations)
def test_what_is_printed_reads_back_as_the_same_duration(duration: timedelta) -> None:
    assert parse_duration(format_duration(duration)) == duration
