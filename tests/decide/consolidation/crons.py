"""Schedules for tests: each text is drawn together with what it means, so that nothing is asked of the parser."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat", "sun")
MINUTE = timedelta(minutes=1)


class Drawn(msgspec.Struct, frozen=True):
    """A schedule, and which times on a clock it means."""

    text: str
    fields: tuple[frozenset[int], ...]
    both: bool

    def means(self, wall: datetime) -> bool:
        """Whether it fires when a clock shows this."""
        minutes, hours, days, months, weekdays = self.fields
        if wall.minute not in minutes or wall.hour not in hours or wall.month not in months:
            return False
        on_day, on_weekday = wall.day in days, (wall.weekday() + 1) % 7 in weekdays
        return (on_day and on_weekday) if self.both else (on_day or on_weekday)


Names = Callable[[int], SearchStrategy[str]]


def _plain(number: int) -> SearchStrategy[str]:
    return st.sampled_from((str(number), f"{number:02d}"))


def _month(number: int) -> SearchStrategy[str]:
    return st.sampled_from((str(number), MONTHS[number - 1], MONTHS[number - 1].upper()))


def _weekday(number: int) -> SearchStrategy[str]:
    return st.sampled_from((str(number), WEEKDAYS[number], WEEKDAYS[number].title()))


@st.composite
def _parts(draw: DrawFn, lowest: int, highest: int, names: Names, top: int) -> tuple[str, frozenset[int]]:
    step = draw(st.integers(1, highest - lowest + 1))
    first, last = sorted((draw(st.integers(lowest, top)), draw(st.integers(lowest, top))))
    shape = draw(st.sampled_from(("one", "range", "stepped", "open", "star")))
    begin, end = draw(names(first)), draw(names(last))
    if top != highest and first in (lowest, top):
        # By its name nobody could tell whether a range that begins with Sunday is a day or a week.
        begin, end = str(first), str(last)
    match shape:
        case "one":
            return begin, frozenset({first})
        case "range":
            return f"{begin}-{end}", frozenset(range(first, last + 1))
        case "stepped":
            return f"{begin}-{end}/{step}", frozenset(range(first, last + 1, step))
        case "open" if first <= highest:
            return f"{begin}/{step}", frozenset(range(first, highest + 1, step))
        case _:
            return f"*/{step}", frozenset(range(lowest, highest + 1, step))


@st.composite
def _field(
    draw: DrawFn, lowest: int, highest: int, names: Names = _plain, top: int | None = None
) -> tuple[str, frozenset[int]]:
    if draw(st.booleans()):
        return "*", frozenset(range(lowest, highest + 1))
    parts = draw(st.lists(_parts(lowest, highest, names, top or highest), min_size=1, max_size=3))
    return ",".join(text for text, _ in parts), frozenset[int]().union(*(values for _, values in parts))


@st.composite
def schedules(draw: DrawFn) -> Drawn:
    """Any schedule that fires at all."""
    drawn = [
        draw(_field(0, 59)),
        draw(_field(0, 23)),
        draw(_field(1, 31).filter(lambda field: min(field[1]) <= 29)),
        draw(_field(1, 12, _month)),
        draw(_field(0, 6, _weekday, 7)),
    ]
    texts, values = [text for text, _ in drawn], [meant for _, meant in drawn]
    values[4] = frozenset(day % 7 for day in values[4])
    both = any(part in ("*", "*/1") for text in (texts[2], texts[4]) for part in text.split(","))
    return Drawn(" ".join(texts), tuple(values), both)


@lru_cache(16)
def leaps(zone: str, start: datetime, minutes: int) -> tuple[tuple[datetime, tuple[datetime, ...]], ...]:
    """By minute, which times have come on a clock there: one as a rule, an hour's when it is put forward."""
    place, come = ZoneInfo(zone), list[tuple[datetime, tuple[datetime, ...]]]()
    shown = (start - MINUTE).astimezone(place).replace(tzinfo=None, fold=0)
    for number in range(minutes):
        instant = start + number * MINUTE
        before, shown = shown, instant.astimezone(place).replace(tzinfo=None, fold=0)
        leapt = max(1, (shown - before) // MINUTE)
        come.append((instant, tuple(shown - ago * MINUTE for ago in reversed(range(leapt)))))
    return tuple(come)
