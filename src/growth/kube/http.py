"""Connections: one aiohttp session for each client certificate, whose sockets notice when the other end is gone.

``Send`` over HTTP: one aiohttp session, TLS and credentials from an ``Access``.

No client-side rate limit: the API server has priority and fairness for that and says so with 429. What is bounded is
the number of requests under way at once, because more of them only wait in the server instead of here. Watches are
not counted: they are few and last for ever.
"""

import asyncio
import os
import socket
import ssl
import time
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final

import aiohttp
from aiohttp.abc import AbstractStreamWriter

from growth import __version__
from growth.kube.access import Access
from growth.kube.credentials import RequestCredentials
from growth.kube.errors import Fenced, Unreachable, Untrusted
from growth.kube.tls import ssl_context
from growth.kube.transport import Request, Response

# Lists come in pages of megabytes; the default of 64 KiB would wake us up many times for each.
_READ_BUFFER: Final = 1 << 20
# A peer that vanished without a word (a dead load balancer, a cut network) is noticed after 35 s instead of two hours.
_KEEP_ALIVE: Final = ((socket.TCP_KEEPIDLE, 20), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))
# Bytes that nobody acknowledges for so long are given up, so that no write arrives minutes after it was sent.
_UNACKNOWLEDGED_MILLISECONDS: Final = 15_000


class Sessions:
    """One session per client certificate: certificates live in the TLS context, and exec plugins renew them."""

    def __init__(self) -> None:
        self._presented: RequestCredentials | None = None
        self._session: aiohttp.ClientSession | None = None
        self._previous: aiohttp.ClientSession | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def for_(self, access: Access, presented: RequestCredentials) -> aiohttp.ClientSession:
        """The session whose handshakes show this certificate."""
        if self._session and self._presented and self._presented.certificate == presented.certificate:
            return self._session
        # Requests of the previous certificate may be under way, and its watches go on; those of the one before it have
        # had a certificate's life to end.
        if self._previous:
            task = asyncio.get_running_loop().create_task(self._previous.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        self._previous, self._session, self._presented = self._session, _session(access, presented), presented
        return self._session

    async def close(self) -> None:
        """Close idle sockets."""
        for session in (self._previous, self._session):
            if session:
                await session.close()
        await asyncio.gather(*self._closing)


def _session(access: Access, presented: RequestCredentials) -> aiohttp.ClientSession:
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=ssl_context(access, presented), socket_factory=watchful_socket),
        auto_decompress=False,
        read_bufsize=_READ_BUFFER,
        # Compressed lists would cost us more CPU than the network of a cluster costs time.
        headers={"User-Agent": f"growth/{__version__}", "Accept": "application/json", "Accept-Encoding": "identity"},
        skip_auto_headers=("Content-Type",),
        middlewares=(_once,),
    )


def watchful_socket(address: tuple[int, int, int, str, tuple[Any, ...]]) -> socket.socket:
    """A socket that notices when the other end is gone."""
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE:
        made.setsockopt(socket.IPPROTO_TCP, option, value)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNACKNOWLEDGED_MILLISECONDS)
    return made


async def _once(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """Send, and hide from aiohttp which connections broke: it would send any GET, PUT or DELETE again by itself.

    Whether that is safe, and what the first one may have done, is for ``retrying`` and its callers to judge.
    """
    try:
        return await send(request)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise aiohttp.ClientConnectionError(str(error) or type(error).__name__) from error


_CONNECT_SECONDS: Final = 10.0


class HttpSend:
    """Speaks to the server of one ``Access``. Open sockets are given back by ``close``."""

    def __init__(self, access: Access, *, max_concurrent_requests: int = 64) -> None:
        self._access = access
        self._slots = asyncio.Semaphore(max_concurrent_requests)
        self._sessions = Sessions()
        self._being_read: set[aiohttp.ClientResponse] = set()

    async def send(self, request: Request) -> Response:
        """Send, read the whole answer; a 401 is tried once more with fresh credentials."""
        patience = aiohttp.ClientTimeout(request.timeout_seconds, _CONNECT_SECONDS)
        async with self._slots, self._answer(request, patience) as answer:
            with _in_our_words(self._access):
                return Response(answer.status, await answer.read(), _lower(answer.headers))

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator["HttpStream"]:
        """Read as it comes; silence longer than the request's time-out counts as a broken connection."""
        patience = aiohttp.ClientTimeout(None, _CONNECT_SECONDS, sock_read=request.timeout_seconds)
        async with self._answer(request, patience) as answer:
            try:
                yield HttpStream(self._access, answer)
            finally:
                # A watch that we leave has no end to wait for; TLS would wait half a minute for the server's goodbye.
                if answer.connection is not None and answer.connection.transport is not None:
                    answer.connection.transport.abort()

    @asynccontextmanager
    async def _answer(
        self, request: Request, patience: aiohttp.ClientTimeout
    ) -> AsyncGenerator[aiohttp.ClientResponse]:
        answer = await self._ask(request, patience)
        if answer.status == 401:
            answer.close()
            answer = await self._ask(request, patience)
        self._being_read.add(answer)
        try:
            async with answer:
                yield answer
        finally:
            self._being_read.discard(answer)

    async def _ask(self, request: Request, patience: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        presented = await self._access.credentials.current()
        session = self._sessions.for_(self._access, presented)
        body = _FencedBody(request)
        with _in_our_words(self._access, body):
            answer = await session.request(
                request.method,
                self._access.server + request.path,
                params=request.query,
                # A write without a body still passes the fence: an empty payload is written, too.
                data=body if request.writes else None,
                headers={**presented.headers, "Content-Type": request.content_type},
                timeout=patience,
                server_hostname=self._access.tls_server_name,
                proxy=self._access.proxy_url,
                allow_redirects=False,
            )
        if answer.status == 401:
            self._access.credentials.refuse(presented)
        return answer

    def clock(self) -> float:
        """Seconds since boot, counting those that the machine slept: a suspended leader must not think it is early."""
        return _clock()

    async def close(self) -> None:
        """Close idle sockets and cut streams; whoever still reads one is told that the connection broke."""
        for answer in self._being_read:
            answer.close()  # a session closes its sockets without a word to the readers, who would wait for ever
        await self._sessions.close()


class HttpStream:
    """The lines of one answer, cut out of whatever pieces the network delivers."""

    def __init__(self, access: Access, answer: aiohttp.ClientResponse) -> None:
        self._access = access
        self._answer = answer

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, names in lower case."""
        return _lower(self._answer.headers)

    async def batches(self) -> AsyncGenerator[list[bytes]]:
        """Complete lines; a last line without its end is dropped, since it is half an event."""
        rest = b""
        with _in_our_words(self._access):
            async for chunk in self._answer.content.iter_any():
                *lines, rest = (rest + chunk).split(b"\n")
                if lines:
                    yield lines

    async def body(self) -> bytes:
        """The whole rest."""
        with _in_our_words(self._access):
            return await self._answer.read()


class _FencedBody(aiohttp.BytesPayload):
    """A body that looks at the clock in the instant before it goes to the socket.

    Checking any earlier would leave a hole: waiting for a free connection or a TLS handshake can take longer than a
    lease, and a process that was stopped in between would wake up and write. Without its body the request is
    incomplete and the server drops it.
    """

    def __init__(self, request: Request) -> None:
        super().__init__(request.body, content_type=request.content_type)
        self._request = request
        self.may_have_left = not request.writes  # aiohttp does not tell when a request without a body leaves
        self.is_late = False

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        """Write, unless it is too late."""
        not_after = self._request.not_after
        if not_after is not None and _clock() >= not_after:
            self.is_late = True
            raise self.refusal()
        self.may_have_left = True
        await super().write_with_length(writer, content_length)

    def refusal(self) -> Fenced:
        """What the sender is told when it was too late."""
        return Fenced(f"{self._request.method} {self._request.path} was not sent: the leader's lease ran out")


def _clock() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _lower(headers: Mapping[str, str]) -> Mapping[str, str]:
    return {name.lower(): value for name, value in headers.items()}


@contextmanager
def _in_our_words(access: Access, body: _FencedBody | None = None) -> Generator[None]:
    """Tells what the connection did; stands around our own awaits only, never around what a caller does meanwhile."""
    try:
        yield
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        if body and body.is_late:
            raise body.refusal() from error
        raise _unreachable(access, error, may_have_left=body is None or body.may_have_left) from error


def _unreachable(access: Access, error: Exception, *, may_have_left: bool) -> Unreachable:
    """One sentence for each way in which a server can fail to answer."""
    where = f"{access.server} ({access.origin})"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        reason = getattr(error.certificate_error, "verify_message", "") or error.certificate_error
        return Untrusted(f"the API server at {where} cannot be trusted, check the CA: {reason}", sent=False)
    match error:
        case aiohttp.ClientConnectorSSLError() | ssl.SSLError():
            why = f"no TLS connection: {error}"
        case aiohttp.ClientConnectorDNSError():
            why = f"its name does not resolve: {error.os_error}"
        case aiohttp.ClientConnectorError():
            # asyncio's own text is "Connect call failed" whatever the reason was; the number tells it.
            why = f"no connection: {os.strerror(error.os_error.errno) if error.os_error.errno else error.os_error}"
        case TimeoutError():
            why = "it did not answer in time"
        case _:
            why = f"the connection broke: {error or type(error).__name__}"
    connected = not isinstance(error, (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError))
    return Unreachable(f"the API server at {where} is unreachable: {why}", sent=may_have_left and connected)
