"""When does a budget hold, and when does that change next?

Budgets only ever forbid, so in doubt they hold. That decides what a clock does that is put forward or back:
a time that the clock leaps over comes when it leaps (skipped, a night's protection would fall out), and a time that
comes twice counts both times. A duration is time that passes, not what the clock shows: eight hours from 22:00 end at
05:00 in the night that has one hour more.

Nothing here is asked of the system's clock; zones are read once each from the machine's or the package's tables.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final, Literal
from zoneinfo import ZoneInfo

import msgspec

from growth.api.disruption import DisruptionBudget
from growth.api.duration import DurationError, parse_duration
from growth.decide.policy.cron import Schedule, ScheduleError, parse_schedule

# A year: what holds for longer needs no schedule.
_LONGEST: Final = timedelta(hours=8784)
# 29 February comes after eight years at the latest (2096 to 2104): whatever fires at all, does in as many days.
_DAYS_TO_LOOK_AT: Final = 8 * 366
# Windows that follow each other without a break may do so for ever; then one looks again at the end of these.
_WINDOWS_TO_JOIN: Final = 64
_NEVER: Final = timedelta(0)

Direction = Literal[1, -1]


class Window(msgspec.Struct, frozen=True):
    """The times at which a budget with a schedule holds: from each firing, for a while."""

    schedule: Schedule
    zone: ZoneInfo
    length: timedelta

    def is_open(self, now: datetime) -> bool:
        """Whether it fired within its length; at its very end it is over."""
        fired_at = self.fired_at(now)
        return fired_at is not None and now < fired_at + self.length

    def changes_at(self, now: datetime) -> datetime | None:
        """When it next opens or closes; never later than that, and sooner if it stays open for very long."""
        opened_at = self.fired_at(now)
        if opened_at is None or now >= opened_at + self.length:
            return self.fires_at(now)
        for _ in range(_WINDOWS_TO_JOIN):
            again_at = self.fired_at(opened_at + self.length)
            if again_at is None or again_at <= opened_at:
                break
            opened_at = again_at
        return opened_at + self.length

    def fired_at(self, now: datetime) -> datetime | None:
        """The last time it fired, now included."""
        found = [self._nearest(now, -1, fold) for fold in (0, 1)]
        return max((one for one in found if one is not None), default=None)

    def fires_at(self, now: datetime) -> datetime | None:
        """The next time that it fires, now excluded."""
        found = [self._nearest(now, 1, fold) for fold in (0, 1)]
        return min((one for one in found if one is not None), default=None)

    def _nearest(self, now: datetime, step: Direction, fold: int) -> datetime | None:
        """The first firing on that side if all times that come twice meant their first (or second) coming: only so
        does a later time on the clock never mean an earlier instant."""
        wall = now.astimezone(self.zone).replace(tzinfo=None, second=0, microsecond=0, fold=0)
        before, after = _offsets(wall, self.zone)
        # While the clock shows what it shows twice, times that it showed are to come, and others were before.
        start = wall - step * max(before - after, _NEVER)
        instants = (_instant(one, self.zone, fold) for one in _walls(self.schedule, start, step))
        return next((one for one in instants if (one > now if step == 1 else one <= now)), None)


def window_of(budget: DisruptionBudget) -> Window | None:
    """When it holds; None if always, which is also so while somebody must mend what ``time_faults`` finds."""
    return _read(budget.schedule, budget.time_zone, budget.duration)[0]


def time_faults(budget: DisruptionBudget) -> tuple[tuple[str, str], ...]:
    """What is wrong with what it says about time: the field, and a sentence."""
    return _read(budget.schedule, budget.time_zone, budget.duration)[1]


def holds(budget: DisruptionBudget, now: datetime) -> bool:
    """Whether it holds now."""
    window = window_of(budget)
    return window is None or window.is_open(now)


def next_change(budget: DisruptionBudget, now: datetime) -> datetime | None:
    """When to look again, because it may begin or cease to hold then; None if it always holds."""
    window = window_of(budget)
    return None if window is None else window.changes_at(now)


@lru_cache(1024)
def _read(
    schedule: str | None, time_zone: str, duration: str | None
) -> tuple[Window | None, tuple[tuple[str, str], ...]]:
    faults: list[tuple[str, str]] = []
    fires, zone, length = None, None, None
    try:
        fires = None if schedule is None else parse_schedule(schedule)
    except ScheduleError as error:
        faults.append(("schedule", str(error)))
    try:
        zone = ZoneInfo(time_zone)
    except (KeyError, ValueError, OSError):  # by what is wrong: no such file, not a name, a folder
        faults.append(("timeZone", f"{time_zone!r} is not a time zone, expected an IANA name such as Europe/Berlin"))
    try:
        length = None if duration is None else parse_duration(duration)
    except DurationError as error:
        faults.append(("duration", str(error)))
    if length is not None and not _NEVER < length <= _LONGEST:
        faults.append(("duration", f"{duration!r} is out of bounds, expected more than 0s and at most 8784h, a year"))
    if schedule is not None and duration is None:
        faults.append(("duration", f"it is missing, expected how long the budget holds after {schedule!r}, such as 8h"))
    if schedule is None and duration is not None:
        faults.append(("schedule", f"it is missing, expected when the {duration} begin, such as '0 9 * * mon-fri'"))
    if faults or fires is None or zone is None or length is None:
        return None, tuple(faults)
    return Window(fires, zone, length), ()


def _walls(schedule: Schedule, start: datetime, step: Direction) -> Iterator[datetime]:
    """The times that a clock shows when it fires, from the start on, or back from it."""
    for number in range(_DAYS_TO_LOOK_AT):
        day = start + step * timedelta(days=number)
        if not schedule.is_on(day):
            continue
        for hour in schedule.hours[::step]:
            if number == 0 and step * (hour - start.hour) < 0:
                continue
            for minute in schedule.minutes[::step]:
                wall = day.replace(hour=hour, minute=minute)
                if step * (wall - start) >= _NEVER:
                    yield wall


def _instant(wall: datetime, zone: ZoneInfo, fold: int) -> datetime:
    """When the clock shows this for the first or second time; of what it never shows, when it leaps over it."""
    before, after = _offsets(wall, zone)
    if before >= after:
        return (wall - (after if fold else before)).replace(tzinfo=UTC)
    # The leap is after the one and not after the other; a table of zones has whole seconds.
    early, late = (wall - after).replace(tzinfo=UTC), (wall - before).replace(tzinfo=UTC)
    while (late - early) > timedelta(seconds=1):
        middle = early + timedelta(seconds=(late - early) // timedelta(seconds=2))
        if middle.astimezone(zone).utcoffset() == before:
            early = middle
        else:
            late = middle
    return late


def _offsets(wall: datetime, zone: ZoneInfo) -> tuple[timedelta, timedelta]:
    """The zone's distance from UTC before and after a change of the clock at that time; else both are the same."""
    before, after = (zone.utcoffset(wall.replace(fold=fold)) for fold in (0, 1))
    if before is None or after is None:
        raise AssertionError(f"{zone} has no time at {wall}")
    return before, after
