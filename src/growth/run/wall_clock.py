"""The wall clock, and whether it can be trusted: it is set by people and by daemons, and it goes on while we sleep.

What is written in objects carries wall-clock time, so a clock that jumps an hour ahead would make every machine that is
booting look an hour late. Compared with a clock that only ever runs, a jump shows.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

_LOG: Final = logging.getLogger(__name__)

# Clocks that are kept in step are moved by milliseconds at a time.
_JUMP_SECONDS: Final = 5.0


class WallClock:
    """``steady_since`` is the instant, by the clock as it goes now, at which the last jump was seen."""

    def __init__(self, now: Callable[[], datetime], seconds: Callable[[], float]) -> None:
        self._now, self._seconds = now, seconds
        self._last = now(), seconds()
        self.steady_since: datetime | None = None

    def read(self) -> datetime:
        """The time, once more compared with the time that really passed."""
        now, seconds = self._now(), self._seconds()
        jumped = (now - self._last[0]).total_seconds() - (seconds - self._last[1])
        self._last = now, seconds
        if abs(jumped) > _JUMP_SECONDS:
            self.steady_since = now
            words = "the wall clock jumped by %+.0f s; what was written before counts from now on"
            _LOG.warning(words, jumped, extra={"facts": {"jumped_seconds": round(jumped)}})
        return now
