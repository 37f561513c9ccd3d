"""What lies between one process of Growth and the wire: it is stopped for good, or for a while without knowing it.

A process that is stopped for a while sends and hears nothing. What it was about to send leaves in the instant in which
it wakes up: so an old leader wakes up, in the middle of what it was doing.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager

from growth.kube.errors import Unreachable
from growth.kube.transport import Request, Response, Send, Stream
from tests.trust.interruption import Side


class Valve:
    """A ``Send`` that can be shut. ``killed`` is set when the process is to end."""

    def __init__(self, send: Send, told: Callable[[str], None]) -> None:
        self._send, self._told = send, told
        self.killed = asyncio.Event()
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._writes_left: int | None = None
        self._side = Side.BEFORE
        self._rests: tuple[int, float] | None = None

    def kill(self) -> None:
        """Nothing comes through any more."""
        self.killed.set()
        self._is_open.set()

    def kill_at(self, writes: int, side: Side) -> None:
        """Kill it at so many writes from now on, before it leaves or before its answer comes."""
        self._writes_left, self._side = writes, side

    def spare(self) -> None:
        """It lives on."""
        self._writes_left = self._rests = None

    def pause_at(self, writes: int, seconds: float) -> None:
        """Let it stand still for so long at so many writes from now on, in the instant before that one leaves."""
        self._rests = writes, seconds

    def pause(self) -> None:
        """Nothing comes through for a while."""
        self._is_open.clear()

    def resume(self) -> None:
        """The process wakes up and knows nothing."""
        self._is_open.set()

    async def send(self, request: Request) -> Response:
        """Send, when it is open."""
        self._stand_still_at(request)
        await self._pass()
        side = self._side_of(request)
        if side is Side.BEFORE:
            self.kill()
            await self._pass()
        response = await self._send.send(request)
        if side is Side.AFTER:
            self.kill()
        await self._pass()
        return response

    def _stand_still_at(self, request: Request) -> None:
        # Renewals are most of all writes, and neither they nor events decide anything.
        if self._rests is None or not request.writes or any(one in request.path for one in ("/leases/", "/events")):
            return
        writes, seconds = self._rests
        self._rests = (writes - 1, seconds) if writes > 1 else None
        if self._rests is None:
            self._told(f"stands still for {seconds:g} s before {request.method} {request.path}")
            self.pause()
            asyncio.get_running_loop().call_later(seconds, self.resume)

    def _side_of(self, request: Request) -> Side | None:
        """Where the process ends, if it ends at this request."""
        if self._writes_left is None or not request.writes:
            return None
        self._writes_left -= 1
        if self._writes_left > 0:
            return None
        self._writes_left = None
        self._told(f"is killed {self._side} {request.method} {request.path}")
        return self._side

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream]:
        """A watch through which nothing comes while it is shut."""
        await self._pass()
        async with self._send.stream(request) as stream:
            yield _Throttled(stream, self._pass)

    async def _pass(self) -> None:
        await self._is_open.wait()
        if self.killed.is_set():
            raise Unreachable("this process is dead", sent=True)

    def clock(self) -> float:
        """The sender's, which goes on while the process stands still."""
        return self._send.clock()

    async def close(self) -> None:
        """Close the sender."""
        await self._send.close()


class _Throttled:
    """A stream behind the valve."""

    def __init__(self, stream: Stream, come_through: Callable[[], Awaitable[None]]) -> None:
        self._stream, self._come_through = stream, come_through

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._stream.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""
        return self._stream.headers

    async def batches(self) -> AsyncGenerator[list[bytes]]:
        """Lines, as they come through."""
        async with aclosing(self._stream.batches()) as batches:
            async for batch in batches:
                await self._come_through()
                yield batch

    async def body(self) -> bytes:
        """The whole answer."""
        return await self._stream.body()
