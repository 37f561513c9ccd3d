"""Spans of time, as exact as anybody looks.

Money as people read it: an hour exactly, a month in round figures.

Amounts and instants of the queue, as people say them.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final

from growth.api.duration import format_duration


def span(length: timedelta) -> str:
    """Two units of it at most: 4m12s, 3h5m, 12d. What lies on the other side of now is none."""
    seconds = max(0, int(length.total_seconds()))
    if seconds >= 2 * 86_400:
        return f"{seconds // 86_400}d"
    return format_duration(timedelta(seconds=seconds - seconds % 60 if seconds >= 3600 else seconds))


# 365 days of 24 hours, in twelve parts: what providers mean when they name both prices.
HOURS_A_MONTH: Final = 730


def hourly(amount: float) -> str:
    """Prices of small machines differ in the fourth place."""
    return f"{amount:,.4f}"


def monthly(amount_per_hour: float) -> str:
    """The same for a month."""
    return f"{amount_per_hour * HOURS_A_MONTH:,.2f}"


_SIZES: Final = {"Ti": 1 << 40, "Gi": 1 << 30, "Mi": 1 << 20, "Ki": 1 << 10}
_IN_BYTES: Final = ("memory", "ephemeral-storage", "hugepages-")


def figure(resource: str, value: int) -> str:
    """A counted amount without its name: 2.5, 36Gi."""
    if resource == "cpu":
        return f"{value / 1000:,.10g}"
    if resource.startswith(_IN_BYTES):
        unit, size = next(((unit, size) for unit, size in _SIZES.items() if abs(value) >= size), ("", 1))
        return f"{value / size:,.4g}{unit}" if size > 1 else f"{value}"
    return f"{value:,}"


def short(resource: str) -> str:
    """A resource without the domain of its name: gpu."""
    return resource.rpartition("/")[2]


def amount(resource: str, value: int) -> str:
    """A counted amount with its name: 2.5 cpu, 36Gi memory."""
    return f"{figure(resource, value)} {short(resource)}"


def amounts(asked: Mapping[str, int]) -> str:
    """What somebody asks for, cpu first: 8 cpu, 32Gi, 2 gpu. That it is memory goes without saying."""
    told = [
        figure(resource, value) if resource == "memory" else amount(resource, value)
        for resource, value in sorted(asked.items(), key=lambda one: (one[0] != "cpu", one[0] != "memory", one[0]))
        if value
    ]
    return ", ".join(told) or "nothing"


def clock(instant: datetime, now: datetime) -> str:
    """Which time of which day, the day only if it is another one: 14:05 UTC."""
    at, today = instant.astimezone(UTC), now.astimezone(UTC)
    return f"{at:%H:%M} UTC" if at.date() == today.date() else f"{at:%d %b %H:%M} UTC"


def due(instant: datetime, now: datetime) -> str:
    """When something will happen: 14:05 UTC (in 3m)."""
    left = instant - now
    away = f"in {span(left)}" if left > timedelta(0) else f"due for {span(-left)}"
    return f"{clock(instant, now)} ({away})"


def times(count: int) -> str:
    """Once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count:,} times")
