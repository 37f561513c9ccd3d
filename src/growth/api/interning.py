"""One copy of what is equal: 150,000 pods of 50 templates hold 50 specs, not 150,000.

Equality is judged by encoded bytes, which is quicker than hashing a nested value and works for dicts, too. The tables
hold their values weakly: when the last pod of a template goes, so does the template, and memory stays bounded by what
differs among the objects that live.

Texts that are kept as the API server sent them.

What a decoder gives for such a field is a window on all that was read: it would keep the whole object in memory, with
what we do not read, and an object of a list all others of its page.
"""

from functools import lru_cache, partial
from typing import Any, Final, Generic, TypeVar
from weakref import ref

import msgspec

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)

# Not sorted: the API server writes the keys of a map in order, and one that did not would only be shared less.
_ENCODE: Final = msgspec.msgpack.Encoder().encode
_EMPTY: Final[dict[str, str]] = {}


class SharedDict(dict[str, str]):
    """A dict that can be referred to weakly. Nobody changes it: it belongs to all who hold it."""

    __slots__ = ("__weakref__",)


class _WeakTable(dict[bytes, "ref[T]"], Generic[T]):
    """Values by their bytes, each gone with its last holder.

    A WeakValueDictionary does the same; asking it costs a microsecond, and it is asked four times for every pod event.
    """

    def hold(self, key: bytes, value: T) -> T:
        """Take this value as the one for its key."""
        self[key] = ref(value, partial(self._let_go, key))
        return value

    def _let_go(self, key: bytes, gone: "ref[T]") -> None:
        # An equal value may have taken the place between the end of the old one and this call.
        if self.get(key) is gone:
            del self[key]


class InternTables:
    """The tables of shared values, one for each type."""

    def __init__(self) -> None:
        self._values: dict[type, _WeakTable[Any]] = {}
        self._dicts: _WeakTable[SharedDict] = _WeakTable()

    def value(self, value: S) -> S:
        """The one copy of this struct, whose class allows weak references."""
        table = self._values.get(type(value))
        if table is None:
            table = self._values[type(value)] = _WeakTable()
        key = _ENCODE(value)
        held = table.get(key)
        known = held() if held is not None else None
        return known if known is not None else table.hold(key, value)

    def mapping(self, mapping: dict[str, str]) -> dict[str, str]:
        """The one copy of these labels or annotations."""
        if not mapping:
            return _EMPTY
        key = _ENCODE(mapping)
        held = self._dicts.get(key)
        known = held() if held is not None else None
        return known if known is not None else self._dicts.hold(key, SharedDict(mapping))

    def __len__(self) -> int:
        """How many different values are alive."""
        return len(self._dicts) + sum(map(len, self._values.values()))


def kept(text: msgspec.Raw) -> msgspec.Raw:
    """The text alone; one copy for all who have the same."""
    return _copy(bytes(text))


@lru_cache(8192)
def _copy(text: bytes) -> msgspec.Raw:
    return msgspec.Raw(text)
