"""Ctrl-C ends a command at once, even if its event loop is just about to wait.

``asyncio.run`` cancels its task from the signal handler of the interpreter. A signal that arrives between the last
moment at which that handler runs and the system call that waits is seen only when the wait ends, perhaps a time-out
later. A wake-up descriptor closes the gap: the signal itself ends the wait.
"""

import asyncio
import signal
import socket
import threading
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


def run_interruptible(work: Coroutine[Any, Any, T]) -> T:
    """Run ``work`` as ``asyncio.run`` does. Raises KeyboardInterrupt as soon as somebody presses Ctrl-C."""

    async def awake() -> T:
        with _woken_by_signals(asyncio.get_running_loop()):
            return await work

    return asyncio.run(awake())


@contextmanager
def _woken_by_signals(loop: asyncio.AbstractEventLoop) -> Generator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are delivered to the main thread alone
        return
    here, there = socket.socketpair()
    with here, there:
        here.settimeout(0)
        there.settimeout(0)
        loop.add_reader(here, here.recv, 4096)
        before = signal.set_wakeup_fd(there.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(here)
