"""A table as it was seen last: who came, changed or went since, without a walk through all that are there."""

from collections.abc import Iterable
from typing import Generic

from growth.api.change import ObjectT
from growth.observe.table import Key, Table


class Roll(Generic[ObjectT]):
    """Objects by uid."""

    def __init__(self) -> None:
        self.by_uid: dict[str, ObjectT] = {}
        self._seen: dict[Key, ObjectT] = {}
        self._heard = Heard()

    def call(self, table: Table[ObjectT]) -> set[str]:
        """See what is there now; the uids of whoever came, changed or went."""
        changed: set[str] = set()
        for key in self._heard.news(table, self._seen):
            before, now = self._seen.pop(key, None), table.get(key)
            if before is not None and before is not now:
                changed.add(before.metadata.uid)
                del self.by_uid[before.metadata.uid]
            if now is not None:
                self._seen[key] = now
                if before is not now:
                    changed.add(now.metadata.uid)
                    self.by_uid[now.metadata.uid] = now
        return changed


class Heard:
    """How much of a table was heard."""

    def __init__(self) -> None:
        self._table = self._changes = 0

    def news(self, table: Table[ObjectT], known: Iterable[Key]) -> set[Key]:
        """Of whom something was heard since: everybody, known or there, if nobody can tell."""
        recent = table.since(self._changes) if self._table == table.number else None
        self._table, self._changes = table.number, table.heard
        return {*known, *table} if recent is None else recent
