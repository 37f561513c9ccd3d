"""How this process is, as three questions: is it alive, is it ready, what did it count.

Alive means that everybody who owes progress makes some (``heartbeats``). A server that cannot be reached is not our
illness: restarting would cost the World and mend nothing, so it does not fail ``/healthz``.
"""

from collections.abc import Callable

import msgspec

from growth.run.heartbeats import Heartbeats
from growth.run.metrics import Metrics


class Answer(msgspec.Struct, frozen=True):
    """What is said over HTTP."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"


class Health:
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
