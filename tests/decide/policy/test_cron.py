"""Schedules as cron writes them."""

from contextlib import suppress
from datetime import datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from growth.decide.policy.cron import ScheduleError, parse_schedule
from tests.decide.consolidation.crons import Drawn, schedules


def fires(text: str, when: datetime) -> bool:
    schedule = parse_schedule(text)
    return when.minute in schedule.minutes and when.hour in schedule.hours and schedule.is_on(when)


@given(schedules(), st.datetimes(datetime(2020, 1, 1), datetime(2032, 1, 1)))  # noqa: DTZ001 - on nobody's clock
def test_a_text_means_what_it_was_drawn_for(drawn: Drawn, wall: datetime) -> None:
    assert fires(drawn.text, wall) == drawn.means(wall)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 jan *"),
        ("@monthly", "0 0 1 * *"),
        ("@weekly", "0 0 * * 7"),
        ("@daily", "0 0 * * *"),
        ("@midnight", "00 00 * * *"),
        ("@hourly", "0 * * * *"),
        ("0 9 * * mon-fri", "0 9 * * 1,2,3,4,5"),
        ("0 9 * * FRI-sun", "0 9 * * 0,5,6"),
        ("0 9 * * 0-7", "0 9 * * 0-6/1"),
        ("5/20 * * * *", "5,25,45 * * * *"),
        (" 0  9 * *  * ", "0 9 * * *"),
    ],
)
def test_one_can_say_the_same_in_two_ways(text: str, same: str) -> None:
    one, other = parse_schedule(text), parse_schedule(same)
    assert (one.minutes, one.hours, one.days, one.months, one.weekdays) == (
        other.minutes,
        other.hours,
        other.days,
        other.months,
        other.weekdays,
    )


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("0 0 13 * fri", [2, 9, 13, 16, 23, 30]),
        ("0 0 13 * *", [13]),
        ("0 0 * * fri", [2, 9, 16, 23, 30]),
        ("0 0 */10 * fri", [1, 2, 9, 11, 16, 21, 23, 30, 31]),
    ],
)
def test_a_day_is_meant_if_it_is_in_either_field_unless_one_is_a_star(text: str, days: list[int]) -> None:
    october = range(1, 32)  # of 2026, which begins with a Thursday
    assert [day for day in october if parse_schedule(text).is_on(datetime(2026, 10, day))] == days  # noqa: DTZ001


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it has 0 fields, expected five (minute, hour, day of month, month, day of week), such as"),
        ("0 9 * *", "it has 4 fields, expected five"),
        ("0 0 9 * * *", "it has 6 fields, expected five"),
        ("TZ=Europe/Berlin 0 9 * * *", "it has 6 fields, expected five"),
        ("@reboot", "expected one of @yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly, or five"),
        ("@every 1h", "expected one of @yearly"),
        ("60 * * * *", "minute '60' is not known, expected a number from 0 to 59"),
        ("-1 * * * *", "minute '' is not known, expected a number from 0 to 59"),
        ("1.5 * * * *", "minute '1.5' is not known"),
        ("\u0661 * * * *", "minute '\u0661' is not known"),
        ("1" * 5000 + " * * * *", "minute '1111"),
        ("0 24 * * *", "hour '24' is not known, expected a number from 0 to 23"),
        ("0 0 0 * *", "day of month '0' is not known, expected a number from 1 to 31"),
        ("0 0 * 13 *", "month '13' is not known, expected a number from 1 to 12, or a name from jan to dec"),
        ("0 0 * june *", "month 'june' is not known, expected a number from 1 to 12, or a name from jan to dec"),
        ("0 0 * * 8", "day of week '8' is not known, expected a number from 0 to 7, or a name from sun to sat"),
        ("0 0 * * ?", "day of week '?' is not known"),
        ("0 17-9 * * *", "hour '17-9' runs backwards, expected the smaller end of a range first"),
        ("0 0 * * fri-mon", "day of week 'fri-mon' runs backwards"),
        ("*/90 * * * *", "minute '*/90' has the step '90', expected a number from 1 to 60"),
        ("*/0 * * * *", "minute '*/0' has the step '0', expected a number from 1 to 60"),
        ("*/ * * * *", "minute '*/' has the step '', expected a number from 1 to 60"),
        ("0, * * * *", "minute '' is not known"),
        ("0 0 30 2 *", "it never fires, because day of month 30 is not in month 2"),
        ("0 0 31 feb,apr,jun *", "it never fires, because day of month 31 is not in month feb,apr,jun"),
    ],
)
def test_a_bad_schedule_is_told_with_its_field_its_value_and_what_was_expected(text: str, why: str) -> None:
    with pytest.raises(ScheduleError) as caught:
        parse_schedule(text)
    assert caught.value.why.startswith(why)
    assert str(caught.value).startswith(f"{text!r} is not a schedule: ")


def test_a_day_that_only_some_years_have_is_no_mistake() -> None:
    assert parse_schedule("0 0 29 2 *").is_on(datetime(2028, 2, 29))  # noqa: DTZ001


@given(st.text())
@example("* * * * */\u00b2")
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(ScheduleError):
        parse_schedule(text)
