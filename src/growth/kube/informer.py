"""A picture of all objects of one kind that follows the server: list once, then watch, never miss, never repeat.

    list ──► watch ──► changes to the consumer
      ▲        │ 410, or a version the server does not know
      └────────┘ anything else: back off, then watch on from where we were

Whoever must know how things are now, and not as a watch tells them that lags or has died, asks to ``reread``.

The picture is keyed by uid, so an object that was deleted and made anew under the same name is two objects, even if
we only learn of it from a list. A change is told only if its resource version differs from the one told before.

An object of a tolerant kind that cannot be read is set aside (``unreadable``), and to the consumer it is not there.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from typing import Final, Generic

from growth.api.change import Change, ChangeType, ObjectT
from growth.api.decoding import Reader, Unreadable, WatchLine, bookmark, watch_line
from growth.api.kinds import Kind
from growth.kube.client import Client, selector_query
from growth.kube.errors import (
    NEEDS_A_PERSON,
    ApiError,
    Gone,
    Invalid,
    KubeError,
    ServerTrouble,
    error_from_line,
)
from growth.kube.retry import Backoff
from growth.kube.transport import Method, Query, Request

_LOG: Final = logging.getLogger(__name__)

# The server ends a watch after this long; each replica draws its own length, so they do not all come back at once.
_WATCH_SECONDS: Final = (300, 600)
# Bookmarks come once a minute, the first for an idle kind after two (1.36: 121 s). Longer silence means that the
# connection is dead although nobody said so.
_SILENCE_SECONDS: Final = 190.0
_FIRST_BACKOFF_SECONDS: Final = 0.2
_BACKOFF_CAP_SECONDS: Final = 30.0
# How many changes the consumer gets before other tasks may run: about 10 ms of its work.
_SLICE: Final = 500


Consumer = Callable[[list[Change[ObjectT]]], None]


class Informer(Generic[ObjectT]):
    """Follows one kind. ``run`` never returns; ``synced`` is set when the picture is complete for the first time."""

    def __init__(
        self,
        client: Client,
        kind: Kind[ObjectT],
        consumer: Consumer[ObjectT],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> None:
        self.kind = kind
        self.synced = asyncio.Event()
        self.relists = 0
        self.trouble = ""
        """What the server said last instead of an answer; empty as long as all is well."""
        self._client = client
        self._consumer = consumer
        self._namespace = namespace
        self._selectors = (label_selector, field_selector)
        self._reader: Reader[ObjectT] = client.reader(kind)
        self._objects: dict[str, ObjectT] = {}
        self._unreadable: dict[str, Unreadable] = {}
        self._has_news = False
        self._version = ""
        self._streams_lists = True
        self._following: asyncio.Timeout | None = None
        self._is_outdated = False
        self._reread = asyncio.Event()
        self._backoff = Backoff(_FIRST_BACKOFF_SECONDS, _BACKOFF_CAP_SECONDS, client.jitter)

    @property
    def objects(self) -> Mapping[str, ObjectT]:
        """The picture, by uid."""
        return self._objects

    @property
    def unreadable(self) -> Mapping[str, Unreadable]:
        """What is there beside the picture, by uid."""
        return self._unreadable

    async def reread(self) -> None:
        """Return once the picture is no older than this call: it is listed anew, whatever the watch is doing."""
        self._is_outdated = True
        if self._reread.is_set():
            self._reread = asyncio.Event()
        if self._following is not None and not self._following.expired():
            self._following.reschedule(asyncio.get_running_loop().time())
        await self._reread.wait()

    async def run(self) -> None:
        """Follow the server until cancelled; ends only with an error that waiting cannot mend."""
        while True:
            try:
                await self._follow_until_outdated()
            except KubeError as error:
                if not self.synced.is_set() and isinstance(error, NEEDS_A_PERSON):
                    raise
                if _version_is_lost(error):
                    self._version = ""
                self.trouble = str(error)
                delay = self._backoff.failed(error.retry_after if isinstance(error, ApiError) else None)
                _LOG.info("%s: going on in %.1f s after: %s", self.kind.plural, delay, error)
                await asyncio.sleep(delay)

    async def _follow_until_outdated(self) -> None:
        if self._is_outdated:
            self._is_outdated, self._version = False, ""
        try:
            async with asyncio.timeout(None) as self._following:
                await self._follow_once()
        except TimeoutError:
            if not self._is_outdated:
                raise
        finally:
            self._following = None

    async def _follow_once(self) -> None:
        """From where we are until the stream ends: the rest of a watch, or a list and the watch after it."""
        if self._version:
            return await self._watch((("resourceVersion", self._version),))
        self.relists += 1
        if self._streams_lists:
            try:
                return await self._watch((("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")))
            except Invalid:
                self._streams_lists = False
        labels, fields = self._selectors
        listing = await self._client.list(self.kind, self._namespace, label_selector=labels, field_selector=fields)
        strangers = {item.metadata.uid: item for item in listing.unreadable}
        await self._replace({item.metadata.uid: item for item in listing.items}, strangers, listing.resource_version)
        return None

    async def _watch(self, start: Query) -> None:
        """Changes until the server ends the stream; without a version, the first of them are the list."""
        alive = False
        async with aclosing(self._lines(start)) as batches:
            if not self._version:
                self._tell_lines(await self._streamed_list(batches))
            async for lines in batches:
                self._tell_lines(lines)
                self._is_well()
                alive = True
        if not alive:
            raise ServerTrouble("the watch ended before it said anything", status=200, reason="")

    async def _streamed_list(self, batches: AsyncGenerator[list[WatchLine]]) -> list[WatchLine]:
        """The list as the first events of a watch: the server need not build it in memory, nor we a page.

        Returns what came behind the mark that ends the list.
        """
        fresh: dict[str, ObjectT] = {}
        strangers: dict[str, Unreadable] = {}
        async for lines in batches:
            for number, line in enumerate(lines):
                if line.type == "BOOKMARK":
                    mark = bookmark(line.object)
                    if mark.ends_initial_events:
                        await self._replace(fresh, strangers, str(mark.metadata.resource_version))
                        return lines[number + 1 :]
                    continue
                item = self._reader.seen(line.object)
                fresh.pop(item.metadata.uid, None)
                strangers.pop(item.metadata.uid, None)
                if line.type == "DELETED":
                    continue
                if isinstance(item, Unreadable):
                    strangers[item.metadata.uid] = item
                else:
                    fresh[item.metadata.uid] = item
        raise ServerTrouble(f"the stream of {self.kind.plural} ended before the list did", status=200, reason="")

    async def _replace(self, fresh: dict[str, ObjectT], strangers: dict[str, Unreadable], version: str) -> None:
        """The whole picture anew; the consumer is told only what differs from the one it has."""
        for uid in [uid for uid in self._unreadable if uid not in strangers]:
            self._readable(uid)
        for item in strangers.values():
            self._set_aside(item)
        await self._tell_difference(fresh)
        self._version = version  # only now: whoever is stopped halfway and runs again must list again
        self._is_well()
        self.synced.set()
        if not self._is_outdated:  # else this list was begun before somebody asked for one
            self._reread.set()

    def _is_well(self) -> None:
        self.trouble = ""
        self._backoff.succeeded()

    async def _tell_difference(self, fresh: dict[str, ObjectT]) -> None:
        gone = [item for uid, item in self._objects.items() if uid not in fresh]
        await self._tell_in_slices(gone, self._drop)
        items = list(fresh.values())
        fresh.clear()
        await self._tell_in_slices(items, self._take)
        self._tell([])

    async def _tell_in_slices(
        self, items: list[ObjectT], change_of: Callable[[ObjectT], Change[ObjectT] | None]
    ) -> None:
        """Picture and consumer move together, slice by slice, so that they agree wherever we are stopped."""
        for start in range(0, len(items), _SLICE):
            self._tell([change for item in items[start : start + _SLICE] if (change := change_of(item))])
            await asyncio.sleep(0)

    def _tell_lines(self, lines: list[WatchLine]) -> None:
        self._tell([change for line in lines if (change := self._change(line))])

    def _change(self, line: WatchLine) -> Change[ObjectT] | None:
        if line.type == "BOOKMARK":
            self._version = str(bookmark(line.object).metadata.resource_version)
            return None
        item = self._reader.seen(line.object)
        self._version = str(item.metadata.resource_version)
        if isinstance(item, Unreadable):
            return self._change_of_stranger(item, is_gone=line.type == "DELETED")
        self._readable(item.metadata.uid)
        return self._drop(item) if line.type == "DELETED" else self._take(item)

    def _change_of_stranger(self, item: Unreadable, *, is_gone: bool) -> Change[ObjectT] | None:
        """One that could be read before is gone to the consumer."""
        if is_gone:
            self._readable(item.metadata.uid)
        else:
            self._set_aside(item)
        before = self._objects.pop(item.metadata.uid, None)
        return Change(ChangeType.DELETED, before, before) if before is not None else None

    def _set_aside(self, item: Unreadable) -> None:
        known, meta = self._unreadable.get(item.metadata.uid), item.metadata
        if known is None or known.metadata.resource_version != meta.resource_version:
            self._has_news = True
            self._unreadable[meta.uid] = item
        if known is None or known.problem != item.problem:
            name = f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
            _LOG.warning("%s %s cannot be read, the others go on: %s", self.kind.name, name, item.problem)

    def _readable(self, uid: str) -> None:
        """It can be read again, or it is gone."""
        if self._unreadable and self._unreadable.pop(uid, None) is not None:
            self._has_news = True

    def _drop(self, item: ObjectT) -> Change[ObjectT] | None:
        before = self._objects.pop(item.metadata.uid, None)
        return Change(ChangeType.DELETED, item, before) if before is not None else None

    def _take(self, item: ObjectT) -> Change[ObjectT] | None:
        uid = item.metadata.uid
        before = self._objects.get(uid)
        if before is not None and before.metadata.resource_version == item.metadata.resource_version:
            return None
        self._objects[uid] = item
        return Change(ChangeType.ADDED if before is None else ChangeType.MODIFIED, item, before)

    def _tell(self, changes: list[Change[ObjectT]]) -> None:
        if changes or self._has_news:
            self._has_news = False
            self._consumer(changes)

    async def _lines(self, start: Query) -> AsyncGenerator[list[WatchLine]]:
        """The lines of a watch; an ERROR line becomes the error it tells of."""
        seconds = self._client.jitter.randint(*_WATCH_SECONDS)
        request = Request(
            Method.GET,
            self.kind.collection(self._namespace),
            (
                ("watch", "true"),
                ("allowWatchBookmarks", "true"),
                ("timeoutSeconds", str(seconds)),
                *start,
                *selector_query(*self._selectors),
            ),
            timeout_seconds=_SILENCE_SECONDS,
        )
        async with self._client.stream(request) as stream, aclosing(stream.batches()) as batches:
            async for batch in batches:
                lines = [watch_line(line) for line in batch]
                failed = next((number for number, line in enumerate(lines) if line.type == "ERROR"), None)
                if failed is not None:
                    if failed:
                        yield lines[:failed]  # what came before it happened all the same
                    raise error_from_line(lines[failed].object, f"watch of {self.kind.plural}")
                yield lines


def _version_is_lost(error: KubeError) -> bool:
    """Whether there is nothing to go on from: our version is too old, or newer than a restored server knows."""
    return isinstance(error, Gone) or "Too large resource version" in str(error)
