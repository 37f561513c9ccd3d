"""The time of a virtual cluster: what the wall clock shows there, and timers for whatever happens by itself."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

# Some Monday morning. All virtual clusters begin there, so that two runs write the same timestamps.
BEGINNING: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Clock:
    """Reads the running loop. On a VirtualLoop, waiting costs nothing."""

    def __init__(self, beginning: datetime = BEGINNING) -> None:
        self._loop = asyncio.get_running_loop()
        self._beginning = beginning

    def seconds(self) -> float:
        """Since the beginning."""
        return self._loop.time()

    def now(self) -> datetime:
        """What a wall clock shows."""
        return self._beginning + timedelta(seconds=self._loop.time())

    def jump(self, seconds: float) -> None:
        """The wall clock is set anew, forward or back; timers do not notice, as on a real machine."""
        self._beginning += timedelta(seconds=seconds)

    def stamp(self) -> str:
        """Now, as it stands in objects: whole seconds."""
        return written(self.now())

    def stamp_after(self, seconds: float) -> str:
        """What ``stamp`` will show then."""
        return written(self.now() + timedelta(seconds=seconds))

    def after(self, seconds: float, happen: Callable[[], None]) -> asyncio.TimerHandle:
        """Let something happen later; the handle cancels it."""
        return self._loop.call_later(seconds, happen)

    def soon(self, happen: Callable[[], None]) -> None:
        """Let something happen at this very instant, but after everything that is already due."""
        self._loop.call_soon(happen)


def written(when: datetime) -> str:
    """As the API server writes a ``metav1.Time``."""
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def written_exactly(when: datetime) -> str:
    """As the API server writes a ``metav1.MicroTime``, which Leases and Events have."""
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def read(stamp: str) -> datetime:
    """Either of the two, read again."""
    return datetime.fromisoformat(stamp)
