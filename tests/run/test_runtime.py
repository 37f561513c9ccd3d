"""Thinking on a thread: the loop goes on, the collector rests and comes back, whatever becomes of the thought."""

import asyncio
import gc
import sys
import threading
from collections.abc import Generator

import pytest

from growth.run.runtime import compute, undisturbed


@pytest.fixture(autouse=True)
def collector_on() -> Generator[None]:
    """Every test begins and must end with a collector that works and turns as they were."""
    assert gc.isenabled()
    turn = sys.getswitchinterval()
    yield
    was_on, turn_after = gc.isenabled(), sys.getswitchinterval()
    gc.enable()
    sys.setswitchinterval(turn)
    assert was_on
    assert turn_after == turn


def seen() -> tuple[bool, float]:
    """Whether the collector works, and how long a turn is."""
    return gc.isenabled(), sys.getswitchinterval()


QUIET = (False, pytest.approx(0.0005))


class Thought:
    """A thought that begins, waits to be let go, and notes its end."""

    def __init__(self) -> None:
        self.begun, self.let_go = threading.Event(), threading.Event()
        self.at_the_end: tuple[bool, float] | None = None

    def __call__(self) -> str:
        self.begun.set()
        assert self.let_go.wait(10)
        self.at_the_end = seen()
        return "thought through"


async def wait_for(event: threading.Event) -> None:
    assert await asyncio.to_thread(event.wait, 10)


async def test_the_collector_rests_and_turns_are_short_while_somebody_thinks() -> None:
    assert await compute(seen) == QUIET
    assert gc.isenabled()


async def test_the_loop_goes_on_meanwhile() -> None:
    thought = Thought()
    thinking = asyncio.create_task(compute(thought))
    await wait_for(thought.begun)
    thought.let_go.set()  # by the loop: a thought that held it up would wait for ever
    assert await thinking == "thought through"


async def test_what_goes_wrong_comes_through_and_leaves_nothing_behind() -> None:
    with pytest.raises(ZeroDivisionError):
        await compute(lambda: 1 // 0)
    assert gc.isenabled()


async def test_two_thoughts_at_once_take_place_one_after_the_other() -> None:
    first, second = Thought(), Thought()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(compute(first))
        tasks.create_task(compute(second))
        await wait_for(first.begun)
        second.let_go.set()
        assert not second.begun.is_set()
        first.let_go.set()
    assert first.at_the_end == second.at_the_end == QUIET
    assert gc.isenabled()


async def test_all_thoughts_share_one_thread() -> None:
    assert await compute(threading.get_ident) == await compute(threading.get_ident) != threading.get_ident()


async def test_the_last_to_leave_wakes_the_collector() -> None:
    with undisturbed():
        await compute(lambda: None)
        assert seen() == QUIET
    assert gc.isenabled()


async def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    await compute(lambda: None)
    assert not gc.isenabled()
    gc.enable()


async def test_whoever_is_cancelled_waits_no_longer_but_the_thought_goes_on_unheard() -> None:
    thought = Thought()
    thinking = asyncio.create_task(compute(thought))
    await wait_for(thought.begun)
    thinking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await thinking
    assert not gc.isenabled()  # it is still at it
    thought.let_go.set()
    await compute(lambda: None)  # comes after it
    assert thought.at_the_end == QUIET
    assert gc.isenabled()


async def test_a_thought_that_is_cancelled_before_it_began_never_does() -> None:
    first, second = Thought(), Thought()
    thinking = asyncio.create_task(compute(first))
    await wait_for(first.begun)
    in_line = asyncio.create_task(compute(second))
    await asyncio.sleep(0)
    in_line.cancel()
    with pytest.raises(asyncio.CancelledError):
        await in_line
    first.let_go.set()
    await thinking
    await compute(lambda: None)
    assert not second.begun.is_set()
