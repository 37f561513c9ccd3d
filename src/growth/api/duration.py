"""Durations as Kubernetes writes them ("1h30m", "1.5s", "300ms") and as we hold them (``timedelta``).

The text is Go's. Ours is finer than a microsecond nowhere, so nanoseconds are read and rounded up: a duration that was
asked for never becomes none. What we print is the shortest form, "10m" and not Go's "10m0s"; Go reads both.
"""

import re
from datetime import timedelta
from functools import lru_cache

_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,  # U+00B5, micro sign
    "μs": 10**3,  # U+03BC, the Greek letter, which Go takes too
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)")
_LIMIT = 2**63  # nanoseconds in Go's int64, about 292 years


class DurationError(ValueError):
    """A text that Go would not take as a duration."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text!r} is not a duration: expected numbers, each with one of the units h, m, s, ms, us, ns, "
            "such as 90s, 1h30m or 1.5s"
        )
        self.text = text


@lru_cache(1024)
def parse_duration(text: str) -> timedelta:
    """Read a duration as Go does, or raise DurationError."""
    body = text[1:] if text[:1] in {"+", "-"} else text
    if body == "0":
        return timedelta(0)
    nanoseconds = position = 0
    while position < len(body):
        part = _PART.match(body, position)
        if part is None or part[3] not in _NANOSECONDS or not (part[1] or part[2]) or part.end() - position > 100:
            raise DurationError(text)
        unit, fraction = _NANOSECONDS[part[3]], part[2] or ""
        nanoseconds += int(part[1] or 0) * unit + int(fraction or 0) * unit // 10 ** len(fraction)
        position = part.end()
    if not body or nanoseconds >= _LIMIT:
        raise DurationError(text)
    duration = timedelta(microseconds=-(-nanoseconds // 1000))
    return -duration if text.startswith("-") else duration


def format_duration(duration: timedelta) -> str:
    """The shortest text that reads back as the same duration: hours, minutes, then seconds with their fraction."""
    microseconds = abs(duration) // timedelta(microseconds=1)
    if not microseconds:
        return "0s"
    sign = "-" if duration < timedelta(0) else ""
    if microseconds < 10**6:
        whole, fraction = divmod(microseconds, 1000)
        return f"{sign}{whole}ms" if not fraction else f"{sign}{microseconds}us"
    seconds, fraction = divmod(microseconds, 10**6)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    text = sign + (f"{hours}h" if hours else "") + (f"{minutes}m" if minutes else "")
    if fraction:
        return f"{text}{seconds}.{fraction:06d}".rstrip("0") + "s"
    return f"{text}{seconds}s" if seconds else text
