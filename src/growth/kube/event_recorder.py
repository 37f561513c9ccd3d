"""Events for people (``events.k8s.io/v1``): recorded without waiting, told without flooding.

``record`` only notes; a task writes, one Event after the other, and slower when the server has trouble. Nothing that
Growth does depends on an Event, so nothing ever waits for one, and one that cannot be told is dropped and counted.

Of a role this needs the verbs create and patch on events, and no more: to learn what an Event of an earlier life had
counted, we send it a patch that changes nothing and read the answer.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

import msgspec

from growth.api.core import EventSeries, ObjectReference
from growth.api.kinds import EVENTS
from growth.api.meta import FrozenValue
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists, ApiError, Fenced, Forbidden, Invalid, KubeError, NotFound
from growth.kube.event_aggregation import (
    EventBook,
    EventType,
    Series,
    change,
    continued,
    forgotten,
    manifest,
    occurrence,
)
from growth.kube.patches import Json, MergePatch
from growth.kube.retry import Backoff, send_once
from growth.kube.transport import Method, Request, Response

__all__ = ["EventRecorder", "EventType"]

_LOG: Final = logging.getLogger(__name__)

CONTROLLER: Final = "growth.dev/growth"
"""Who reports: a qualified name, as the API server demands."""

_PATIENCE_SECONDS: Final = 10.0
_FIRST_BACKOFF_SECONDS: Final = 1.0
_BACKOFF_CAP_SECONDS: Final = 60.0
# A role without the verb, a namespace that is being deleted (Forbidden) or gone (NotFound), a text that the server will
# not have: no later attempt will fare better.
_REFUSALS: Final = (Forbidden, NotFound, Invalid, Fenced)
# Complaints are told once per namespace and kind of error; a cluster with more namespaces than this hears some twice.
_COMPLAINTS: Final = 1000


class _Stored(FrozenValue, frozen=True):
    """What we need to know of an Event that is there already."""

    event_time: datetime | None = None
    series: EventSeries | None = None


_STORED: Final = msgspec.json.Decoder(_Stored, strict=False)


class EventRecorder:
    """One process's recorder. ``run`` writes until it is cancelled; ``drain`` then tells what is still due."""

    def __init__(self, client: Client, instance: str, *, now: Callable[[], datetime]) -> None:
        self._client = client
        self._instance = instance
        self._now = now
        self._clock = client.transport.clock
        self._book = EventBook()
        self._news = asyncio.Event()
        self._backoff = Backoff(_FIRST_BACKOFF_SECONDS, _BACKOFF_CAP_SECONDS, client.jitter)
        self._complaints: set[tuple[str, str]] = set()

    @property
    def dropped(self) -> int:
        """Occurrences that no Event will tell of: the book was full, or the server refused."""
        return self._book.dropped

    def record(self, regarding: ObjectReference, type_: EventType, reason: str, action: str, note: str) -> None:
        """Note that something happened. Never waits, never raises; call it on the event loop's thread."""
        try:
            happened = occurrence(regarding, type_, reason, action, note, at=self._now())
            if self._book.note(happened, self._clock()):
                self._news.set()
        except Exception:  # whatever it is, the work that wanted to tell of itself must go on
            _LOG.exception("an event %r about %r could not be noted", reason, regarding)

    async def run(self) -> None:
        """Write what is noted, until cancelled."""
        while True:
            series = self._book.take(self._clock())
            if series is not None:
                await asyncio.sleep(await self._write(series))
                continue
            self._news.clear()
            due_at = self._book.next_at()
            try:
                async with asyncio.timeout(None if due_at is None else max(0.0, due_at - self._clock())):
                    await self._news.wait()
            except TimeoutError:
                pass

    async def drain(self, seconds: float) -> None:
        """Before the end: write what is due, each once, for so long at most."""
        try:
            async with asyncio.timeout(seconds):
                while series := self._book.take(self._clock()):
                    await self._write(series)
        except TimeoutError:
            pass

    async def _write(self, taken: Series) -> float:
        """Write one series and tell the book; returns for how long the server should be left alone."""
        try:
            stored = await self._store(taken)
        except _REFUSALS as error:
            self._book.refused(taken)
            self._complain(taken, error)
            return 0.0
        except (KubeError, msgspec.DecodeError) as error:
            delay = self._backoff.failed(error.retry_after if isinstance(error, ApiError) else None)
            self._book.failed(taken, self._clock() + delay, self._clock())
            return delay
        except asyncio.CancelledError:
            self._book.failed(taken, self._clock(), self._clock())
            raise
        self._backoff.succeeded()
        self._book.wrote(taken, stored, self._clock())
        return 0.0

    async def _store(self, series: Series) -> Series:
        """Bring the server up to date; returns the series as the server now has it."""
        if series.stored:
            try:
                await self._patch(series, change(series))
            except NotFound:  # the server forgets events, after an hour by default
                series = forgotten(series)
            else:
                return series
        try:
            await self._send(Method.POST, EVENTS.collection(series.namespace), self._manifest(series))
        except AlreadyExists:
            return await self._continue(series)
        return series

    async def _continue(self, series: Series) -> Series:
        """The Event is there: ours, its answer lost, or one of an earlier life, whose count goes on."""
        there = _STORED.decode((await self._patch(series, {})).body)
        count = there.series.count if there.series else 1
        if there.event_time != series.first.at:
            series = continued(series, count)
        if series.count > count:
            await self._patch(series, change(series))
        return series

    def _manifest(self, series: Series) -> Json:
        head = {"apiVersion": EVENTS.api_version, "kind": EVENTS.name}
        return {**head, **manifest(series, CONTROLLER, self._instance)}

    async def _patch(self, series: Series, body: dict[str, Any]) -> Response:
        return await self._send(Method.PATCH, EVENTS.path(series.name, series.namespace), body)

    async def _send(self, method: Method, path: str, body: Json) -> Response:
        content = MergePatch(body)
        kind = content.content_type if method is Method.PATCH else "application/json"
        request = Request(method, path, (), content.encode(), kind, _PATIENCE_SECONDS)
        return await send_once(self._client.transport, request)

    def _complain(self, series: Series, error: KubeError) -> None:
        complaint = (type(error).__name__, series.namespace)
        if complaint in self._complaints:
            return
        if len(self._complaints) >= _COMPLAINTS:
            self._complaints.clear()
        self._complaints.add(complaint)
        _LOG.warning("events about %s are dropped (told once): %s", series.first.key.regarding.name, error)
