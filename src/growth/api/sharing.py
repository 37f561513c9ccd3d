"""One copy of what is equal: 150,000 pods of 50 templates hold 50 specs, not 150,000.

Equality is judged by encoded bytes, which is quicker than hashing a nested value and works for dicts, too. The tables
hold their values weakly: when the last pod of a template goes, so does the template, and memory stays bounded by what
differs among the objects that live.
"""

from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import msgspec

S = TypeVar("S", bound=msgspec.Struct)

_ENCODER: Final = msgspec.msgpack.Encoder(order="deterministic")
_EMPTY: Final[dict[str, str]] = {}


class SharedDict(dict[str, str]):
    """A dict that can be referred to weakly. Nobody changes it: it belongs to all who hold it."""

    __slots__ = ("__weakref__",)


class Sharing:
    """The tables of shared values, one for each type."""

    def __init__(self) -> None:
        self._values: dict[type, WeakValueDictionary[bytes, Any]] = {}
        self._dicts: WeakValueDictionary[bytes, SharedDict] = WeakValueDictionary()

    def value(self, value: S) -> S:
        """The one copy of this struct, whose class allows weak references."""
        table = self._values.get(type(value))
        if table is None:
            table = self._values[type(value)] = WeakValueDictionary()
        key = _ENCODER.encode(value)
        known = table.get(key)
        if known is None:
            known = table[key] = value
        return known

    def mapping(self, mapping: dict[str, str]) -> dict[str, str]:
        """The one copy of these labels or annotations."""
        if not mapping:
            return _EMPTY
        key = _ENCODER.encode(mapping)
        known = self._dicts.get(key)
        if known is None:
            known = self._dicts[key] = SharedDict(mapping)
        return known

    def __len__(self) -> int:
        """How many different values are alive."""
        return len(self._dicts) + sum(map(len, self._values.values()))
