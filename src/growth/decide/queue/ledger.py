"""Quota that is given tentatively: it counts for the rest of the pass, and is dropped at its end.

What the index knows of quota is what was seen to be held. What a pass decides is not seen yet, and may not come true.
"""

from collections.abc import Mapping

import msgspec

from growth.decide.queue.backlog import BacklogDraft
from growth.decide.queue.index import QueueIndex
from growth.decide.queue.quota_holders import Key
from growth.decide.queue.quota_tree import Slot


class QuotaLedger:
    """The entries of one pass."""

    def __init__(self, index: QueueIndex, backlog: BacklogDraft) -> None:
        self._index, self._backlog = index, backlog
        self._used: list[tuple[str, Mapping[Slot, int]]] = []
        self._evicted: list[Key] = []

    def use(self, queue: str, usage: Mapping[Slot, int]) -> None:
        """Enter what is given, or waited for: no other workload gets it."""
        member = self._index.members.get(queue)
        if member is not None:
            self._used.append((queue, usage))
            member.use_all(usage)

    def mark_evicted(self, key: Key) -> None:
        """Enter that a workload is evicted: a preemptor takes it first."""
        holder = self._index.holder(key)
        if holder is not None and not holder.is_evicted:
            self._evicted.append(key)
            self._backlog.stir(holder.queue)
            self._index.holders[holder.queue][key] = msgspec.structs.replace(holder, is_evicted=True)

    def drop(self) -> None:
        """Forget all entries: what is used is again what was seen to be."""
        for queue, usage in self._used:
            self._index.members[queue].use_all(usage, -1)
        for key in self._evicted:
            holder = self._index.holder(key)
            if holder is not None:
                self._index.holders[holder.queue][key] = holder
                self._backlog.stir(holder.queue)
        self._used.clear()
        self._evicted.clear()
