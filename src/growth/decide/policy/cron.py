"""A schedule as cron writes it: five fields, or a macro. Which minutes of which days are meant, on nobody's clock yet.

As in Kubernetes' CronJobs: names of months and weekdays, lists, ranges, steps, ``5/15`` for ``5-59/15``, and a day is
meant if it is in either of the two fields for days, unless one of them is ``*``. Beyond that ``7`` is Sunday, as most
crons have it, so ``fri-sun`` is a weekend. What can never fire, or was surely meant otherwise, is refused.
"""

from collections.abc import Mapping
from datetime import date
from functools import lru_cache
from typing import Final

import msgspec


class ScheduleError(ValueError):
    """A text that is no schedule, or one that never fires."""

    def __init__(self, text: str, why: str) -> None:
        super().__init__(f"{text!r} is not a schedule: {why}")
        self.text, self.why = text, why


class _Refused(Exception):
    """Why; whoever has the whole text says the rest."""


class Schedule(msgspec.Struct, frozen=True):
    """When it fires: at each of these minutes of each of these hours, on days that are meant."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Sunday is 0."""
    needs_both: bool
    """Whether a day must be in ``days`` and in ``weekdays``: one of them is ``*``."""

    def is_on(self, day: date) -> bool:
        """Whether it fires on this day."""
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return (in_month and in_week) if self.needs_both else (in_month or in_week)


class _Field(msgspec.Struct, frozen=True):
    name: str
    lowest: int
    highest: int
    names: Mapping[str, int] = {}
    other: int | None = None
    """A number that may be written, too, and means ``lowest``."""

    @property
    def expected(self) -> str:
        numbers, names = f"a number from {self.lowest} to {self.other or self.highest}", list(self.names)
        return f"{numbers}, or a name from {names[0]} to {names[-1]}" if names else numbers


_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_DAY_OF_MONTH: Final = _Field("day of month", 1, 31)
_DAY_OF_WEEK: Final = _Field("day of week", 0, 6, {name: number for number, name in enumerate(_WEEKDAYS)}, other=7)
_FIELDS: Final = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _DAY_OF_MONTH,
    _Field("month", 1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _DAY_OF_WEEK,
)
_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_LONGEST: Final = {month: 29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31 for month in range(1, 13)}


@lru_cache(1024)
def parse_schedule(text: str) -> Schedule:
    """What the text means, or ScheduleError."""
    try:
        return _schedule(_MACROS.get(text, text))
    except _Refused as refused:
        raise ScheduleError(text, str(refused)) from None


def _schedule(text: str) -> Schedule:
    if text.startswith("@"):
        raise _Refused(f"expected one of {', '.join(_MACROS)}, or five fields")
    texts = text.split()
    if len(texts) != len(_FIELDS):
        wanted = ", ".join(field.name for field in _FIELDS)
        raise _Refused(f"it has {len(texts)} fields, expected five ({wanted}), such as '0 9 * * mon-fri', or @daily")
    read = [_values(field, one) for field, one in zip(_FIELDS, texts, strict=True)]
    (minutes, _), (hours, _), (days, is_any_day), (months, _), (weekdays, is_any_weekday) = read
    if is_any_weekday and not any(min(days) <= _LONGEST[month] for month in months):
        raise _Refused(f"it never fires, because day of month {texts[2]} is not in month {texts[3]}")
    return Schedule(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        needs_both=is_any_day or is_any_weekday,
    )


def _values(field: _Field, text: str) -> tuple[frozenset[int], bool]:
    """What a field allows, and whether it is there only to say that it restricts nothing."""
    parts = text.split(",")
    values = frozenset(value for part in parts for value in _range(field, part))
    return values, any(part in ("*", "*/1") for part in parts)


def _range(field: _Field, part: str) -> range:
    span, slash, step = part.partition("/")
    first_text, dash, last_text = span.partition("-")
    if span == "*":
        first, last = field.lowest, field.highest
    elif dash:
        first, last = _number(field, first_text), _number(field, last_text)
        if field.other is not None and last == field.lowest < first:
            last = field.other
    else:
        first = _number(field, first_text)
        last = max(first, field.highest) if slash else first
    if first > last:
        raise _Refused(f"{field.name} {part!r} runs backwards, expected the smaller end of a range first")
    return range(first, last + 1, _step(field, part, step) if slash else 1)


def _step(field: _Field, part: str, text: str) -> int:
    most = field.highest - field.lowest + 1
    if not _is_short_number(text) or not 1 <= int(text) <= most:
        raise _Refused(f"{field.name} {part!r} has the step {text!r}, expected a number from 1 to {most}")
    return int(text)


def _number(field: _Field, text: str) -> int:
    if (named := field.names.get(text.lower())) is not None:
        return named
    if not _is_short_number(text) or not field.lowest <= int(text) <= (field.other or field.highest):
        raise _Refused(f"{field.name} {text!r} is not known, expected {field.expected}")
    return int(text)


def _is_short_number(text: str) -> bool:
    """Two digits are enough for all that cron counts."""
    return text.isascii() and text.isdigit() and len(text) <= 2
