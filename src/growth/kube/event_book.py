"""Which series is to be written next: bounded in memory, bounded in writes per object, and never in the way.

No clock and no network: readings come as arguments, the book answers with values. Three bounds, and what gives way:
- series kept: the longest silent one is forgotten, which at worst costs an Event that continues an older one;
- series waiting to be written: the oldest unwritten repeats are dropped, and only if there are none, an Event;
- writes about one object: they wait for its allowance, and are summed meanwhile.
Drops are counted, never silent.
"""

import heapq
import itertools
from collections import OrderedDict
from typing import Final

import msgspec

from growth.api.core import ObjectReference
from growth.kube.event_series import Key, Occurrence, Series, begun, repeated, written

WAITING: Final = 1000
"""How many series may wait to be written; client-go's maxQueuedEvents."""
KEPT: Final = 4096
"""How many series, and how many objects' allowances, are remembered; client-go's maxLruCacheEntries."""
BURST: Final = 25
"""Writes about one object that need not wait; client-go's defaultSpamBurst."""
REFILL_SECONDS: Final = 300.0
"""Then one per so many seconds, because some things are unhealthy for ever; client-go's defaultSpamQPS."""


class _Allowance(msgspec.Struct, frozen=True):
    """How many writes about one object were free at a reading of the clock."""

    left: float = float(BURST)
    at: float = 0.0

    def now(self, clock: float) -> float:
        return min(float(BURST), self.left + (clock - self.at) / REFILL_SECONDS)


class EventBook:
    """All series that go on, by key. Whoever takes one to write it must say what became of it."""

    def __init__(self) -> None:
        self.dropped = 0
        """Occurrences that no Event will ever tell of."""
        self._series: OrderedDict[Key, Series] = OrderedDict()  # the longest silent one first
        self._new: dict[Key, None] = {}  # waiting for their first write, the oldest first
        self._repeats: dict[Key, None] = {}  # waiting for another one
        self._taken: set[Key] = set()
        self._agenda: list[tuple[float, int, Key]] = []  # may hold entries that are no longer true
        self._allowances: OrderedDict[ObjectReference, _Allowance] = OrderedDict()
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._series)

    def note(self, occurrence: Occurrence, clock: float) -> bool:
        """Take an occurrence in; True if there is now something to write that there was not before."""
        key = occurrence.key
        before = self._series.pop(key, None)
        is_new = before is None or before.is_finished(clock)
        series = begun(occurrence, clock) if before is None or is_new else repeated(before, occurrence, clock)
        self._series[key] = series
        self.dropped += series.is_refused
        if not series.has_news or key in self._taken or self._is_waiting(key):
            return False
        self._make_room(clock)
        self._wait(series)
        return True

    def next_at(self) -> float | None:
        """When there is something to write; None if there is nothing."""
        while self._agenda:
            due_at, _, key = self._agenda[0]
            if self._is_waiting(key) and self._series[key].due_at == due_at:
                return due_at
            heapq.heappop(self._agenda)
        return None

    def take(self, clock: float) -> Series | None:
        """The next series to write, paid from its object's allowance; None if none is due."""
        while (due_at := self.next_at()) is not None and due_at <= clock:
            _, _, key = heapq.heappop(self._agenda)
            series = self._series[key]
            left = self._allowances.get(key.regarding, _Allowance(at=clock)).now(clock)
            if left < 1:
                self._wait(msgspec.structs.replace(series, due_at=clock + (1 - left) * REFILL_SECONDS))
                continue
            self._allow(key.regarding, left - 1, clock)
            self._no_longer_waits(key)
            self._taken.add(key)
            return series
        return None

    def wrote(self, taken: Series, stored: Series, clock: float) -> None:
        """The server has ``stored``, made of ``taken``; what was noted meanwhile waits for the next interval."""
        current = self._give_back(taken)
        count = stored.count + current.count - taken.count
        merged = msgspec.structs.replace(stored, count=count, latest=current.latest, seen_at=current.seen_at)
        self._settle(written(merged, stored.count, clock))

    def failed(self, taken: Series, retry_at: float, clock: float) -> None:
        """It was not written, and may be later. That costs the object nothing: the server is to blame."""
        current = self._give_back(taken)
        regarding = taken.first.key.regarding
        self._allow(regarding, self._allowances.get(regarding, _Allowance(at=clock)).now(clock) + 1, clock)
        self._settle(msgspec.structs.replace(current, due_at=retry_at))

    def refused(self, taken: Series) -> None:
        """The server will never have it; repeats are dropped until the series is over."""
        current = self._give_back(taken)
        self.dropped += current.untold
        self._settle(msgspec.structs.replace(current, is_refused=True))

    def _give_back(self, taken: Series) -> Series:
        self._taken.discard(taken.first.key)
        return self._series[taken.first.key]  # what is taken has news, and what has news is kept

    def _settle(self, series: Series) -> None:
        self._series[series.first.key] = series
        if series.has_news:
            self._wait(series)

    def _is_waiting(self, key: Key) -> bool:
        return key in self._new or key in self._repeats

    def _no_longer_waits(self, key: Key) -> None:
        self._new.pop(key, None)
        self._repeats.pop(key, None)

    def _wait(self, series: Series) -> None:
        key = series.first.key
        self._series[key] = series
        (self._repeats if series.stored else self._new).setdefault(key)
        heapq.heappush(self._agenda, (series.due_at, next(self._order), key))

    def _allow(self, regarding: ObjectReference, left: float, clock: float) -> None:
        self._allowances[regarding] = _Allowance(left, clock)
        self._allowances.move_to_end(regarding)
        if len(self._allowances) > KEPT:
            self._allowances.popitem(last=False)

    def _make_room(self, clock: float) -> None:
        if self._repeats and len(self._new) + len(self._repeats) >= WAITING:
            key = next(iter(self._repeats))
            del self._repeats[key]
            series = self._series[key]
            self.dropped += series.untold
            self._series[key] = msgspec.structs.replace(series, count=series.stored)
        elif len(self._new) >= WAITING:
            key = next(iter(self._new))
            del self._new[key]
            self.dropped += self._series.pop(key).untold
        oldest, series = next(iter(self._series.items()))
        if series.is_finished(clock):
            del self._series[oldest]
        if len(self._series) > KEPT:
            del self._series[next(key for key, kept in self._series.items() if not kept.has_news)]
