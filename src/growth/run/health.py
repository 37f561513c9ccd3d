"""How this process is, as three questions: is it alive, is it ready, what did it count.

Alive means that everybody who owes progress makes some (``heartbeats``). A server that cannot be reached is not our
illness: restarting would cost the World and mend nothing, so it does not fail ``/healthz``.

The health server: a thread of its own, so that it answers while the event loop is busy, and tells when it is frozen.

On the event loop it could only fall silent with it, and one could not tell a long pass from the end of the world. If
even this thread cannot run (a C call that never gives the interpreter back), the probe times out, which to kubelet is
the same as 503.
"""

import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Final

import msgspec

from growth.run.metrics import Metrics
from growth.run.watchdog import Heartbeats


class Answer(msgspec.Struct, frozen=True):
    """What is said over HTTP."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


class ProcessHealth:
    """Written by the event loop, read by the health server's thread: each field is one assignment."""

    def __init__(self, heartbeats: Heartbeats, metrics: Metrics) -> None:
        self.heartbeats = heartbeats
        self.metrics = metrics
        self.is_synced = False
        self.is_stopping = False
        self.is_leader = False
        self.has_leader = True
        """Whether one replica acts for all; if not, none leads and none follows."""
        self.holder: Callable[[], str] = str

    def healthz(self) -> Answer:
        """Whether it should be left running."""
        silences = self.heartbeats.silences()
        if silences:
            return _said(503, "\n".join(map(str, silences)))
        return _said(200, "ok")

    def readyz(self) -> Answer:
        """Whether it knows the cluster, and whether it acts or stands by."""
        if self.is_stopping:
            return _said(503, "stopping")
        if not self.is_synced:
            return _said(503, "reading the cluster")
        if not self.has_leader:
            return _said(200, "ok: every replica acts")
        if self.is_leader:
            return _said(200, "ok: leader")
        return _said(200, f"ok: follower of {self.holder() or 'nobody yet'}")

    def metrics_page(self) -> Answer:
        """All counts."""
        return Answer(200, self.metrics.text(), "text/plain; version=0.0.4; charset=utf-8")


def _said(status: int, text: str) -> Answer:
    return Answer(status, f"{text}\n".encode())


# A client that opens a connection and says nothing must not hold a thread for ever.
_PATIENCE_SECONDS: Final = 5.0


@contextmanager
def serving(health: ProcessHealth, address: str, port: int) -> Generator[int]:
    """Serve until the context ends; gives the port, which is a free one if 0 was asked for. Raises OSError."""
    routes: dict[str, Callable[[], Answer]] = {
        "/healthz": health.healthz,
        "/readyz": health.readyz,
        "/metrics": health.metrics_page,
    }
    server = _server(address, port, routes)
    thread = threading.Thread(target=server.serve_forever, name="health", daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _server(address: str, port: int, routes: dict[str, Callable[[], Answer]]) -> ThreadingHTTPServer:
    # All addresses, of both families, unless one is named: a pod may have only IPv6.
    is_six = ":" in address or (not address and socket.has_dualstack_ipv6())
    family = socket.AF_INET6 if is_six else socket.AF_INET

    class Handler(BaseHTTPRequestHandler):
        timeout = _PATIENCE_SECONDS
        protocol_version = "HTTP/1.1"
        server_version = "growth"
        sys_version = ""

        def do_GET(self) -> None:
            route = routes.get(self.path.partition("?")[0])
            self._answer(route() if route else Answer(404, f"there is only {', '.join(routes)}\n".encode()))

        def _answer(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            self.send_header("Content-Length", str(len(answer.body)))
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's word
            """A probe every few seconds is no news."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        address_family = family

        def server_bind(self) -> None:
            """Bind; the parent would first ask the DNS for this machine's name, which can take its time to fail."""
            if family is socket.AF_INET6 and not address:
                self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            TCPServer.server_bind(self)

    return Server((address, port), Handler)
