"""The wall clock, and whether it can be trusted: it is set by people and by daemons, and it goes on while we sleep.

What is written in objects carries wall-clock time, so a clock that jumps an hour ahead would make every machine that is
booting look an hour late. Compared with a clock that only ever runs, a jump shows.

What Python's cycle collector need not look at.

The World is a million values without a single cycle: reference counts free them. The collector would still walk through
all of them again and again, an eighth of what a pod event costs. So what is there after the first reading is
set aside for good, and new objects are looked through in larger lots.

Thinking: what takes longer than a step of the event loop runs on a thread, and the loop hardly notices.

Deciders are pure and know nothing of threads, so whoever runs them sees to it that others get their turn. Two things
would keep the loop waiting while a thread computes. Python's cycle collector stops all threads, for 50 ms and more when
it looks through a large World, and a computation that makes a million tuples calls it again and again: it rests. And a
thread that computes hands over only every 5 ms: here it is asked to ten times as often.

What remains is a single call that does not hand over at all, such as sorting a long list. ``python -m bench.pack
--lateness`` shows the longest.

What the process that runs us lends us: a name, the time, and a place to think.

A virtual cluster lends other ones, and runs the same code.
"""

import asyncio
import gc
import logging
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, Protocol, TypeVar

import msgspec

_LOG: Final = logging.getLogger(__name__)

# Clocks that are kept in step are moved by milliseconds at a time.
_JUMP_SECONDS: Final = 5.0
# What takes only seconds, as a proof does, minds also this; less may be a pause between two looks at two clocks.
_SLIP_SECONDS: Final = 0.5


class WallClock:
    """``steady_since`` is the instant, by the clock as it goes now, at which the last jump was seen; ``even_since``
    the same for the last one that was seen at all, however small."""

    def __init__(self, now: Callable[[], datetime], seconds: Callable[[], float]) -> None:
        self._now, self._seconds = now, seconds
        self._last = now(), seconds()
        self.steady_since: datetime | None = None
        self.even_since: datetime | None = None

    def read(self) -> datetime:
        """The time, once more compared with the time that really passed."""
        now, seconds = self._now(), self._seconds()
        before = self._last[0]
        jumped = (now - before).total_seconds() - (seconds - self._last[1])
        self._last = now, seconds
        if abs(jumped) > _SLIP_SECONDS:
            self.even_since = max(now, before)  # what was read before a slip back must not seem to come after it
        if abs(jumped) > _JUMP_SECONDS:
            self.steady_since = self.even_since = now
            words = "the wall clock jumped by %+.0f s; what was written before counts from now on"
            _LOG.warning(words, jumped, extra={"facts": {"jumped_seconds": round(jumped)}})
        return now


# Python's own is 700, meant for programs that are small; a lot of this size is looked through in about a millisecond.
_LOT: Final = 20_000
# So many lots before what survived one is looked through again, and so many of those before everything is. What came
# since the beginning, in a cluster that began small, may be all there is; and cycles of ours die young or not at all.
_LOTS: Final = (20, 100)


def spare_the_collector() -> None:
    """Call once the World is complete. Cycles that exist then are collected first, later ones as ever."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_LOT, *_LOTS)


T = TypeVar("T")

_TURN_SECONDS: Final = 0.0005
# One thread for all: two thoughts at once would take turns with each other and be done no sooner, and the loop would
# wait for both.
_WORKER: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="thinking")


async def compute(work: Callable[[], T]) -> T:
    """What ``work`` returns or raises, computed on the thread; thoughts take place one after the other.

    ``work`` must own what it reads, because the World changes meanwhile (``Stage.copy_of`` gives such a copy).

    A thread cannot be interrupted. Cancelling ends the waiting at once; a thought that has not begun never will, and
    one that has goes on to its end, unheard, before the next begins. So what it was given stays its own until then.
    """

    def undisturbed_work() -> T:
        with undisturbed():
            return work()

    return await asyncio.get_running_loop().run_in_executor(_WORKER, undisturbed_work)


@contextmanager
def undisturbed() -> Generator[None]:
    """Without collections and with short turns, in the whole process, until the last who asked for it is done.

    Nothing leaks: memory is freed by reference counts as ever, and cycles are found when the collector is back.
    """
    _STILLNESS.begin()
    try:
        yield
    finally:
        _STILLNESS.end()


class _Stillness:
    """Who is first notes how things were, who is last puts them back; for the process, because the settings are its."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thinkers = 0
        self._collects = True
        self._turn_seconds = _TURN_SECONDS

    def begin(self) -> None:
        with self._lock:
            if not self._thinkers:
                self._collects, self._turn_seconds = gc.isenabled(), sys.getswitchinterval()
                gc.disable()
                sys.setswitchinterval(_TURN_SECONDS)
            self._thinkers += 1

    def end(self) -> None:
        with self._lock:
            self._thinkers -= 1
            if not self._thinkers:
                sys.setswitchinterval(self._turn_seconds)
                if self._collects:
                    gc.enable()


_STILLNESS: Final = _Stillness()


class Compute(Protocol):
    """Where long thoughts are thought: what the work returns or raises."""

    def __call__(self, work: Callable[[], T]) -> Awaitable[T]:
        """Think, and let others go on meanwhile."""
        ...


class Runtime(msgspec.Struct, frozen=True):
    """``identity`` belongs to this run alone; ``spare`` is called once the World is complete."""

    identity: str
    now: Callable[[], datetime]
    compute: Compute
    spare: Callable[[], None]


def this_process(identity: str) -> Runtime:
    """The wall clock, the thinking thread and the collector of the process that we are."""
    return Runtime(identity, lambda: datetime.now(UTC), compute, spare_the_collector)


def played(identity: str, now: Callable[[], datetime]) -> Runtime:
    """On virtual time: thoughts are thought in place, because a thread would live on real time."""

    async def think_here(work: Callable[[], T]) -> T:
        return work()

    return Runtime(identity, now, think_here, lambda: None)
