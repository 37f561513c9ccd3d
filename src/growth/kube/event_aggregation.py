"""From many occurrences to one Event: values in, values out, neither clock nor network.

One Event stands for all occurrences with the same object, type, reason, action and substance of the note: the note
without its figures (``event_notes``). Kubernetes' own recorder (client-go, tools/events) leaves the note out,
and the API server refuses to change the note of an Event (``message: field is immutable``): an Event "admitted, on
one" would count on while the job runs on flavor two. With the whole note in the key, a count that changes each second
would be an Event each second. So figures are those of the first write, until a new series begins: after six minutes
without an occurrence, or when the server has deleted the Event.

    first occurrence ──► create ──► repeats are summed ──► patch of series.count, ever more rarely ──► silence: over

Which series is to be written next: bounded in memory, bounded in writes per object, and never in the way.

No clock and no network: readings come as arguments, the book answers with values. Four bounds, and what gives way:
- series kept: the longest silent one is forgotten, which at worst costs an Event that continues an older one;
- series waiting to be written: the oldest unwritten repeats are dropped, and only if there are none, an Event;
- writes about one object: they wait for its allowance, and are summed meanwhile;
- new Events of one kind about one object, which differ in their notes: they wait for the kind's allowance, and of those
  that wait only the newest is written.
Drops are counted, never silent.
"""

import hashlib
import heapq
import itertools
import re
from collections import OrderedDict
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from growth.api.core import ObjectReference
from growth.api.timestamp import format_micro_time
from growth.kube.event_notes import substance_of

FINISH_SECONDS: Final = 360.0
"""A series that was silent for so long is over; client-go's finishTime."""

_FIRST_INTERVAL_SECONDS: Final = 10.0
# The longest wait between two patches of a series: the rate at which an object's allowance is refilled (event_book.py),
# and shorter than FINISH_SECONDS, so that the last count is written before the series is forgotten.
_LONGEST_INTERVAL_SECONDS: Final = 300.0

# The API server counts bytes (pkg/apis/core/validation/events.go).
_NOTE_BYTES: Final = 1024
_WORD_BYTES: Final = 128
_NAME_CHARACTERS: Final = 253
_NOT_IN_A_NAME: Final = re.compile(r"[^a-z0-9.-]")

_CLUSTER_NAMESPACE: Final = "default"


class EventType(StrEnum):
    """Whether somebody should look."""

    NORMAL = "Normal"
    WARNING = "Warning"


class EventKind(msgspec.Struct, frozen=True):
    """What kind of thing happened to which object."""

    regarding: ObjectReference
    type: EventType
    reason: str
    action: str


class Key(msgspec.Struct, frozen=True):
    """What makes two occurrences the same Event."""

    kind: EventKind
    substance: str
    """The note without its figures."""

    @property
    def regarding(self) -> ObjectReference:
        """The object."""
        return self.kind.regarding


class Occurrence(msgspec.Struct, frozen=True):
    """Something that happened once."""

    key: Key
    note: str
    at: datetime


class Series(msgspec.Struct, frozen=True):
    """All that happened of one kind to one object, and how much of it the server knows."""

    name: str
    first: Occurrence
    latest: Occurrence
    count: int = 1
    stored: int = 0
    """The count that the server has; 0 while there is no Event."""
    writes: int = 0
    is_refused: bool = False
    """Whether the server will not have it, so that trying again with each repeat would only be a nuisance."""
    seen_at: float = 0.0
    """Readings of a monotonic clock, unlike the instants in the occurrences, which are for people."""
    due_at: float = 0.0
    """When to write next, if there is anything to write."""

    @property
    def has_news(self) -> bool:
        """Whether there is something to write."""
        return self.count > self.stored and not self.is_refused

    @property
    def untold(self) -> int:
        """Occurrences that the server does not know of."""
        return self.count - self.stored

    @property
    def namespace(self) -> str:
        """Where its Event lives: beside its object; of cluster-wide objects in ``default``, where kubectl looks."""
        return self.first.key.regarding.namespace or _CLUSTER_NAMESPACE

    def is_finished(self, clock: float) -> bool:
        """Whether the next occurrence would begin a new series."""
        return not self.has_news and clock - self.seen_at > FINISH_SECONDS


def occurrence(
    regarding: ObjectReference, type_: EventType, reason: str, action: str, note: str, *, at: datetime
) -> Occurrence:
    """One occurrence, cut to what the API server accepts."""
    kind = EventKind(regarding, type_, _cut(reason, _WORD_BYTES), _cut(action, _WORD_BYTES))
    shown = _cut(note)
    return Occurrence(Key(kind, substance_of(shown)), shown, at)


def begun(first: Occurrence, clock: float) -> Series:
    """A new series, to be written at once."""
    return Series(name=_name(first), first=first, latest=first, seen_at=clock, due_at=clock)


def repeated(series: Series, latest: Occurrence, clock: float) -> Series:
    """One more occurrence; it changes nothing about when to write, since that follows from the last write."""
    return msgspec.structs.replace(series, latest=latest, count=series.count + 1, seen_at=clock)


def written(series: Series, count: int, clock: float) -> Series:
    """The server now knows ``count``; the next write may follow after an interval that doubles each time."""
    interval = min(_LONGEST_INTERVAL_SECONDS, _FIRST_INTERVAL_SECONDS * 2.0 ** min(series.writes, 16))
    return msgspec.structs.replace(series, stored=count, writes=series.writes + 1, due_at=clock + interval)


def continued(series: Series, stored: int) -> Series:
    """An Event of an earlier life, before a restart or a silence, is there already: go on counting from it."""
    return msgspec.structs.replace(series, count=series.count + stored, stored=stored)


def forgotten(series: Series) -> Series:
    """The server has deleted the Event, as it does after an hour: make a new one, with the newest note."""
    return msgspec.structs.replace(series, name=_name(series.latest), stored=0)


def manifest(series: Series, controller: str, instance: str) -> dict[str, Any]:
    """The Event to create."""
    kind = series.first.key.kind
    return {
        "metadata": {"name": series.name, "namespace": series.namespace},
        "eventTime": format_micro_time(series.first.at),
        "type": kind.type,
        "reason": kind.reason,
        "action": kind.action,
        "note": series.latest.note,
        "regarding": _reference(kind.regarding),
        "reportingController": controller,
        "reportingInstance": _cut(instance, _WORD_BYTES),
        **(change(series) if series.count > 1 else {}),
    }


def change(series: Series) -> dict[str, Any]:
    """The part of the Event that a repeat changes; the server wants a count of two at least."""
    return {"series": {"count": series.count, "lastObservedTime": format_micro_time(series.latest.at)}}


def _name(occurrence: Occurrence) -> str:
    """The same for the same occurrence in every process, so that a restart goes on with the Event that is there.

    The whole note is part of it: a new series with other figures is a new Event.
    """
    kind = occurrence.key.kind
    content = (_reference(kind.regarding), kind.type, kind.reason, kind.action, occurrence.note)
    digest = hashlib.blake2b(msgspec.json.encode(content), digest_size=8).hexdigest()
    readable = _NOT_IN_A_NAME.sub("-", kind.regarding.name.lower())[: _NAME_CHARACTERS - len(digest) - 1]
    return f"{readable.strip('.-') or 'object'}.{digest}"


def _reference(regarding: ObjectReference) -> dict[str, str]:
    fields = {
        "apiVersion": regarding.api_version,
        "kind": regarding.kind,
        "namespace": regarding.namespace,
        "name": regarding.name,
        "uid": regarding.uid,
    }
    return {field: value for field, value in fields.items() if value}


def _cut(text: str, longest: int = _NOTE_BYTES) -> str:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= longest:
        return encoded.decode("utf-8")
    return encoded[: longest - 3].decode("utf-8", "ignore") + "..."


WAITING: Final = 1000
"""How many series may wait to be written; client-go's maxQueuedEvents."""
KEPT: Final = 4096
"""How many series, and how many allowances, are remembered; client-go's maxLruCacheEntries."""
BURST: Final = 25
"""Writes about one object that need not wait; client-go's defaultSpamBurst."""
KIND_BURST: Final = 10
"""New Events of one kind about one object that need not wait: a kind with ever other notes leaves the other kinds some
of the object's writes."""
REFILL_SECONDS: Final = 300.0
"""Then one per so many seconds, because some things are unhealthy for ever; client-go's defaultSpamQPS."""


# What arithmetic loses: an allowance that lacks less would be full in an instant that is not after this one.
_ROUNDING: Final = 1e-6

_Payer = ObjectReference | EventKind


class _Allowance(msgspec.Struct, frozen=True):
    """How many writes were free at a reading of the clock."""

    burst: float
    left: float
    at: float

    def now(self, clock: float) -> float:
        return min(self.burst, self.left + (clock - self.at) / REFILL_SECONDS)


class EventBook:
    """All series that go on, by key. Whoever takes one to write it must say what became of it."""

    def __init__(self) -> None:
        self.dropped = 0
        """Occurrences that no Event will ever tell of."""
        self._series: OrderedDict[Key, Series] = OrderedDict()  # the longest silent one first
        self._new: dict[Key, None] = {}  # waiting for their first write, the oldest first
        self._repeats: dict[Key, None] = {}  # waiting for another one
        self._taken: set[Key] = set()
        self._agenda: list[tuple[float, int, Key]] = []  # may hold entries that are no longer true
        self._allowances: OrderedDict[_Payer, _Allowance] = OrderedDict()
        self._postponed: dict[EventKind, Key] = {}
        """The newest Event of a kind that waits for an allowance."""
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._series)

    def note(self, occurrence: Occurrence, clock: float) -> bool:
        """Take an occurrence in; True if there is now something to write that there was not before."""
        key = occurrence.key
        before = self._series.pop(key, None)
        is_new = before is None or before.is_finished(clock)
        series = begun(occurrence, clock) if before is None or is_new else repeated(before, occurrence, clock)
        self._series[key] = series
        self.dropped += series.is_refused
        if not series.has_news or key in self._taken or self._is_waiting(key):
            return False
        self._make_room(clock)
        self._wait(series)
        return True

    def next_at(self) -> float | None:
        """When there is something to write; None if there is nothing."""
        while self._agenda:
            due_at, _, key = self._agenda[0]
            if self._is_waiting(key) and self._series[key].due_at == due_at:
                return due_at
            heapq.heappop(self._agenda)
        return None

    def take(self, clock: float) -> Series | None:
        """The next series to write, taken from its allowances; None if none is due."""
        while (due_at := self.next_at()) is not None and due_at <= clock:
            _, _, key = heapq.heappop(self._agenda)
            series = self._series[key]
            left = min(self._left(payer, clock) for payer in _payers(series))
            needed = 2 if series.stored else 1  # a repeat leaves one write to what is new
            if left + _ROUNDING < needed:
                self._postpone(msgspec.structs.replace(series, due_at=clock + (needed - left) * REFILL_SECONDS))
                continue
            self._pay(series, 1, clock)
            self._no_longer_waits(key)
            self._taken.add(key)
            return series
        return None

    def wrote(self, taken: Series, stored: Series, clock: float) -> None:
        """The server has ``stored``, made of ``taken``; what was noted meanwhile waits for the next interval."""
        current = self._give_back(taken)
        count = stored.count + current.count - taken.count
        merged = msgspec.structs.replace(stored, count=count, latest=current.latest, seen_at=current.seen_at)
        self._settle(written(merged, stored.count, clock))

    def failed(self, taken: Series, retry_at: float, clock: float) -> None:
        """It was not written, and may be later. That costs the object nothing: the server is to blame."""
        current = self._give_back(taken)
        self._pay(taken, -1, clock)
        self._settle(msgspec.structs.replace(current, due_at=retry_at))

    def refused(self, taken: Series) -> None:
        """The server will never have it; repeats are dropped until the series is over."""
        current = self._give_back(taken)
        self.dropped += current.untold
        self._settle(msgspec.structs.replace(current, is_refused=True))

    def _give_back(self, taken: Series) -> Series:
        self._taken.discard(taken.first.key)
        return self._series[taken.first.key]  # what is taken has news, and what has news is kept

    def _settle(self, series: Series) -> None:
        self._series[series.first.key] = series
        if series.has_news:
            self._wait(series)

    def _is_waiting(self, key: Key) -> bool:
        return key in self._new or key in self._repeats

    def _no_longer_waits(self, key: Key) -> None:
        self._new.pop(key, None)
        self._repeats.pop(key, None)
        if self._postponed.get(key.kind) == key:
            del self._postponed[key.kind]

    def _postpone(self, series: Series) -> None:
        """Wait for an allowance; an Event that a newer one of its kind has overtaken would be outdated when written."""
        key = series.first.key
        self._wait(series)
        if series.stored:
            return
        other = self._postponed.get(key.kind)
        if other is None or other == key:
            self._postponed[key.kind] = key
            return
        older, newer = sorted((other, key), key=lambda one: self._series[one].seen_at)
        self._no_longer_waits(older)
        self.dropped += self._series.pop(older).untold
        self._postponed[key.kind] = newer

    def _wait(self, series: Series) -> None:
        key = series.first.key
        self._series[key] = series
        (self._repeats if series.stored else self._new).setdefault(key)
        heapq.heappush(self._agenda, (series.due_at, next(self._order), key))

    def _left(self, payer: _Payer, clock: float) -> float:
        allowance = self._allowances.get(payer)
        return _burst_of(payer) if allowance is None else allowance.now(clock)

    def _pay(self, series: Series, writes: int, clock: float) -> None:
        """Take so many writes from the allowances of a series."""
        for payer in _payers(series):
            self._allowances[payer] = _Allowance(_burst_of(payer), self._left(payer, clock) - writes, clock)
            self._allowances.move_to_end(payer)
            if len(self._allowances) > KEPT:
                self._allowances.popitem(last=False)

    def _make_room(self, clock: float) -> None:
        if self._repeats and len(self._new) + len(self._repeats) >= WAITING:
            key = next(iter(self._repeats))
            self._no_longer_waits(key)
            series = self._series[key]
            self.dropped += series.untold
            self._series[key] = msgspec.structs.replace(series, count=series.stored)
        elif len(self._new) >= WAITING:
            key = next(iter(self._new))
            self._no_longer_waits(key)
            self.dropped += self._series.pop(key).untold
        oldest, series = next(iter(self._series.items()))
        if series.is_finished(clock):
            del self._series[oldest]
        if len(self._series) > KEPT:
            del self._series[next(key for key, kept in self._series.items() if not kept.has_news)]


def _payers(series: Series) -> tuple[_Payer, ...]:
    """Whose allowances a write is taken from: a repeat from its object's, a new Event from its kind's, too."""
    key = series.first.key
    return (key.regarding,) if series.stored else (key.regarding, key.kind)


def _burst_of(payer: _Payer) -> float:
    return KIND_BURST if isinstance(payer, EventKind) else BURST
