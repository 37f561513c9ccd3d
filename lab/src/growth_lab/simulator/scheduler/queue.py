"""The queue: who is asked next, and who waits for what. kube-scheduler 1.36 with its defaults.

- Active: the most important first, then who waits longest since it came or was last refused.
- Backing off: woken before its time (1, 2, 4, 8, 10 s after the last refusal) and asked as soon as nobody is active.
- After an error (there is no node at all) nothing shortens the backoff.
- Parked: refused, and asked again when a hint says so or after five minutes, looked at every thirty seconds.
- Gated: nobody asks as long as the pod has scheduling gates.

Time is cut into whole seconds for backing off, as the scheduler does it. Parked pods that no filter can tell apart are
kept together, so that a hint is asked once for all of them.
"""

import heapq
import math
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from growth.api.pod import Pod
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.timings import Timings

_MOMENT: Final = 0.01

GroupKey = tuple[int, int, str, tuple[str, ...], tuple[str, ...], str]
_Order = tuple[float, ...]


class Entry:
    """A pod that waits for a node."""

    __slots__ = ("errors", "filters", "group", "is_gated", "moves", "pod", "refusals", "since")

    def __init__(self, pod: Pod, since: float) -> None:
        self.pod = pod
        self.since = since
        self.refusals = 0
        self.errors = 0
        self.filters: tuple[str, ...] = ()
        self.group: GroupKey | None = None
        self.is_gated = False
        self.moves = 0  # so that places in heaps and lists which it has left are recognised


class Waiting(NamedTuple):
    """A pod that waits, for tests and for people who ask why nothing happens."""

    namespace: str
    name: str
    since: float
    """When it came or was last asked."""
    refusals: int
    errors: int
    """How often in a row there was an error."""
    filters: tuple[str, ...]
    """Those that refused it the last time."""


class Queue:
    """All pods that the scheduler still has to place. ``is_due`` is called when somebody can be asked."""

    def __init__(self, clock: Clock, timings: Timings, is_due: Callable[[], None]) -> None:
        self._clock, self._timings, self._is_due = clock, timings, is_due
        self._entries: dict[str, Entry] = {}
        self._active: list[tuple[_Order, int, Entry]] = []
        self._backing_off: list[tuple[_Order, int, Entry]] = []
        self._parked: dict[GroupKey, dict[str, Entry]] = {}
        self._flushes: dict[int, list[tuple[int, Entry]]] = {}
        self._retries: dict[float, list[tuple[int, Entry]]] = {}
        self._number = 0
        self._began = clock.seconds()

    def __contains__(self, uid: str) -> bool:
        return uid in self._entries

    def waiting(self) -> Iterator[Waiting]:
        """Everybody, in the order in which they came."""
        for entry in self._entries.values():
            meta = entry.pod.metadata
            yield Waiting(meta.namespace, meta.name, entry.since, entry.refusals, entry.errors, entry.filters)

    # Coming and going

    def add(self, pod: Pod) -> None:
        """A pod came, or must be asked again."""
        entry = self._entries[pod.metadata.uid] = Entry(pod, self._clock.seconds())
        self._activate(entry)

    def remove(self, uid: str) -> None:
        """A pod went, or has its node."""
        entry = self._entries.pop(uid, None)
        if entry is not None:
            self._move(entry)

    def update(self, pod: Pod, is_worth: Callable[[str], bool]) -> None:
        """A waiting pod changed; ``is_worth`` asks the filters that refused it whether that may help."""
        entry = self._entries.get(pod.metadata.uid)
        if entry is None:
            self.add(pod)
            return
        entry.pod = pod
        if entry.is_gated:
            if not pod.spec.scheduling_gates:
                self._activate(entry)
            return
        if entry.group is None:
            return
        if any(map(is_worth, entry.filters)):
            self._wake(entry)
        else:
            self._leave_group(entry)
            self._join_group(entry)

    # Asking

    def pop(self) -> Entry | None:
        """Whom to ask next, if anybody can be asked."""
        for heap in (self._active, self._backing_off):
            while heap:
                _, moves, entry = heapq.heappop(heap)
                if entry.moves == moves:
                    self._move(entry)
                    return entry
        return None

    def refuse(self, entry: Entry, filters: tuple[str, ...]) -> None:
        """The pod fits nowhere; these filters said so. Without any it was an error."""
        entry.since = self._clock.seconds()
        entry.filters = filters
        self._move(entry)
        if not filters:
            entry.errors += 1
            self._retry_later(entry)
            return
        entry.errors = 0
        entry.refusals += 1
        self._join_group(entry)
        # The check comes every thirty seconds and takes who has waited for more than five minutes by then.
        waited = entry.since - self._began + self._timings.scheduler_flush_after
        tick = math.floor(waited / self._timings.scheduler_flush_period) + 1
        if tick not in self._flushes:
            self._flushes[tick] = []
            due = self._began + tick * self._timings.scheduler_flush_period
            self._clock.after(due - self._clock.seconds(), lambda: self._flush(tick))
        self._flushes[tick].append((entry.moves, entry))

    def fail(self, pod: Pod) -> None:
        """A pod that had its place already lost it by an error."""
        entry = self._entries[pod.metadata.uid] = Entry(pod, self._clock.seconds())
        self.refuse(entry, ())

    def wake(self, hint: Callable[[str, Pod], bool]) -> None:
        """Something happened: whoever was refused by a filter that gives the hint is asked again."""
        for group in list(self._parked.values()):
            example = next(iter(group.values()))
            if any(hint(name, example.pod) for name in example.filters):
                for entry in list(group.values()):
                    self._wake(entry)

    # Moving

    def _wake(self, entry: Entry) -> None:
        if entry.since >= self._clock.seconds():
            # It was asked at this very instant. Asking takes the real one a moment, too, and pods that wake each other
            # in turns must not stop the clock.
            self._move(entry)
            moves = entry.moves
            self._clock.after(_MOMENT, lambda: self._wake(entry) if entry.moves == moves else None)
            return
        expires = math.floor(entry.since + self._backoff(entry.refusals))
        if expires < math.floor(self._clock.seconds()):
            self._activate(entry)
            return
        self._move(entry)
        heapq.heappush(self._backing_off, ((expires, *self._order(entry)), entry.moves, entry))
        self._is_due()

    def _activate(self, entry: Entry) -> None:
        self._move(entry)
        entry.is_gated = bool(entry.pod.spec.scheduling_gates)
        if not entry.is_gated:
            heapq.heappush(self._active, (self._order(entry), entry.moves, entry))
            self._is_due()

    def _retry_later(self, entry: Entry) -> None:
        """Whole seconds are emptied together, each when it is over."""
        due = math.floor(entry.since + self._backoff(entry.errors)) + 1.0
        if due not in self._retries:
            self._retries[due] = []
            self._clock.after(due - self._clock.seconds(), lambda: self._retry(due))
        self._retries[due].append((entry.moves, entry))

    def _retry(self, due: float) -> None:
        for moves, entry in self._retries.pop(due):
            if entry.moves == moves:
                self._activate(entry)

    def _flush(self, tick: int) -> None:
        for moves, entry in self._flushes.pop(tick):
            if entry.moves == moves:
                self._wake(entry)

    def _backoff(self, times: int) -> float:
        first, most = self._timings.scheduler_initial_backoff, self._timings.scheduler_max_backoff
        # Doubling more often than this is beyond any maximum, and beyond what a float can hold.
        return min(first * 2 ** min(times - 1, 60), most)

    def _order(self, entry: Entry) -> _Order:
        self._number += 1
        return (-entry.pod.spec.priority, entry.since, self._number)

    def _move(self, entry: Entry) -> None:
        entry.moves += 1
        self._leave_group(entry)

    def _join_group(self, entry: Entry) -> None:
        pod = entry.pod
        meta = pod.metadata
        # Claims may be named after the pod, so pods with volumes are each their own kind.
        own = meta.uid if pod.spec.volumes else ""
        entry.group = (id(pod.spec), id(meta.labels), meta.namespace, pod.keys, entry.filters, own)
        self._parked.setdefault(entry.group, {})[meta.uid] = entry

    def _leave_group(self, entry: Entry) -> None:
        if entry.group is None:
            return
        group = self._parked[entry.group]
        del group[entry.pod.metadata.uid]
        if not group:
            del self._parked[entry.group]
        entry.group = None
