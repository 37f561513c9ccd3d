"""Signs of life: who has to show progress, how long it may be silent, and who has been silent for longer.

Whatever runs for as long as the process does registers here. The health server reads it on a thread of its own, so a
loop that is blocked, which can beat no more, is noticed all the same.

A way to the server on which every exchange is a sign of life of the one who uses it.

An informer makes progress as long as its exchanges end, however they end: a server that cannot be reached is no reason
to restart us. What is caught is the rest, an exchange that neither goes on nor fails.
"""

import threading
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager

import msgspec

from growth.kube.transport import Request, Response, Send, Stream


class MissedHeartbeat(msgspec.Struct, frozen=True):
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

    def silence(self) -> MissedHeartbeat | None:
        """Too long a silence, if there is one. May be asked from any thread."""
        last = self._last
        if last is None:
            return None
        seconds = self._clock() - last
        return MissedHeartbeat(self.name, seconds, self._allowed_seconds) if seconds > self._allowed_seconds else None


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

    def silences(self) -> list[MissedHeartbeat]:
        """Who has been silent for too long."""
        with self._lock:
            known = list(self._all)
        return [silence for heartbeat in known if (silence := heartbeat.silence())]


class BeatingSend:
    """A ``Send`` that calls ``beat`` whenever something came back, or failed to."""

    def __init__(self, send: Send, beat: Callable[[], None]) -> None:
        self._send = send
        self._beat = beat

    async def send(self, request: Request) -> Response:
        """Send, and beat when it has ended."""
        try:
            return await self._send.send(request)
        finally:
            self._beat()

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream]:
        """Open a stream, and beat with each batch of it."""
        try:
            async with self._send.stream(request) as stream:
                yield _BeatingStream(stream, self._beat)
        finally:
            self._beat()

    def clock(self) -> float:
        """The sender's clock."""
        return self._send.clock()

    async def close(self) -> None:
        """Close the sender, which others may share."""
        await self._send.close()


class _BeatingStream:
    """A stream whose batches are signs of life."""

    def __init__(self, stream: Stream, beat: Callable[[], None]) -> None:
        self._stream = stream
        self._beat = beat

    @property
    def status(self) -> int:
        return self._stream.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._stream.headers

    async def batches(self) -> AsyncGenerator[list[bytes]]:
        async with aclosing(self._stream.batches()) as batches:
            async for batch in batches:
                self._beat()
                yield batch

    async def body(self) -> bytes:
        return await self._stream.body()
