"""From bytes to our structs: single objects, pages of a list, lines of a watch."""

from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, cast

import msgspec

from growth.api.interning import InternTables
from growth.api.kinds import Kind
from growth.api.meta import ObjectMeta
from growth.api.pod import Pod
from growth.api.pod_decoding import PodDecoder, WirePod

T = TypeVar("T")

# The last event of a streamed list carries this annotation.
INITIAL_EVENTS_END: Final = "k8s.io/initial-events-end"


class ListMeta(msgspec.Struct, frozen=True, rename={"resource_version": "resourceVersion", "next_page": "continue"}):
    """Which version of the world a list shows, and how to ask for the rest of it."""

    resource_version: str = ""
    next_page: str = ""


class ListPage(msgspec.Struct, Generic[T], frozen=True):
    """A page of a list."""

    metadata: ListMeta
    items: list[T] | None = None


class Unreadable(msgspec.Struct, frozen=True):
    """An object that is there, and that our type does not fit: who it is, why, and its text."""

    metadata: ObjectMeta
    problem: str
    text: bytes


class WatchLine(msgspec.Struct, frozen=True, gc=False):
    """One line of a watch, its object still unread: what it is depends on ``type``."""

    type: str
    object: msgspec.Raw | bytes


class _WireLine(msgspec.Struct, frozen=True):
    type: str
    object: msgspec.Raw


class Bookmark(msgspec.Struct, frozen=True):
    """A line that says only how far the stream has come."""

    metadata: ObjectMeta

    @property
    def ends_initial_events(self) -> bool:
        """Whether the stream has now delivered everything that existed when it began."""
        return self.metadata.annotations.get(INITIAL_EVENTS_END) == "true"


class _Stranger(msgspec.Struct, frozen=True):
    metadata: ObjectMeta


_ENVELOPES: Final = tuple((f'{{"type":"{kind}","object":'.encode(), kind) for kind in ("MODIFIED", "ADDED", "DELETED"))
# Not strict, because a resource version is an integer in a string.
_LINES: Final = msgspec.json.Decoder(_WireLine)
_STRANGERS: Final = msgspec.json.Decoder(_Stranger, strict=False)
_PAGES: Final = msgspec.json.Decoder(ListPage[msgspec.Raw])
_BOOKMARKS: Final = msgspec.json.Decoder(Bookmark, strict=False)


class Reader(Generic[T]):
    """Reads objects of one kind. Pods are slimmed and shared; all other kinds are few enough to be kept as they are."""

    def __init__(self, kind: Kind[T], sharing: InternTables) -> None:
        self._is_tolerant = kind.is_tolerant
        is_pod = kind.type is Pod
        wire = cast("type[Any]", WirePod if is_pod else kind.type)
        self._slim = cast("Callable[[Any], T]", PodDecoder(sharing).pod) if is_pod else None
        self._object = msgspec.json.Decoder(wire, strict=False)
        self._page = msgspec.json.Decoder(ListPage[wire], strict=False)

    def object(self, data: bytes | msgspec.Raw) -> T:
        """One object."""
        wire = self._object.decode(data)
        return self._slim(wire) if self._slim else cast("T", wire)

    def seen(self, data: bytes | msgspec.Raw) -> T | Unreadable:
        """One object, if it is of a tolerant kind whether or not it can be read."""
        try:
            return self.object(data)
        except msgspec.ValidationError as error:
            if not self._is_tolerant:
                raise
            return Unreadable(_STRANGERS.decode(data).metadata, str(error), bytes(data))

    def page(self, data: bytes) -> tuple[list[T], list[Unreadable], ListMeta]:
        """A page of objects, those of a tolerant kind that cannot be read, and where the list goes on."""
        try:
            page = self._page.decode(data)
        except msgspec.ValidationError:
            if not self._is_tolerant:
                raise
            return self._tolerant_page(data)
        items = page.items or []
        return (list(map(self._slim, items)) if self._slim else items), [], page.metadata

    def _tolerant_page(self, data: bytes) -> tuple[list[T], list[Unreadable], ListMeta]:
        page = _PAGES.decode(data)
        items, strangers = list[T](), list[Unreadable]()
        for one in map(self.seen, page.items or []):
            if isinstance(one, Unreadable):
                strangers.append(one)
            else:
                items.append(one)
        return items, strangers, page.metadata


def watch_line(data: bytes) -> WatchLine:
    """The envelope of one line of a watch.

    Servers in Go always write it in the same way, so it can be cut off; reading it as JSON would mean to scan the
    object twice. A line that looks different goes the long way.
    """
    for start, kind in _ENVELOPES:
        if data.startswith(start):
            return WatchLine(kind, data[len(start) : -1])
    line = _LINES.decode(data)
    return WatchLine(line.type, line.object)


def bookmark(data: msgspec.Raw | bytes) -> Bookmark:
    """What a bookmark's object says."""
    return _BOOKMARKS.decode(data)
