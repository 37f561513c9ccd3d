"""How late the event loop is while a thread thinks: the longest that anybody on it had to wait for a turn."""

import asyncio
import time
from collections.abc import Callable

from growth.run.runtime import compute

_TICK_SECONDS = 0.001
# The collector comes back when the thought is done and looks through what was made meanwhile: that counts, too.
_TICKS_AFTER = 20


async def lateness_ms(work: Callable[[], object], runs: int) -> float:
    """By how many milliseconds a ticker on the loop is late at worst, in the most punctual of several runs.

    What ``work`` does is the same each time, so a call that holds the lock is there in every run; what is not there in
    every run comes from others on this machine. For the same reason no more lateness counts than this process used CPU
    time meanwhile.
    """
    return min([await _worst(work) for _ in range(runs)]) * 1000


async def _worst(work: Callable[[], object]) -> float:
    thought = asyncio.create_task(compute(work))
    worst, after = 0.0, 0
    while after < _TICKS_AFTER:
        began, computed = time.perf_counter(), time.process_time()
        await asyncio.sleep(_TICK_SECONDS)
        late = time.perf_counter() - began - _TICK_SECONDS
        worst = max(worst, min(late, time.process_time() - computed))
        after += thought.done()
    await thought
    return worst
