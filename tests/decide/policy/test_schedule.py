"""When budgets hold: by examples of clocks that are changed, and against a walk over every minute."""

from bisect import bisect_right
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from growth.api.disruption import DisruptionBudget
from growth.api.duration import format_duration
from growth.decide.policy.schedule import holds, next_change, time_faults, window_of
from tests.decide.consolidation.crons import MINUTE, Drawn, leaps, schedules

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
# A day before the clock is changed: both changes of both, one of half an hour, and one that left out a whole day.
CHANGES = [
    (BERLIN, datetime(2027, 3, 27, tzinfo=UTC)),
    (BERLIN, datetime(2026, 10, 24, tzinfo=UTC)),
    (NEW_YORK, datetime(2027, 3, 13, tzinfo=UTC)),
    (NEW_YORK, datetime(2026, 10, 31, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2027, 4, 2, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 2, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 29, tzinfo=UTC)),
    ("UTC", datetime(2028, 2, 28, tzinfo=UTC)),
]
DAYS = 2
ALWAYS = Drawn(
    "* * * * *", tuple(frozenset(range(*ends)) for ends in ((0, 60), (0, 24), (1, 32), (1, 13), (0, 7))), both=True
)


def a_budget(schedule: str | None, duration: str | None = "1h", zone: str = "UTC") -> DisruptionBudget:
    return DisruptionBudget(nodes=0, schedule=schedule, duration=duration, time_zone=zone)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def spans(budget: DisruptionBudget, start: datetime, end: datetime) -> list[tuple[str, str]]:
    """From when to when it holds, in UTC, as somebody learns it who only looks when told to."""
    now, found, since = start, list[tuple[str, str]](), start if holds(budget, start) else None
    while (change := next_change(budget, now)) is not None and change <= end:
        now = change
        if holds(budget, now) and since is None:
            since = now
        elif not holds(budget, now) and since is not None:
            found.append((f"{since:%d %H:%M}", f"{now:%d %H:%M}"))
            since = None
    return found


def test_a_budget_without_a_schedule_always_holds() -> None:
    budget = DisruptionBudget(nodes=1)
    assert holds(budget, at("2026-11-16T12:00Z"))
    assert next_change(budget, at("2026-11-16T12:00Z")) is None


@pytest.mark.parametrize(
    ("now", "expected", "change"),
    [
        ("2026-11-16T08:59:59.999999Z", "rests", "2026-11-16T09:00Z"),
        ("2026-11-16T09:00:00Z", "holds", "2026-11-16T17:00Z"),
        ("2026-11-16T16:59:59.999999Z", "holds", "2026-11-16T17:00Z"),
        ("2026-11-16T17:00:00Z", "rests", "2026-11-17T09:00Z"),
        ("2026-11-20T17:00:00Z", "rests", "2026-11-23T09:00Z"),
    ],
)
def test_it_holds_from_each_firing_for_its_duration_and_not_a_moment_longer(
    now: str, expected: str, change: str
) -> None:
    budget = a_budget("0 9 * * mon-fri", "8h")
    assert holds(budget, at(now)) == (expected == "holds")
    assert next_change(budget, at(now)) == at(change)


@pytest.mark.parametrize(
    ("zone", "schedule", "duration", "day", "expected"),
    [
        (BERLIN, "0 9 * * *", "8h", "2027-03-27", [("27 08:00", "27 16:00"), ("28 07:00", "28 15:00")]),
        # 02:30 is leapt over: it comes when the clock leaps, at 01:00 UTC.
        (BERLIN, "30 2 * * *", "1h", "2027-03-27", [("27 01:30", "27 02:30"), ("28 01:00", "28 02:00")]),
        # From 2 to 3 o'clock is two hours long in this night.
        (BERLIN, "0 2 * * *", "1h", "2026-10-24", [("24 00:00", "24 01:00"), ("25 00:00", "25 02:00")]),
        (
            BERLIN,
            "30 2 * * *",
            "10m",
            "2026-10-24",
            [("24 00:30", "24 00:40"), ("25 00:30", "25 00:40"), ("25 01:30", "25 01:40")],
        ),
        # A duration is what passes, not what the clock shows: one hour remains of the longest day.
        (BERLIN, "@daily", "24h", "2026-10-24", [("24 00:00", "25 22:00")]),
        (NEW_YORK, "30 2 * * *", "1h", "2027-03-13", [("13 07:30", "13 08:30"), ("14 07:00", "14 08:00")]),
        (
            NEW_YORK,
            "30 1 * * *",
            "20m",
            "2026-10-31",
            [("31 05:30", "31 05:50"), ("01 05:30", "01 05:50"), ("01 06:30", "01 06:50")],
        ),
    ],
)
def test_when_the_clock_is_changed(
    zone: str, schedule: str, duration: str, day: str, expected: list[tuple[str, str]]
) -> None:
    start = at(f"{day}T00:00Z")
    assert spans(a_budget(schedule, duration, zone), start, start + 2 * DAY) == expected


def test_a_day_that_a_country_left_out_comes_when_it_leaps_over_it() -> None:
    budget = a_budget("0 12 30 12 *", "1h", "Pacific/Apia")  # Samoa had no 30 December in 2011
    assert next_change(budget, at("2011-12-29T00:00Z")) == at("2011-12-30T10:00Z")


def test_what_is_rare_is_found_and_what_was_long_ago_too() -> None:
    budget = a_budget("0 0 29 2 *", "1h")
    assert next_change(budget, at("2096-02-29T01:00Z")) == at("2104-02-29T00:00Z")
    window = window_of(budget)
    assert window is not None
    assert window.fired_at(at("2104-02-28T23:59Z")) == at("2096-02-29T00:00Z")


def test_windows_without_a_break_are_looked_at_now_and_then() -> None:
    budget, now = a_budget("* * * * *", "1m"), at("2026-11-16T12:00Z")
    assert next_change(budget, now) == now + 65 * MINUTE
    assert holds(budget, now + 65 * MINUTE)


@given(
    schedules(),
    st.sampled_from(CHANGES),
    st.integers(1, 26 * 3600),
    st.lists(st.integers(0, DAYS * 24 * 3600), min_size=1, max_size=12),
)
@example(ALWAYS, CHANGES[0], 60, [90_000])
def test_it_holds_exactly_when_a_walk_over_all_minutes_says_so(
    drawn: Drawn, change: tuple[str, datetime], seconds: int, looks: list[int]
) -> None:
    zone, begin = change
    length = timedelta(seconds=seconds)
    budget = a_budget(drawn.text, format_duration(length), zone)
    window = window_of(budget)
    assert window is not None, time_faults(budget)
    # Walked from before the first look on, so that no window began earlier.
    early = begin - 26 * HOUR
    come = leaps(zone, early, (26 + (DAYS + 1) * 24) * 60)
    firings = [instant for instant, shown in come if any(map(drawn.means, shown))]
    end = come[-1][0]
    for look in looks:
        now = begin + timedelta(seconds=look)
        count = bisect_right(firings, now)
        past, coming = firings[:count], firings[count:]
        assert holds(budget, now) == bool(past and now < past[-1] + length)
        if past:
            assert window.fired_at(now) == past[-1]
        found = window.fires_at(now)
        assert found == coming[0] if coming else found is None or found > end
        changes = next_change(budget, now)
        expected = next_edge(past[-1:], coming, length, now)
        if expected is not None and expected <= end:
            assert changes is not None
            # Sooner is right only while it holds without a break.
            assert changes == expected or (holds(budget, now) and now < changes < expected and holds(budget, changes))


def next_edge(past: list[datetime], coming: list[datetime], length: timedelta, now: datetime) -> datetime | None:
    """When it begins or ceases to hold."""
    if not past or now >= past[-1] + length:
        return coming[0] if coming else None
    closes = past[-1] + length
    for firing in coming:
        if firing > closes:
            break
        closes = firing + length
    return closes


NO_ZONE = "is not a time zone, expected an IANA name such as Europe/Berlin"
OUT_OF_BOUNDS = "is out of bounds, expected more than 0s and at most 8784h, a year"


@pytest.mark.parametrize(
    ("budget", "field", "why"),
    [
        (
            a_budget("61 * * * *"),
            "schedule",
            "'61 * * * *' is not a schedule: minute '61' is not known, expected a number from 0 to 59",
        ),
        (a_budget("@daily", zone="Europe/Atlantis"), "timeZone", f"'Europe/Atlantis' {NO_ZONE}"),
        (a_budget("@daily", zone="Europe"), "timeZone", f"'Europe' {NO_ZONE}"),
        (a_budget("@daily", zone="../UTC"), "timeZone", f"'../UTC' {NO_ZONE}"),
        (a_budget("@daily", zone=""), "timeZone", f"'' {NO_ZONE}"),
        (a_budget("@daily", zone="U\0C"), "timeZone", f"'U\\x00C' {NO_ZONE}"),
        (a_budget("@daily", "0s"), "duration", f"'0s' {OUT_OF_BOUNDS}"),
        (a_budget("@daily", "-1h"), "duration", f"'-1h' {OUT_OF_BOUNDS}"),
        (a_budget("@daily", "8785h"), "duration", f"'8785h' {OUT_OF_BOUNDS}"),
        (
            a_budget("@daily", None),
            "duration",
            "it is missing, expected how long the budget holds after '@daily', such as 8h",
        ),
        (
            a_budget(None, "8h"),
            "schedule",
            "it is missing, expected when the 8h begin, such as '0 9 * * mon-fri'",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_value_and_what_was_expected(
    budget: DisruptionBudget, field: str, why: str
) -> None:
    assert time_faults(budget) == ((field, why),)


def test_a_whole_year_is_not_too_long() -> None:
    assert time_faults(a_budget("@daily", "8784h")) == ()


def test_every_fault_is_told_and_in_doubt_the_budget_holds() -> None:
    budget = a_budget("often", "1d", "Mars")
    assert [field for field, _ in time_faults(budget)] == ["schedule", "timeZone", "duration"]
    assert holds(budget, at("2026-11-16T12:00Z"))
    assert next_change(budget, at("2026-11-16T12:00Z")) is None
