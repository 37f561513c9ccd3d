"""SIGTERM and SIGINT: the first asks for a clean end, the second means it.

Handlers are the interpreter's, not the event loop's: they run even while a step of the loop takes long, and the bound
on the clean end holds even if the loop is frozen.
"""

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable, Coroutine
from types import FrameType
from typing import Any, Final

_LOG: Final = logging.getLogger(__name__)

STOP_SECONDS: Final = 25.0
"""A clean end takes no longer. Kubernetes kills a pod 30 s after SIGTERM, and we would rather say why ourselves."""
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


async def run_until_stopped(
    work: Coroutine[Any, Any, None], seconds: float = STOP_SECONDS, *, exit_now: Callable[[int], object] = os._exit
) -> None:
    """Run it to its end, or until a signal cancels it; then it has so many seconds to end.

    Call it on the main thread, where Python delivers signals.
    """
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    late = threading.Timer(seconds, _too_late, (seconds, exit_now))
    late.daemon = True
    is_stopping = False

    def stop(number: int, _: FrameType | None) -> None:
        nonlocal is_stopping
        if is_stopping:
            exit_now(128 + number)
            return
        is_stopping = True
        late.start()
        loop.call_soon_threadsafe(_cancel, task, signal.Signals(number).name)

    before = {number: signal.signal(number, stop) for number in _SIGNALS}
    try:
        await asyncio.wait({task})
    finally:
        late.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)
    if not task.cancelled():
        task.result()


def _cancel(task: asyncio.Future[None], name: str) -> None:
    _LOG.info("stopping: got %s; a second signal ends at once", name)
    task.cancel()


def _too_late(seconds: float, exit_now: Callable[[int], object]) -> None:
    _LOG.error("could not stop in %.0f s, ending as it is; the lease runs out by itself", seconds)
    exit_now(1)
