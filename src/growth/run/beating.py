"""A way to the server on which every exchange is a sign of life of the one who uses it.

An informer makes progress as long as its exchanges end, however they end: a server that cannot be reached is no reason
to restart us. What is caught is the rest, an exchange that neither goes on nor fails.
"""

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager

from growth.kube.transport import Request, Response, Send, Stream


class Beating:
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
