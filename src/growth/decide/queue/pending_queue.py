"""Who comes first: priority, then time, then the uid, so that any two replicas come to the same order.

The time is that of creation. A workload that could not start (its pods were not ready in time) counts from its
eviction, and so goes to the back, if the strategy says ``Eviction``. Whoever was evicted for another reason keeps its
place.

A workload for which others were preempted comes before those of its own priority (but a StrictFIFO queue knows only
its order): what the preempted leave is not for others, or they would be preempted again and again. A more important
workload still comes before it: otherwise the preemptor would start, only to be preempted by that one. In Kueue the
preemptor comes before all; that is a setting (``queue.waitingPreemptorsFirst``, docs/decisions/0009-priority-first.md).

Who waits in one queue, in order, and who of them want the same.

Thousands may wait, and most of them want what somebody before them wants, too. If that one is refused they all are. So
a pass asks the first of each *shape*, and walks past nobody.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from datetime import UTC, datetime
from heapq import heappop, heappush, merge
from typing import Final, Literal, NamedTuple

import msgspec

from growth.api.queue.workload import (
    EVICTED,
    PODS_READY_TIMEOUT,
    PREEMPTED,
    QUOTA_RESERVED,
    WAITS_FOR_PREEMPTED,
    Workload,
)
from growth.decide.queue.quota_holders import Key

Strategy = Literal["Eviction", "Creation"]
Order = tuple[int, datetime, str]


class QueuePosition(NamedTuple):
    """Where it stands in the line of its queue: what to sort by."""

    rank: int
    """Before which no preemptor comes: one for each priority, or one for all."""
    is_behind_preemptors: bool
    """Whether those of its rank for which others were preempted come before it; it is False for these."""
    order: Order


_NEVER: Final = datetime.min.replace(tzinfo=UTC)


def queued_since(workload: Workload, strategy: Strategy) -> datetime:
    """The instant that decides its place among those of the same priority."""
    evicted = workload.condition(EVICTED)
    if (
        strategy == "Eviction"
        and evicted is not None
        and evicted.status == "True"
        and evicted.reason == PODS_READY_TIMEOUT
        and evicted.last_transition_time is not None
    ):
        return evicted.last_transition_time
    return workload.metadata.creation_timestamp or _NEVER


def order_of(workload: Workload, strategy: Strategy) -> Order:
    """What to sort by."""
    return -workload.priority, queued_since(workload, strategy), workload.metadata.uid


def waits_for_preempted(workload: Workload) -> bool:
    """Whether others were sent back for it: read from what was said of it, so that a restart forgets nothing."""
    reserved = workload.condition(QUOTA_RESERVED)
    return reserved is not None and (reserved.status, reserved.reason) == ("False", WAITS_FOR_PREEMPTED)


def was_sent_back(workload: Workload) -> bool:
    """Whether it had to go for somebody else, and has not been let in since."""
    evicted = workload.condition(EVICTED)
    return evicted is not None and (evicted.status, evicted.reason) == ("True", PREEMPTED)


def place_of(workload: Workload, order: Order, *, is_strict: bool, preemptors_first: bool) -> QueuePosition:
    """Where it stands in the line of its queue."""
    rank = 0 if preemptors_first else order[0]
    return QueuePosition(rank, is_strict or not waits_for_preempted(workload), order)


Waiter = tuple[QueuePosition, Key]
"""Somebody with its place."""


class EquivalentWorkloads(msgspec.Struct, frozen=True):
    """Those of one shape, in order."""

    shape: Hashable
    waiters: list[Waiter]
    edition: object
    """That of the PendingQueue that may change ``waiters``."""


class PendingQueue:
    """One queue's."""

    def __init__(self) -> None:
        self.fronts: list[EquivalentWorkloads] = []
        """By the first of each."""
        self.preemptors: list[Waiter] = []
        """Those that wait for others to go, in order, where that decides on their place."""
        self._alike: dict[Hashable, EquivalentWorkloads] = {}
        self._edition = object()

    def copy(self) -> "PendingQueue":
        """Return one that can be changed while this one stays. Of the workloads only those are copied that are alike
        to one which comes or goes."""
        other = PendingQueue()
        other.fronts, other.preemptors, other._alike = list(self.fronts), list(self.preemptors), dict(self._alike)
        return other

    def _own(self, alike: EquivalentWorkloads) -> EquivalentWorkloads:
        """Return the same workloads in a list that this queue may change."""
        if alike.edition is self._edition:
            return alike
        own = EquivalentWorkloads(alike.shape, list(alike.waiters), self._edition)
        self._alike[alike.shape] = own
        self.fronts[bisect_left(self.fronts, alike.waiters[0], key=_first)] = own
        return own

    def __iter__(self) -> Iterator[Waiter]:
        return merge(*(one.waiters for one in self.fronts))

    def has_preemptor_from(self, waiter: Waiter) -> bool:
        """Whether it, or one that stands behind it, waits for others to go."""
        return bool(self.preemptors) and waiter <= self.preemptors[-1]

    def add(self, waiter: Waiter, shape: Hashable) -> Hashable:
        """It waits here now; its shape as all others have it who want the same, so that it is kept once."""
        alike = self._alike.get(shape)
        if alike is None:
            alike = self._alike[shape] = EquivalentWorkloads(shape, [], self._edition)
        alike = self._own(alike)
        is_first = not alike.waiters or waiter < alike.waiters[0]
        if is_first and alike.waiters:
            del self.fronts[bisect_left(self.fronts, alike.waiters[0], key=_first)]
        insort(alike.waiters, waiter)
        if is_first:
            insort(self.fronts, alike, key=_first)
        if not waiter[0].is_behind_preemptors:
            insort(self.preemptors, waiter)
        return alike.shape

    def remove(self, waiter: Waiter, shape: Hashable) -> None:
        """It does not wait here any more."""
        alike = self._own(self._alike[shape])
        is_first = alike.waiters[0] == waiter
        if is_first:
            del self.fronts[bisect_left(self.fronts, waiter, key=_first)]
        del alike.waiters[bisect_left(alike.waiters, waiter)]
        if not waiter[0].is_behind_preemptors:
            del self.preemptors[bisect_left(self.preemptors, waiter)]
        if not alike.waiters:
            del self._alike[shape]
        elif is_first:
            insort(self.fronts, alike, key=_first)


def _first(alike: EquivalentWorkloads) -> Waiter:
    return alike.waiters[0]


class QueueIterator:
    """One way through a line from its front, which does not change meanwhile."""

    def __init__(self, line: PendingQueue) -> None:
        self._fronts, self._shapes_seen = line.fronts, 0
        self._later: list[tuple[Waiter, int, EquivalentWorkloads]] = []
        self._now: tuple[Waiter, int, EquivalentWorkloads] | None = None
        self.skip()

    @property
    def head(self) -> tuple[Waiter, Hashable] | None:
        """Whose turn it is, and its shape; None at the end."""
        return (self._now[0], self._now[2].shape) if self._now is not None else None

    def step(self) -> None:
        """The next one."""
        if self._now is not None:
            _, number, alike = self._now
            if number + 1 < len(alike.waiters):
                heappush(self._later, (alike.waiters[number + 1], number + 1, alike))
        self.skip()

    def skip(self) -> None:
        """The next one who wants something else."""
        front = self._fronts[self._shapes_seen] if self._shapes_seen < len(self._fronts) else None
        if front is not None and (not self._later or front.waiters[0] < self._later[0][0]):
            self._shapes_seen += 1
            self._now = (front.waiters[0], 0, front)
        else:
            self._now = heappop(self._later) if self._later else None
