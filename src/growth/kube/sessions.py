"""Connections: one aiohttp session for each client certificate, whose sockets notice when the other end is gone."""

import asyncio
import socket
from typing import Any, Final

import aiohttp

from growth import __version__
from growth.kube.access import Access
from growth.kube.credentials import Presented
from growth.kube.tls import ssl_context

# Lists come in pages of megabytes; the default of 64 KiB would wake us up many times for each.
_READ_BUFFER: Final = 1 << 20
# A peer that vanished without a word (a dead load balancer, a cut network) is noticed after 35 s instead of two hours.
_KEEP_ALIVE: Final = ((socket.TCP_KEEPIDLE, 20), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 3))
# Bytes that nobody acknowledges for so long are given up, so that no write arrives minutes after it was sent.
_UNACKNOWLEDGED_MILLISECONDS: Final = 15_000


class Sessions:
    """One session per client certificate: certificates live in the TLS context, and exec plugins renew them."""

    def __init__(self) -> None:
        self._presented: Presented | None = None
        self._session: aiohttp.ClientSession | None = None
        self._previous: aiohttp.ClientSession | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def for_(self, access: Access, presented: Presented) -> aiohttp.ClientSession:
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


def _session(access: Access, presented: Presented) -> aiohttp.ClientSession:
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
