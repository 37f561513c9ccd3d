"""Real servers on this machine, orderly or rude, for what only sockets and TLS can show."""

import asyncio
import socket
import ssl
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aiohttp import web

from growth.kube.access import Access
from growth.kube.credentials import Credentials, RequestCredentials, anonymous
from tests.kube.kubeconfigs import Pair, a_certificate

AUTHORITY = a_certificate("ca")
SERVER = a_certificate("kube-apiserver", issuer=AUTHORITY)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def an_access(port: int, *, credentials: Credentials | None = None, ca: Pair = AUTHORITY, host: str = "") -> Access:
    """Access to the server on this port."""
    return Access(
        server=f"https://{host or '127.0.0.1'}:{port}",
        origin="a test",
        namespace="default",
        credentials=credentials or anonymous(),
        ca=ca.pem,
    )


@asynccontextmanager
async def serving(handler: Handler, *, pair: Pair = SERVER) -> AsyncGenerator[int]:
    """An orderly server, every path of which is the handler's; gives its port."""
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server_context(pair))
        await site.start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


class RudeServer:
    """Speaks TLS and then does as it is told on each connection; keeps what it received on each of them."""

    def __init__(self, *manners: Callable[["Caller"], Awaitable[None]]) -> None:
        self._manners = list(manners)
        self.received: list[bytearray] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def requests(self) -> list[str]:
        """The request lines that arrived, of all connections in their order."""
        lines = b"".join(self.received).split(b"\r\n")
        return [line.decode() for line in lines if line.endswith(b" HTTP/1.1")]

    @asynccontextmanager
    async def serving(self) -> AsyncGenerator[int]:
        async with self.listening() as (_, port):
            yield port

    @asynccontextmanager
    async def listening(self, *, start: bool = True) -> AsyncGenerator[tuple[asyncio.Server, int]]:
        """The listener, for whoever wants to close it early or to let the first callers wait, and its port."""
        server = await asyncio.start_server(
            self._serve, sock=socket.create_server(("127.0.0.1", 0)), ssl=server_context(SERVER), start_serving=start
        )
        try:
            yield server, server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        caller = Caller(reader, writer)
        self.received.append(caller.received)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._manners.pop(0)(caller)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()


class Caller:
    """One connection, seen from the server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.received = bytearray()

    async def read_request(self) -> None:
        """A whole request, with as much body as its head promises."""
        head = await self._reader.readuntil(b"\r\n\r\n")
        self.received += head
        length = next(
            (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
        )
        self.received += await self._reader.readexactly(length)

    async def read_to_the_end(self) -> None:
        """Whatever comes, until the other side hangs up."""
        while piece := await self._reader.read(1 << 16):
            self.received += piece

    async def say(self, *pieces: bytes) -> None:
        """These bytes, each in a packet of its own as far as the network allows."""
        for piece in pieces:
            self._writer.write(piece)
            await self._writer.drain()

    def hang_up(self) -> None:
        """Reset the connection."""
        self._writer.transport.abort()


def whole(body: bytes, *, status: str = "200 OK") -> bytes:
    """An answer that is complete."""
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)


def chunks(*bodies: bytes) -> list[bytes]:
    """The beginning of an answer that goes on, in these chunks."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    return [head, *(b"%x\r\n%s\r\n" % (len(body), body) for body in bodies)]


class Keyring:
    """Credentials that are replaced by the next ones whenever they are refused."""

    def __init__(self, *keys: RequestCredentials) -> None:
        self._keys: Sequence[RequestCredentials] = keys
        self._used = 0
        self.refused: list[RequestCredentials | None] = []

    async def current(self) -> RequestCredentials:
        return self._keys[self._used]

    def refuse(self, presented: RequestCredentials | None = None) -> None:
        self.refused.append(presented)
        self._used = min(self._used + 1, len(self._keys) - 1)


def server_context(pair: Pair) -> ssl.SSLContext:
    """TLS as this server."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "server.pem")
        file.write_bytes(pair.key_pem + pair.pem)
        context.load_cert_chain(file)
    return context
