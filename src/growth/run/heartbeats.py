"""Signs of life: who has to show progress, how long it may be silent, and who has been silent for longer.

Whatever runs for as long as the process does registers here. The health server reads it on a thread of its own, so a
loop that is blocked, which can beat no more, is noticed all the same.
"""

import threading
from collections.abc import Callable

import msgspec


class Silence(msgspec.Struct, frozen=True):
    """Somebody who should have made progress by now."""

    name: str
    seconds: float
    allowed_seconds: float

    def __str__(self) -> str:
        return f"{self.name} has made no progress for {self.seconds:.0f} s ({self.allowed_seconds:.0f} s are allowed)"


class Heartbeat:
    """One who has to show progress: ``beat`` whenever there is some, ``rest`` while there is nothing to do."""

    def __init__(self, name: str, allowed_seconds: float, clock: Callable[[], float]) -> None:
        self.name = name
        self._allowed_seconds = allowed_seconds
        self._clock = clock
        self._last: float | None = clock()

    def beat(self) -> None:
        """There was progress, and more is expected."""
        self._last = self._clock()

    def rest(self) -> None:
        """There is nothing to do, so silence means nothing until the next ``beat``."""
        self._last = None

    def silence(self) -> Silence | None:
        """Too long a silence, if there is one. May be asked from any thread."""
        last = self._last
        if last is None:
            return None
        seconds = self._clock() - last
        return Silence(self.name, seconds, self._allowed_seconds) if seconds > self._allowed_seconds else None


class Heartbeats:
    """All of a process. ``clock`` is monotonic, and may be read from any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._all: list[Heartbeat] = []

    def register(self, name: str, allowed_seconds: float) -> Heartbeat:
        """From now on ``name`` has to show progress; it begins with one beat."""
        heartbeat = Heartbeat(name, allowed_seconds, self._clock)
        with self._lock:
            self._all.append(heartbeat)
        return heartbeat

    def end(self, heartbeat: Heartbeat) -> None:
        """It has ended as it should, and owes no progress any more."""
        with self._lock:
            self._all.remove(heartbeat)

    def silences(self) -> list[Silence]:
        """Who has been silent for too long."""
        with self._lock:
            known = list(self._all)
        return [silence for heartbeat in known if (silence := heartbeat.silence())]
