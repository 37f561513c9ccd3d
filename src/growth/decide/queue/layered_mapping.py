"""A large mapping of which a pass changes little: the edition before stays as it was, and only changes are copied."""

from collections.abc import Hashable, Iterator, MutableMapping
from typing import Final, Generic, TypeVar, overload

import msgspec

KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")
DefaultT = TypeVar("DefaultT")

_FEW: Final = 64
_SHARE: Final = 16


class MappingEdition(msgspec.Struct, Generic[KeyT, ValueT], frozen=True):
    """A mapping at the end of a pass. Nobody changes what it holds."""

    base: dict[KeyT, ValueT] = {}
    removed: set[KeyT] = set()
    """Keys of the base that are gone."""
    added: dict[KeyT, ValueT] = {}
    """What came, or took the place of what the base has."""


class MappingDraft(MutableMapping[KeyT, ValueT]):
    """The mapping of a pass that is under way; keys are in the order in which they came."""

    def __init__(self, before: MappingEdition[KeyT, ValueT]) -> None:
        self._before = before
        self._base, self._removed, self._added = before.base, before.removed, before.added
        self._is_changed = False

    def finished(self) -> MappingEdition[KeyT, ValueT]:
        """Return the edition with all changes.

        Once more than a few, and more than one in sixteen entries, are changed, all are copied into a new base.
        """
        if not self._is_changed:
            return self._before
        if len(self._added) + len(self._removed) > max(_FEW, len(self._base) // _SHARE):
            base = self._base.copy()
            for key in self._removed:
                del base[key]
            return MappingEdition(base | self._added)
        return MappingEdition(self._base, self._removed, self._added)

    def _change(self) -> None:
        if not self._is_changed:
            self._is_changed = True
            self._removed, self._added = set(self._removed), dict(self._added)

    def __getitem__(self, key: KeyT) -> ValueT:
        if key in self._added:
            return self._added[key]
        if key in self._removed:
            raise KeyError(key)
        return self._base[key]

    @overload
    def get(self, key: KeyT, default: None = None, /) -> ValueT | None: ...
    @overload
    def get(self, key: KeyT, default: ValueT | DefaultT, /) -> ValueT | DefaultT: ...
    def get(self, key: KeyT, default: ValueT | DefaultT | None = None, /) -> ValueT | DefaultT | None:
        """Return the value of a key; that of a Mapping raises an error inside for each key that is not there."""
        if key in self._added:
            return self._added[key]
        return default if key in self._removed else self._base.get(key, default)

    def __contains__(self, key: object) -> bool:
        return key in self._added or (key in self._base and key not in self._removed)

    def __setitem__(self, key: KeyT, value: ValueT) -> None:
        self._change()
        self._added[key] = value

    def __delitem__(self, key: KeyT) -> None:
        if key not in self:
            raise KeyError(key)
        self._change()
        self._added.pop(key, None)
        if key in self._base:
            self._removed.add(key)

    def __iter__(self) -> Iterator[KeyT]:
        for key in self._base:
            if key not in self._removed:
                yield key
        for key in self._added:
            if key not in self._base or key in self._removed:
                yield key

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __bool__(self) -> bool:
        return bool(self._added) or len(self._base) > len(self._removed)
