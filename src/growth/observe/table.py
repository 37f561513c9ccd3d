"""A table: all objects of a kind that is few enough to need no index but its name."""

from collections import deque
from collections.abc import Callable, ItemsView, Iterable, Iterator, Mapping, ValuesView
from itertools import count, islice
from typing import Final, Generic, TypeVar, overload

from growth.api.change import Change, ChangeType, ObjectT

_Default = TypeVar("_Default")
_NUMBERS: Final = count(1)
# More than arrives between two looks. Whoever missed more than that looks at everything.
_RECENT: Final = 8192
Key = tuple[str, str]
"""Namespace (empty for cluster-scoped kinds) and name."""


class Table(Mapping[Key, ObjectT], Generic[ObjectT]):
    """Objects by namespace and name; ``note`` is told of each that came, changed or went."""

    def __init__(self, note: Callable[[ObjectT], None] | None = None) -> None:
        self._objects: dict[Key, ObjectT] = {}
        self._note = note
        self.number = next(_NUMBERS)
        """No other table of this process ever has the same."""
        self.observed = 0
        """How many changes it has heard of: as long as that is the same, so is all that is in it."""
        self._recent: deque[Key] = deque(maxlen=_RECENT)

    def hear(self, changes: Iterable[Change[ObjectT]]) -> None:
        """Objects came, changed or went."""
        for change in changes:
            self.observed += 1
            if self._note is not None:
                self._note(change.now)
            meta = change.now.metadata
            key = (meta.namespace, meta.name)
            self._recent.append(key)
            if change.happened is not ChangeType.DELETED:
                self._objects[key] = change.now
            elif (known := self._objects.get(key)) is not None and known.metadata.uid == meta.uid:
                # One of the same name that came since is another object, and stays.
                del self._objects[key]

    def since(self, observed: int) -> set[Key] | None:
        """What came, changed or went since so much was heard; None if that is too long ago to tell."""
        missed = self.observed - observed
        return set(islice(reversed(self._recent), missed)) if 0 <= missed <= len(self._recent) else None

    def listed(self) -> list[ObjectT]:
        """All that are there now. Made in one step of the interpreter, so any thread may ask."""
        return list(self._objects.values())

    def __getitem__(self, key: Key) -> ObjectT:
        return self._objects[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._objects)

    def __len__(self) -> int:
        return len(self._objects)

    # A Mapping would make these of the three above, one call for each object, and deciders walk through all of them in
    # every pass.

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    @overload
    def get(self, key: Key, /) -> ObjectT | None: ...
    @overload
    def get(self, key: Key, /, default: ObjectT | _Default) -> ObjectT | _Default: ...
    def get(self, key: Key, /, default: ObjectT | _Default | None = None) -> ObjectT | _Default | None:
        """The object of this name, if there is one."""
        return self._objects.get(key, default)

    def values(self) -> ValuesView[ObjectT]:
        """All objects."""
        return self._objects.values()

    def items(self) -> ItemsView[Key, ObjectT]:
        """All objects with their keys."""
        return self._objects.items()
