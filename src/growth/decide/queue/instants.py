"""Instants that come from objects, where anybody may have written anything: a sum never falls off the calendar."""

from datetime import UTC, datetime, timedelta
from typing import Final

_END: Final = datetime.max.replace(tzinfo=UTC)


def later(instant: datetime, *spans: timedelta) -> datetime:
    """So much later, or the last instant that there is."""
    for span in spans:
        try:
            instant += span
        except OverflowError:
            return _END
    return instant
