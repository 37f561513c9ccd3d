"""Ctrl-C ends a command at once, even if its event loop is just about to wait.

``asyncio.run`` cancels its task from the signal handler of the interpreter. A signal that arrives between the last
moment at which that handler runs and the system call that waits is seen only when the wait ends, perhaps a time-out
later. A wake-up descriptor closes the gap: the signal itself ends the wait.

One question to the cluster, for commands that ask and end.
"""

import asyncio
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from growth.api.settings.model import KubeSettings
from growth.cli.errors import UsageError, sentence_for
from growth.kube.access import find_access
from growth.kube.client import Client, connect
from growth.kube.errors import KubeError

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


def asking(kube: KubeSettings, ask: Callable[[Client], Awaitable[T]]) -> T:
    """What comes of it, or the sentence that says why nothing does."""

    async def connected() -> T:
        access = find_access(Path(kube.kubeconfig) if kube.kubeconfig else None, kube.context or None)
        async with connect(access, max_concurrent_requests=kube.max_concurrent_requests) as client:
            return await ask(client)

    try:
        return run_interruptible(connected())
    except KubeError as error:
        raise UsageError(sentence_for(error)) from error
