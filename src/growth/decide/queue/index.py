"""A table as it was seen last: who came, changed or went since, without a walk through all that are there.

What the queue knows from one pass to the next, so that a pass costs as much as has changed.

Everything here can be worked out anew from the objects, and is, when something has changed that holds for all (a queue,
a flavor, a namespace), and after a restart.

A workload is looked at when it, or whom it stands for, has changed; when an instant has come that matters to it; and in
each pass as long as something was said of it that is not seen yet, or as its pods are awaited. All others are *quiet*:
to look at them would come to the same as the last time, nothing.
"""

from collections.abc import Hashable, Iterable, Iterator
from datetime import datetime
from heapq import heappop, heappush
from typing import Generic

import msgspec

from growth.api.change import ObjectT
from growth.api.pod import Pod
from growth.api.queue.job import QueuedJob
from growth.api.queue.pod import QueuedPod
from growth.api.queue.workload import Workload
from growth.decide.queue.flavor_stock import FlavorOfferings, FlavorSupply
from growth.decide.queue.pending_queue import PendingQueue, QueuePosition
from growth.decide.queue.queue_config import QueueConfig
from growth.decide.queue.quota_holders import QuotaHolder
from growth.decide.queue.quota_tree import QuotaNode
from growth.decide.queue.unplaced_flavors import FlavorRefusals
from growth.decide.queue.usage_counts import UsageTally, WorkloadUsage
from growth.observe.table import Key, Table


class ObjectsByUid(Generic[ObjectT]):
    """Objects by uid."""

    def __init__(self) -> None:
        self.by_uid: dict[str, ObjectT] = {}
        self._seen: dict[Key, ObjectT] = {}
        self._heard = TableVersion()

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


class TableVersion:
    """How much of a table was heard."""

    def __init__(self) -> None:
        self._table = self._changes = 0

    def news(self, table: Table[ObjectT], known: Iterable[Key]) -> set[Key]:
        """Of whom something was heard since: everybody, known or there, if nobody can tell."""
        recent = table.since(self._changes) if self._table == table.number else None
        self._table, self._changes = table.number, table.observed
        return {*known, *table} if recent is None else recent


NO_SHARE = WorkloadUsage()


class WorkloadEntry(msgspec.Struct):
    """One workload, as it was looked at last."""

    workload: Workload
    until: datetime | None = None
    """When it is looked at again, if nothing happens before."""
    line: tuple[str, QueuePosition] | None = None
    """The queue in which it waits, and its place."""
    shape: Hashable = None
    """Two who wait in one queue and have the same shape are served, or not, alike."""
    holder: QuotaHolder | None = None
    share: WorkloadUsage = NO_SHARE


class QueueIndex:
    """All of it. ``members`` are the queues with what was seen to be used of them."""

    def __init__(self, config: QueueConfig, members: dict[str, QuotaNode]) -> None:
        self.config = config
        self.members = members
        self.observed = TableVersion()
        """Of workloads."""
        self.seats: dict[Key, WorkloadEntry] = {}
        self.jobs = ObjectsByUid[QueuedJob]()
        self.pods = ObjectsByUid[QueuedPod]()
        self.by_owner: dict[str, Key] = {}
        self.restless: set[Key] = set()
        self.restless_owners: set[str] = set()
        self.holders: dict[str, dict[Key, QuotaHolder]] = {}
        self.lines: dict[str, PendingQueue] = {}
        self.settled: set[int] = set()
        """Roots of trees, by their id, in which nobody who waits can be served, and nothing has changed since."""
        self.is_in_use = False
        """Whether a pass is under way; or one broke off, and left here what it had only tried."""
        self.awaited: set[Key] = set()
        """Who holds quota, and its pods are not ready."""
        self.kept: dict[Key, tuple[str, ...]] = {}
        """Machines that are kept for whom."""
        self.absent: dict[Key, datetime] = {}
        self.ending: set[Key] = set()
        """Who is being deleted, and is still there."""
        self.odd: dict[Key, tuple[str, str]] = {}
        """Who holds quota of which queue, and nobody knows how much, with a sentence about it."""
        self.tallies: dict[str, UsageTally] = {}
        self.clients: dict[Key, UsageTally] = {}
        self.changed: set[Key] = set()
        """Queues whose figures have changed since they were told: LocalQueues, and ClusterQueues as of no namespace."""
        self.is_reported = False
        """Whether all figures were compared with what queues say of themselves."""
        self.unsaid: dict[Key, None] = {}
        """Of whom something is to be told that is not paid for yet (``courtesy``), in the order in which they wait."""
        self.announced: dict[Key, tuple[Pod, ...]] = {}
        """Pods that will be made (``announcing``)."""
        self.refusals = FlavorRefusals()
        self.supplies: dict[str, FlavorSupply | None] = {}
        """What could be launched for the flavors that are noted there, as it was seen last."""
        self.backing = FlavorOfferings()
        self._deadlines: list[tuple[datetime, Key]] = []

    def due(self, now: datetime) -> Iterator[Key]:
        """Whose instant has come."""
        while self._deadlines and self._deadlines[0][0] <= now:
            when, key = heappop(self._deadlines)
            seat = self.seats.get(key)
            if seat is not None and seat.until == when:
                yield key

    @property
    def next_deadline(self) -> datetime | None:
        """The first instant that matters to anybody."""
        while self._deadlines:
            when, key = self._deadlines[0]
            seat = self.seats.get(key)
            if seat is not None and seat.until == when:
                return when
            heappop(self._deadlines)
        return None

    def wake(self, key: Key, until: datetime | None) -> None:
        """It is looked at again then."""
        seat = self.seats[key]
        if until is not None and until != seat.until:
            heappush(self._deadlines, (until, key))
        seat.until = until

    def sit(self, key: Key, workload: Workload, holder: QuotaHolder | None, oddity: tuple[str, str] | None) -> None:
        """A workload as it is seen now, with what it holds."""
        seat = self.seats.get(key)
        if seat is None:
            seat = self.seats[key] = WorkloadEntry(workload)
        self._hold(seat, holder)
        self.refusals.hear(key, workload)
        seat.workload = workload
        (self.ending.discard if workload.metadata.deletion_timestamp is None else self.ending.add)(key)
        owner = workload.metadata.controller
        if owner is not None:
            self.by_owner[owner.uid] = key
        if oddity is not None:
            self.odd[key] = oddity
        else:
            self.odd.pop(key, None)

    def leave(self, key: Key) -> None:
        """It is gone."""
        seat = self.seats.pop(key)
        owner = seat.workload.metadata.controller
        if owner is not None and self.by_owner.get(owner.uid) == key:
            del self.by_owner[owner.uid]
        self._hold(seat, None)
        self.enqueue(key, seat, None, None)
        self.count(seat, NO_SHARE)
        self.restless.discard(key)
        self.unsaid.pop(key, None)
        self.announced.pop(key, None)
        self.awaited.discard(key)
        self.kept.pop(key, None)
        self.absent.pop(key, None)
        self.odd.pop(key, None)
        self.ending.discard(key)
        self.refusals.forget(key)

    def enqueue(self, key: Key, seat: WorkloadEntry, line: tuple[str, QueuePosition] | None, shape: Hashable) -> None:
        """Where it waits now; None if it does not."""
        if seat.line == line and seat.shape == shape:
            return
        if seat.line is not None:
            name, place = seat.line
            # Whoever comes is looked at, and so are all in its tree; who goes may have held up others.
            self.stir(name)
            there = self.lines[name]
            there.remove((place, key), seat.shape)
            if not there.fronts:
                del self.lines[name]
        if line is not None:
            name, place = line
            shape = self.lines.setdefault(name, PendingQueue()).add((place, key), shape)
        seat.line, seat.shape = line, shape

    def stir(self, queue: str) -> None:
        """Something has changed for those who wait in its tree."""
        if queue in self.members:
            self.settled.discard(id(self.members[queue].root))

    def count(self, seat: WorkloadEntry, share: WorkloadUsage) -> None:
        """What it adds to the figures now."""
        if share == seat.share:
            return
        for one, sign in ((seat.share, -1), (share, 1)):
            if one.queue:
                self.tallies.setdefault(one.queue, UsageTally()).add(one, sign)
            if one.local_queue != ("", ""):
                self.clients.setdefault(one.local_queue, UsageTally()).add(one, sign)
            self.changed |= {("", one.queue), one.local_queue}
        seat.share = share

    def _hold(self, seat: WorkloadEntry, holder: QuotaHolder | None) -> None:
        if seat.holder == holder:
            return
        for one, sign in ((seat.holder, -1), (holder, 1)):
            if one is None:
                continue
            here = self.holders.setdefault(one.queue, {})
            if sign < 0:
                here.pop(one.key, None)
            else:
                here[one.key] = one
            if one.queue in self.members:
                self.members[one.queue].use_all(one.usage, sign)
                self.stir(one.queue)
        seat.holder = holder
