"""Signals: the first asks, the second means it, and a clean end has a bound."""

import asyncio
import os
import signal
import threading
import time

import pytest

from growth.run.signals import run_until_stopped


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_the_first_signal_lets_the_work_end_by_itself(number: signal.Signals) -> None:
    ended: list[str] = []

    async def work() -> None:
        os.kill(os.getpid(), number)
        try:
            await asyncio.sleep(30)
        finally:
            await asyncio.sleep(0.01)
            ended.append("cleanly")

    before = signal.getsignal(number)
    await run_until_stopped(work())
    assert ended == ["cleanly"]
    assert signal.getsignal(number) is before


async def test_the_second_signal_ends_at_once_even_if_the_loop_is_frozen() -> None:
    exits: list[int] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.sleep(30)
        finally:
            deadline = time.monotonic() + 30
            while not exits and time.monotonic() < deadline:  # a step that does not give the loop back
                os.kill(os.getpid(), signal.SIGTERM)

    await run_until_stopped(work(), exit_now=exits.append)
    assert exits[0] == 128 + signal.SIGTERM


async def test_a_clean_end_that_takes_too_long_is_cut_short() -> None:
    exits, cut = list[int](), threading.Event()

    def exit_now(code: int) -> None:
        exits.append(code)
        cut.set()

    async def work() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        try:
            await asyncio.sleep(30)
        finally:
            cut.wait(30)

    await run_until_stopped(work(), 0.05, exit_now=exit_now)
    assert exits == [1]


async def test_work_that_ends_or_fails_by_itself_says_so() -> None:
    async def fine() -> None:
        return

    async def failing() -> None:
        raise LookupError("mine")

    await run_until_stopped(fine())
    with pytest.raises(LookupError, match="mine"):
        await run_until_stopped(failing())
