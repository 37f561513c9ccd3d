"""A signal wakes the event loop of a command, and leaves nothing behind when the command ends."""

import asyncio
import os
import signal
import threading

import pytest

from growth.cli.client_session import run_interruptible


def wakeup_descriptor() -> int:
    """The one that is set now."""
    found = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(found)
    return found


def test_a_signal_makes_a_wait_end_and_nothing_stays_behind() -> None:
    before = wakeup_descriptor()

    async def work() -> bool:
        return wakeup_descriptor() != before

    assert run_interruptible(work())
    assert wakeup_descriptor() == before


def test_ctrl_c_ends_what_would_wait_for_long() -> None:
    async def work() -> None:
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGINT)
        await asyncio.sleep(600)

    before = wakeup_descriptor()
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert wakeup_descriptor() == before


def test_a_thread_that_gets_no_signals_runs_it_too() -> None:
    async def work() -> int:
        return 7

    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(run_interruptible(work())))
    thread.start()
    thread.join()
    assert found == [7]
