"""From many occurrences to one Event: values in, values out, neither clock nor network.

One Event stands for all occurrences with the same object, type, reason, action and substance of the note: the note
without its figures (``event_substance.py``). Kubernetes' own recorder (client-go, tools/events) leaves the note out,
and the API server refuses to change the note of an Event (``message: field is immutable``): an Event "admitted, on
one" would count on while the job runs on flavor two. With the whole note in the key, a count that changes each second
would be an Event each second. So figures are those of the first write, until a new series begins: after six minutes
without an occurrence, or when the server has deleted the Event.

    first occurrence ──► create ──► repeats are summed ──► patch of series.count, ever more rarely ──► silence: over
"""

import hashlib
import re
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import msgspec

from growth.api.core import ObjectReference
from growth.api.timestamp import format_micro_time
from growth.kube.event_substance import substance_of

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
