"""Who waits in one queue, in order, and who of them want the same.

Thousands may wait, and most of them want what somebody before them wants, too. If that one is refused they all are. So
a pass asks the first of each *shape*, and walks past nobody.
"""

from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from heapq import heappop, heappush, merge

import msgspec

from growth.decide.queue.holders import Key
from growth.decide.queue.ordering import Place

Waiter = tuple[Place, Key]
"""Somebody with its place."""


class Alike(msgspec.Struct, frozen=True):
    """Those of one shape, in order."""

    shape: Hashable
    waiters: list[Waiter]


class Line:
    """One queue's."""

    def __init__(self) -> None:
        self.fronts: list[Alike] = []
        """By the first of each."""
        self.preemptors: list[Waiter] = []
        """Those that wait for others to go, in order, where that decides on their place."""
        self._alike: dict[Hashable, Alike] = {}

    def __iter__(self) -> Iterator[Waiter]:
        return merge(*(one.waiters for one in self.fronts))

    def has_preemptor_from(self, waiter: Waiter) -> bool:
        """Whether it, or one that stands behind it, waits for others to go."""
        return bool(self.preemptors) and waiter <= self.preemptors[-1]

    def add(self, waiter: Waiter, shape: Hashable) -> Hashable:
        """It waits here now; its shape as all others have it who want the same, so that it is kept once."""
        alike = self._alike.get(shape)
        if alike is None:
            alike = self._alike[shape] = Alike(shape, [])
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
        alike = self._alike[shape]
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


def _first(alike: Alike) -> Waiter:
    return alike.waiters[0]


class Walk:
    """One way through a line from its front, which does not change meanwhile."""

    def __init__(self, line: Line) -> None:
        self._fronts, self._shapes_seen = line.fronts, 0
        self._later: list[tuple[Waiter, int, Alike]] = []
        self._now: tuple[Waiter, int, Alike] | None = None
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
