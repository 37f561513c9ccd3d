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
# What takes only seconds, as a proof does, minds also this; less may be a pause between two looks at two clocks.
_SLIP_SECONDS: Final = 0.5


class WallClock:
    """``steady_since`` is the instant, by the clock as it goes now, at which the last jump was seen; ``even_since``
    the same for the last one that was seen at all, however small."""

    def __init__(self, now: Callable[[], datetime], seconds: Callable[[], float]) -> None:
        self._now, self._seconds = now, seconds
        self._last = now(), seconds()
        self.steady_since: datetime | None = None
        self.even_since: datetime | None = None

    def read(self) -> datetime:
        """The time, once more compared with the time that really passed."""
        now, seconds = self._now(), self._seconds()
        before = self._last[0]
        jumped = (now - before).total_seconds() - (seconds - self._last[1])
        self._last = now, seconds
        if abs(jumped) > _SLIP_SECONDS:
            self.even_since = max(now, before)  # what was read before a slip back must not seem to come after it
        if abs(jumped) > _JUMP_SECONDS:
            self.steady_since = self.even_since = now
            words = "the wall clock jumped by %+.0f s; what was written before counts from now on"
            _LOG.warning(words, jumped, extra={"facts": {"jumped_seconds": round(jumped)}})
        return now
