"""Thinking: what takes longer than a step of the event loop runs on a thread, and the loop hardly notices.

Deciders are pure and know nothing of threads, so whoever runs them sees to it that others get their turn. Two things
would keep the loop waiting while a thread computes. Python's cycle collector stops all threads, for 50 ms and more when
it looks through a large World, and a computation that makes a million tuples calls it again and again: it rests. And a
thread that computes hands over only every 5 ms: here it is asked to ten times as often.

What remains is a single call that does not hand over at all, such as sorting a long list. ``python -m bench.pack
--lateness`` shows the longest.
"""

import asyncio
import gc
import sys
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

_TURN_SECONDS: Final = 0.0005
# One thread for all: two thoughts at once would take turns with each other and be done no sooner, and the loop would
# wait for both.
_WORKER: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="thinking")


async def think(work: Callable[[], T]) -> T:
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
