"""Instants: RFC 3339 on the wire, aware ``datetime`` in UTC with us.

Kubernetes writes two forms: Time, in whole seconds ("2026-01-01T21:07:52Z"), for nearly everything, and MicroTime, with
exactly six digits, for Leases and Events. It refuses a MicroTime without them, so the writer must know which it is.
"""

import re
from datetime import UTC, datetime, timedelta, timezone

_SHAPE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,18}))?(?:([Zz])|([+-])(\d\d):(\d\d))", re.ASCII
)


class TimestampError(ValueError):
    """A text that is no instant of RFC 3339."""

    def __init__(self, text: str) -> None:
        super().__init__(
            f"{text!r} is not a timestamp: expected RFC 3339, such as 2026-01-01T21:07:52Z or "
            "2026-01-01T22:07:52.5+01:00"
        )
        self.text = text


def parse_timestamp(text: str) -> datetime:
    """Read an instant with or without fraction, in any offset; what is finer than a microsecond is cut off."""
    shape = _SHAPE.fullmatch(text)
    if shape is None:
        raise TimestampError(text)
    try:
        offset = timedelta(hours=int(shape[10] or 0), minutes=int(shape[11] or 0))
        zone = UTC if shape[8] else timezone(-offset if shape[9] == "-" else offset)
        microsecond = int((shape[7] or "0")[:6].ljust(6, "0"))
        year, month, day, hour, minute, second = (int(shape[index]) for index in range(1, 7))
        return datetime(year, month, day, hour, minute, second, microsecond, tzinfo=zone).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise TimestampError(text) from error


def format_time(instant: datetime) -> str:
    """Kubernetes' Time: whole seconds, the fraction cut off as the API server cuts it."""
    return f"{_in_utc(instant):%Y-%m-%dT%H:%M:%SZ}".rjust(20, "0")


def format_micro_time(instant: datetime) -> str:
    """Kubernetes' MicroTime: always six digits, which Leases and Events insist on."""
    return f"{_in_utc(instant):%Y-%m-%dT%H:%M:%S.%fZ}".rjust(27, "0")


def _in_utc(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError(f"{instant!r} is not an instant: expected an aware datetime, such as datetime.now(UTC)")
    return instant.astimezone(UTC)
