"""Watches: every write to a kind becomes one line, which all watchers share.

A line is on its way for a moment before its watcher gets it, and lines that were written in that moment arrive with it.
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from typing import Final, Protocol

import msgspec

from growth_lab.simulator.api.computed import Computed
from growth_lab.simulator.api.error_responses import Refusal, expired, internal, too_large_version
from growth_lab.simulator.api.lists import Lists, check_options, version_of
from growth_lab.simulator.api.selection import Selection
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.merge_patch import Json, merged
from growth_lab.simulator.served_kinds import Resource
from growth_lab.simulator.store import Event, Store, TooOld
from growth_lab.simulator.timings import Timings

_ENCODE: Final = msgspec.json.Encoder().encode
_END_OF_LIST: Final[Json] = {"annotations": {"k8s.io/initial-events-end": "true"}}
# A last bookmark comes this long before the server ends a watch, so that the next one can go on from there.
_FAREWELL_SECONDS: Final = 2.0
_INSTANT: Final = 1e-6  # two floats that should be equal may differ in the last bit


class Reader(Protocol):
    """Who gets the lines: the client's end of a stream."""

    def deliver(self, lines: list[bytes]) -> None:
        """More lines."""
        ...

    def end(self) -> None:
        """There will be no more."""
        ...

    def break_off(self, why: str) -> None:
        """The connection is gone."""
        ...


class Line:
    """One write and its lines, each made once, when the first watcher needs it."""

    def __init__(self, event: Event) -> None:
        self.event = event
        self._body: bytes | None = None
        self._lines: dict[str, bytes] = {}

    def as_(self, what: str) -> bytes:
        """The line that tells of the write in this word."""
        line = self._lines.get(what)
        if line is None:
            if self._body is None:
                self._body = _ENCODE(self.event.object)
            line = self._lines[what] = _line(what, self._body)
        return line


class Watcher:
    """One watch on one connection."""

    def __init__(self, hub: "Watches", resource: Resource, selection: Selection, query: Mapping[str, str]) -> None:
        self.resource = resource
        self.lag: Callable[[], float] = lambda: 0.0
        """How many seconds later than usual it tells what happens now."""
        self.is_silent = False
        self._hub = hub
        self._selection = selection
        self._has_bookmarks = query.get("allowWatchBookmarks") == "true"
        self._pending: list[bytes] = []
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._reader: Reader | None = None
        seconds = float(query.get("timeoutSeconds", "0")) or hub.timings.watch_end
        self._ends_at = hub.clock.seconds() + seconds

    def open(self, reader: Reader) -> None:
        """Begin to deliver. What happened before waits here in its order."""
        self._reader = reader
        seconds = max(0.0, self._ends_at - self._hub.clock.seconds())
        self._after("end", seconds, self._end)
        if self._has_bookmarks:
            self._mark_later()
        if self._pending:
            self._hurry()

    def hear(self, line: Line) -> None:
        """Something was written to the kind."""
        if (text := self._told(line)) is not None:
            self.add(text)

    def add(self, text: bytes) -> None:
        """One more line."""
        self._pending.append(text)
        if self._reader is not None:
            self._hurry()

    def bookmark(self, meta: Json | None = None) -> None:
        """How far this watch has come."""
        about = {"resourceVersion": str(self._hub.store.version), "creationTimestamp": None, **(meta or {})}
        resource = self.resource
        mark: Json = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": about}
        self.add(_line("BOOKMARK", _ENCODE(mark)))

    def refuse(self, refusal: Refusal) -> None:
        """The watch ends with the reason why it cannot go on."""
        self.add(_line("ERROR", _ENCODE(refusal.status)))
        self._ends_at = -math.inf

    def break_off(self, why: str) -> None:
        """The connection breaks."""
        self.stop()
        if self._reader is not None:
            self._reader.break_off(why)

    def fall_silent(self) -> None:
        """Nothing comes any more, and nobody says so."""
        self.is_silent = True

    def stop(self) -> None:
        """The reader has left, or the end has come."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        self._hub.forget(self)

    def _told(self, line: Line) -> bytes | None:
        event, selection = line.event, self._selection
        if selection.is_everything:
            return line.as_(event.what)
        is_in = event.what != "DELETED" and selection.matches(event.object)
        was_in = event.before is not None and selection.matches(event.before)
        if is_in:
            return line.as_("MODIFIED" if was_in else "ADDED")
        if not was_in or event.before is None:
            return None
        if event.what == "DELETED":
            return line.as_("DELETED")
        # It left the selection: shown is the last state that belonged to it, under the version in which it left.
        left = merged(event.before, {"metadata": {"resourceVersion": str(event.version)}})
        return _line("DELETED", _ENCODE(left))

    def _hurry(self) -> None:
        if "flush" not in self._timers:
            self._after("flush", self._hub.timings.watch_latency + self.lag(), self._flush)

    def _flush(self) -> None:
        lines, self._pending = self._pending, []
        if self._reader is None or self.is_silent:
            return
        self._reader.deliver(lines)
        if self._ends_at <= self._hub.clock.seconds():
            self._end()

    def _mark(self) -> None:
        self.bookmark()
        self._mark_later()

    def _mark_later(self) -> None:
        left = self._ends_at - _FAREWELL_SECONDS - self._hub.clock.seconds()
        if left > _INSTANT:
            self._after("bookmark", min(left, self._hub.timings.bookmark_period), self._mark)

    def _end(self) -> None:
        reader = self._reader
        if self._pending and not self.is_silent and reader is not None:
            reader.deliver(self._pending)
            self._pending = []
        self.stop()
        if reader is not None and not self.is_silent:
            reader.end()

    def _after(self, name: str, seconds: float, happen: Callable[[], None]) -> None:
        def due() -> None:
            self._timers.pop(name, None)
            happen()

        if known := self._timers.get(name):
            known.cancel()
        self._timers[name] = self._hub.clock.after(seconds, due)


class Watches:
    """All watchers of a server."""

    def __init__(self, clock: Clock, store: Store, lists: Lists, computed: Computed, timings: Timings) -> None:
        self.clock, self.store, self.timings = clock, store, timings
        self._lists, self._computed = lists, computed
        self._watchers: dict[Resource, list[Watcher]] = {}
        self._deaf: dict[Resource, Callable[[], None]] = {}
        self._oldest = 0

    def begin(self, resource: Resource, namespace: str, query: Mapping[str, str]) -> Watcher:
        """A new watcher, with what it has to catch up on. Raises Refusal."""
        check_options(query, is_watch=True)
        try:
            version = version_of(query)
        except Refusal as error:
            raise internal(error.message) from None
        watcher = Watcher(self, resource, Selection(resource, namespace, query), query)
        if "sendInitialEvents" in query and version > self.store.version:
            watcher.refuse(too_large_version(version, self.store.version))
        elif "sendInitialEvents" in query or not version:
            self._show_all(watcher, resource, namespace, query)
        else:
            self._catch_up(watcher, resource, version)
        self._add(watcher)
        return watcher

    def _show_all(self, watcher: Watcher, resource: Resource, namespace: str, query: Mapping[str, str]) -> None:
        view = self._computed.view(resource)
        if query.get("sendInitialEvents", "true") != "true":
            return
        for thing in self._lists.selected(resource, namespace, query):
            watcher.add(_line("ADDED", _ENCODE(view(thing) if view else thing)))
        if "sendInitialEvents" in query and query.get("allowWatchBookmarks") == "true":
            watcher.bookmark(_END_OF_LIST)

    def _catch_up(self, watcher: Watcher, resource: Resource, version: int) -> None:
        if version < self._oldest:
            watcher.refuse(expired(f"too old resource version: {version} ({self._oldest})"))
            return
        try:
            events = self.store.since(resource, version)
        except TooOld as error:
            watcher.refuse(expired(str(error)))
            return
        for event in events:
            watcher.hear(Line(event))

    def restart(self) -> None:
        """All connections break, and memory begins anew."""
        self._oldest = self.store.version
        for watcher in [watcher for watchers in self._watchers.values() for watcher in watchers]:
            watcher.break_off("the server was restarted")

    def forget(self, watcher: Watcher) -> None:
        """A watcher has left."""
        watchers = self._watchers.get(watcher.resource, [])
        if watcher not in watchers:
            return
        watchers.remove(watcher)
        if not watchers:
            self._deaf.pop(watcher.resource)()
            self._computed.tell(watcher.resource, is_watched=False)

    def count(self, resource: Resource) -> int:
        """How many watch a kind now."""
        return len(self._watchers.get(resource, ()))

    def _add(self, watcher: Watcher) -> None:
        resource = watcher.resource
        watchers = self._watchers.setdefault(resource, [])
        watchers.append(watcher)
        if len(watchers) == 1:
            self._deaf[resource] = self.store.listen(resource, lambda event: self._tell(watchers, event))
            self._computed.tell(resource, is_watched=True)

    def _tell(self, watchers: list[Watcher], event: Event) -> None:
        line = Line(event)
        for watcher in watchers:
            watcher.hear(line)


def _line(what: str, body: bytes) -> bytes:
    return b'{"type":"%b","object":%b}' % (what.encode(), body)
