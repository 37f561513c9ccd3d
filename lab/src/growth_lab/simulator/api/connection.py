"""The way to the virtual API server and back: it takes time, and it is where faults happen."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final, NoReturn

from growth.kube.errors import Fenced, Unreachable
from growth.kube.transport import Request, Response
from growth_lab.simulator.api.error_responses import Refusal, expired, refused
from growth_lab.simulator.api.injected_errors import answer_instead
from growth_lab.simulator.faults import Fault, Happened

if TYPE_CHECKING:
    from growth_lab.simulator.api.server import VirtualApiServer
    from growth_lab.simulator.api.watches import Watcher

# So many lines are handed over at once; a reader of a long list lets others run in between.
_BATCH: Final = 500


class VirtualSend:
    """``growth.kube.transport.Send`` for one user. Made by ``VirtualApiServer.connect``."""

    def __init__(self, server: "VirtualApiServer", user: str) -> None:
        self.user = user
        self._server = server
        self._streams: list[VirtualStream] = []

    def clock(self) -> float:
        """The loop's time: virtual processes never sleep without it."""
        return self._server.clock.seconds()

    async def send(self, request: Request) -> Response:
        """Send, and wait for the whole answer, for no longer than the request's time-out."""
        afterwards = self._server.faults.leaving(self.user)
        fault = self._leave(request)
        try:
            async with asyncio.timeout(request.timeout_seconds):
                await self._arrive(request, fault)
                instead = answer_instead(fault) if fault else None
                response = instead or self._server.answer(self.user, request)
                for happen in afterwards:
                    happen()
                if fault and fault.fault is Fault.LOST:
                    self._break("the connection broke")
                if fault and fault.fault is Fault.SLOW:
                    await asyncio.sleep(fault.seconds)
                if fault and fault.fault is Fault.INTERNAL_AFTER:
                    response = answer_instead(fault, is_done=True) or response
                await self._travel()
                return response
        except TimeoutError:
            self._break("it did not answer in time")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator["VirtualStream"]:
        """Send, and read the answer as it comes; silence longer than the request's time-out is a broken connection."""
        afterwards = self._server.faults.leaving(self.user)
        fault = self._leave(request)
        try:
            async with asyncio.timeout(request.timeout_seconds):
                await self._arrive(request, fault)
        except TimeoutError:
            self._break("it did not answer in time")
        stream = self._watch(request, fault)
        self._streams.append(stream)
        try:
            for happen in afterwards:
                happen()
            await self._travel()
            yield stream
        finally:
            self._streams.remove(stream)
            stream.leave()

    async def close(self) -> None:
        """Whoever still reads a stream is told that the connection broke."""
        for stream in self._streams:
            stream.break_off("the client closed it")

    def _leave(self, request: Request) -> Happened | None:
        """The instant in which the request goes. Raises Fenced, Unreachable."""
        server = self._server
        if request.writes and request.not_after is not None and self.clock() >= request.not_after:
            raise Fenced(f"{request.method} {request.path} was not sent: the leader's lease ran out")
        fault = server.faults.draw(server.asked(self.user, request))
        if fault and fault.fault is Fault.RESTART:
            server.restart(fault.seconds)
        if server.is_down or (fault and fault.fault is Fault.REFUSED):
            raise Unreachable("the API server is unreachable: no connection: Connection refused", sent=False)
        return fault

    async def _arrive(self, request: Request, fault: Happened | None) -> None:
        """Half of the way; some requests never get there, or get there when nobody waits any more."""
        await self._travel()
        if fault and fault.fault is Fault.LATE:
            user, server = self.user, self._server
            server.clock.after(
                max(fault.seconds, request.timeout_seconds), lambda: _forget(server.answer(user, request))
            )
        if fault and fault.fault in (Fault.LATE, Fault.TIMEOUT):
            await asyncio.sleep(request.timeout_seconds + 1)

    async def _travel(self) -> None:
        born = self._server.incarnation
        await asyncio.sleep(self._server.timings.api_latency / 2)
        if self._server.incarnation != born:
            self._break("the connection broke")

    def _watch(self, request: Request, fault: Happened | None) -> "VirtualStream":
        instead = answer_instead(fault) if fault else None
        if instead is not None and instead.status != 410:
            return VirtualStream(request, instead, None)
        try:
            watcher = self._server.watch(self.user, request)
        except Refusal as refusal:
            return VirtualStream(request, refused(refusal), None)
        if instead is not None:
            watcher.refuse(expired("too old resource version"))
        self._hurt(watcher, fault)
        return VirtualStream(request, Response(200, b""), watcher)

    def _hurt(self, watcher: "Watcher", fault: Happened | None) -> None:
        after = self._server.clock.after
        match fault:
            case Happened(fault=Fault.CUT):
                after(fault.seconds, lambda: watcher.break_off("the connection broke"))
            case Happened(fault=Fault.SILENT):
                after(fault.seconds, watcher.fall_silent)
            case Happened(fault=Fault.SLOW_WATCH):
                faults = self._server.faults
                watcher.lag = lambda: fault.seconds if faults.still_lasts(fault) else 0.0
            case _:
                pass

    def _break(self, why: str) -> NoReturn:
        raise Unreachable(f"the API server is unreachable: {why}", sent=True)


def _forget(_: Response) -> None:
    """Nobody waits for this answer."""


class VirtualStream:
    """An answer that goes on."""

    def __init__(self, request: Request, response: Response, watcher: "Watcher | None") -> None:
        self._patience = request.timeout_seconds
        self._response = response
        self._watcher = watcher
        self._lines: list[bytes] = []
        self._news = asyncio.Event()
        self._is_over = watcher is None
        self._broken = ""
        if watcher is not None:
            watcher.open(self)

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._response.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers."""
        return self._response.headers

    async def batches(self) -> AsyncGenerator[list[bytes]]:
        """Lines, until the server ends the watch."""
        while True:
            while self._lines:
                batch, self._lines = self._lines[:_BATCH], self._lines[_BATCH:]
                yield batch
            if self._broken:
                raise Unreachable(f"the API server is unreachable: {self._broken}", sent=True)
            if self._is_over:
                return
            self._news.clear()
            try:
                async with asyncio.timeout(self._patience):
                    await self._news.wait()
            except TimeoutError:
                why = "the API server is unreachable: it did not answer in time"
                raise Unreachable(why, sent=True) from None

    async def body(self) -> bytes:
        """The whole answer, if it is none that goes on."""
        return self._response.body

    def leave(self) -> None:
        """The reader goes."""
        if self._watcher is not None:
            self._watcher.stop()

    # What the server's end does.

    def deliver(self, lines: list[bytes]) -> None:
        """More lines."""
        self._lines += lines
        self._news.set()

    def end(self) -> None:
        """No more lines."""
        self._is_over = True
        self._news.set()

    def break_off(self, why: str) -> None:
        """The connection is gone; what had arrived can still be read."""
        self._broken = why
        self._news.set()
