"""What the last look at each workload came to, so that most workloads need no look in the next pass.

A workload is looked at when it, or the job or pod that it stands for, has changed; when an instant has come that
matters to it; and in each pass as long as something was said of it that is not seen yet, or its pods are awaited. A
look at any other would come to what it came to the last time: nothing.

The backlog of a pass stays as it is; the next pass makes its own from it (``BacklogDraft``), and copies only what it
changes. So a pass that fails leaves nothing half done.
"""

from collections.abc import Hashable, Iterator, Mapping
from datetime import datetime
from heapq import heappop, heappush

import msgspec

from growth.api.pod import Pod
from growth.decide.queue.flavor_stock import FlavorOfferings, FlavorSupply
from growth.decide.queue.index import IndexChanges
from growth.decide.queue.layered_mapping import MappingDraft, MappingEdition
from growth.decide.queue.pending_queue import PendingQueue, QueuePosition
from growth.decide.queue.usage_counts import UsageTally, WorkloadUsage
from growth.observe.table import Key


class WorkloadLook(msgspec.Struct, frozen=True, gc=False):
    """One workload, as it was looked at last."""

    again_at: datetime | None = None
    """When it is looked at again, if nothing happens before."""
    line: tuple[str, QueuePosition] | None = None
    """The queue in which it waits, and its place."""
    shape: Hashable = None
    """Workloads that wait in one queue and have the same shape are served, or not, alike."""
    usage: WorkloadUsage = WorkloadUsage()


NEVER: WorkloadLook = WorkloadLook()


class QueueBacklog(msgspec.Struct, frozen=True):
    """What all looks came to, up to the end of one pass."""

    seen: IndexChanges | None = None
    """The changes of the index that were looked at last."""
    closed: Mapping[str, str] = {}
    """Flavors whose machines could not be had then."""
    looks: MappingEdition[Key, WorkloadLook] = MappingEdition()
    deadlines: tuple[tuple[datetime, Key], ...] = ()
    """A heap of instants; one that is not that of a look any more counts for nothing."""
    restless: frozenset[Key] = frozenset()
    """Workloads of which something was said that is not seen yet, or whose pods are awaited."""
    restless_owners: frozenset[str] = frozenset()
    """Jobs and pods of which something was said that is not seen yet, by uid."""
    awaited: frozenset[Key] = frozenset()
    """Workloads that hold quota, and their pods are not ready."""
    kept: MappingEdition[Key, tuple[str, ...]] = MappingEdition()
    """Machines that are kept for workloads."""
    absent: MappingEdition[Key, datetime] = MappingEdition()
    """Workloads whose jobs are not seen, and since when."""
    unsaid: MappingEdition[Key, None] = MappingEdition()
    """Workloads of which something is to be told when the budget allows it, in the order in which they wait."""
    announced: MappingEdition[Key, tuple[Pod, ...]] = MappingEdition()
    """Pods that will be made."""
    lines: Mapping[str, PendingQueue] = {}
    settled: frozenset[int] = frozenset()
    """Trees in which nobody who waits can be served, and nothing has changed since."""
    queue_tallies: Mapping[str, UsageTally] = {}
    local_queue_tallies: Mapping[Key, UsageTally] = {}
    changed: frozenset[Key] = frozenset()
    """Queues whose figures have changed since they were told: LocalQueues, and ClusterQueues as of no namespace."""
    is_reported: bool = False
    """Whether all figures were compared with what queues say of themselves."""
    supplies: Mapping[str, FlavorSupply | None] = {}
    """What could be launched for the flavors that are refused to somebody, as it was seen last."""
    backing: FlavorOfferings = FlavorOfferings()


class BacklogDraft:
    """The backlog of a pass that is under way."""

    def __init__(self, before: QueueBacklog, trees: Mapping[str, int]) -> None:
        self._trees = trees
        self.looks = MappingDraft(before.looks)
        self.kept = MappingDraft(before.kept)
        self.absent = MappingDraft(before.absent)
        self.unsaid = MappingDraft(before.unsaid)
        self.announced = MappingDraft(before.announced)
        self.lines = dict(before.lines)
        self.queue_tallies = dict(before.queue_tallies)
        self.local_queue_tallies = dict(before.local_queue_tallies)
        self.restless, self.restless_owners = set(before.restless), set(before.restless_owners)
        self.awaited, self.settled, self.changed = set(before.awaited), set(before.settled), set(before.changed)
        self.is_reported, self.supplies, self.backing = before.is_reported, before.supplies, before.backing
        self._deadlines: tuple[tuple[datetime, Key], ...] | list[tuple[datetime, Key]] = before.deadlines
        self._own_lines: set[str] = set()

    def finished(self, seen: IndexChanges, closed: Mapping[str, str]) -> QueueBacklog:
        """Return the backlog for the next pass."""
        return QueueBacklog(
            seen,
            closed,
            self.looks.finished(),
            tuple(self._deadlines),
            frozenset(self.restless),
            frozenset(self.restless_owners),
            frozenset(self.awaited),
            self.kept.finished(),
            self.absent.finished(),
            self.unsaid.finished(),
            self.announced.finished(),
            self.lines,
            frozenset(self.settled),
            self.queue_tallies,
            self.local_queue_tallies,
            frozenset(self.changed),
            self.is_reported,
            self.supplies,
            self.backing,
        )

    def look(self, key: Key) -> WorkloadLook:
        """Return what the last look at a workload came to."""
        return self.looks.get(key, NEVER)

    def due(self, now: datetime) -> Iterator[Key]:
        """Give the workloads whose instant has come."""
        while self._deadlines and self._deadlines[0][0] <= now:
            when, key = heappop(self._heap())
            if self.look(key).again_at == when:
                yield key

    @property
    def next_deadline(self) -> datetime | None:
        """The first instant that matters to any workload."""
        while self._deadlines:
            when, key = self._deadlines[0]
            if self.look(key).again_at == when:
                return when
            heappop(self._heap())
        return None

    def wake(self, key: Key, again_at: datetime | None) -> None:
        """Look at it again at that instant."""
        look = self.look(key)
        if again_at == look.again_at:
            return
        if again_at is not None:
            heappush(self._heap(), (again_at, key))
        self.looks[key] = WorkloadLook(again_at, look.line, look.shape, look.usage)

    def _heap(self) -> list[tuple[datetime, Key]]:
        if isinstance(self._deadlines, tuple):
            self._deadlines = list(self._deadlines)
        return self._deadlines

    def forget(self, key: Key) -> None:
        """Forget a workload that is gone."""
        self.enqueue(key, None, None)
        self.count(key, WorkloadUsage())
        for mapping in (self.looks, self.unsaid, self.announced, self.kept, self.absent):
            mapping.pop(key, None)
        self.restless.discard(key)
        self.awaited.discard(key)

    def enqueue(self, key: Key, line: tuple[str, QueuePosition] | None, shape: Hashable) -> None:
        """Note where a workload waits now; None if it does not."""
        look = self.look(key)
        if look.line == line and look.shape == shape:
            return
        if look.line is not None:
            name, place = look.line
            # Whoever comes is looked at, and so are all in its tree; who goes may have held up others.
            self.stir(name)
            there = self._line(name)
            there.remove((place, key), look.shape)
            if not there.fronts:
                del self.lines[name]
                self._own_lines.discard(name)
        if line is not None:
            name, place = line
            shape = self._line(name).add((place, key), shape)
        self.looks[key] = WorkloadLook(look.again_at, line, shape, look.usage)

    def _line(self, name: str) -> PendingQueue:
        """Return a line that this pass may change."""
        if name in self._own_lines:
            return self.lines[name]
        before = self.lines.get(name)
        line = self.lines[name] = PendingQueue() if before is None else before.copy()
        self._own_lines.add(name)
        return line

    def stir(self, queue: str) -> None:
        """Note that something has changed for those who wait in its tree."""
        if queue in self._trees:
            self.settled.discard(self._trees[queue])

    def count(self, key: Key, usage: WorkloadUsage) -> None:
        """Note what a workload adds to the figures now."""
        look = self.look(key)
        if usage == look.usage:
            return
        for one, sign in ((look.usage, -1), (usage, 1)):
            if one.queue:
                tally = self.queue_tallies.get(one.queue, UsageTally())
                self.queue_tallies[one.queue] = tally.plus(one, sign)
            if one.local_queue != ("", ""):
                tally = self.local_queue_tallies.get(one.local_queue, UsageTally())
                self.local_queue_tallies[one.local_queue] = tally.plus(one, sign)
            self.changed |= {("", one.queue), one.local_queue}
        self.looks[key] = WorkloadLook(look.again_at, look.line, look.shape, usage)
