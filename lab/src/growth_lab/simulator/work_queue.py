"""What a controller still has to look at: each thing once, a little after the first reason to look.

The pause is what real controllers need to hear and to act; here it also makes one look out of a burst of changes.
"""

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from growth_lab.simulator.clock import Clock

Item = TypeVar("Item")


class WorkQueue(Generic[Item]):
    """Calls ``work`` with each item that was added, in order of addition."""

    def __init__(self, clock: Clock, delay_seconds: float, work: Callable[[Item], None]) -> None:
        self._clock, self._delay, self._work = clock, delay_seconds, work
        self._waiting: dict[Item, None] = {}
        self._later: dict[Item, asyncio.TimerHandle] = {}

    def add(self, item: Item) -> None:
        """Look at it soon."""
        if not self._waiting:
            self._clock.after(self._delay, self._run)
        self._waiting[item] = None

    def add_after(self, item: Item, seconds: float) -> None:
        """Look at it then, even if nothing happens; an earlier appointment stays, a later one is moved."""
        known = self._later.get(item)
        due = self._clock.seconds() + seconds
        if known is not None and not known.cancelled():
            if known.when() <= due:
                return
            known.cancel()
        self._later[item] = self._clock.after(seconds, lambda: self._is_due(item))

    def _is_due(self, item: Item) -> None:
        del self._later[item]
        self.add(item)

    def _run(self) -> None:
        items, self._waiting = self._waiting, {}
        for item in items:
            self._work(item)
