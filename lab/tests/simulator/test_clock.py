"""The virtual wall clock: it follows the loop, and may be set anew without anybody's timers noticing."""

import asyncio
from datetime import timedelta

from growth_lab.simulator.clock import BEGINNING, Clock, read, written, written_exactly
from growth_lab.simulator.virtual_loop import run_virtually


def test_it_shows_the_time_that_passed() -> None:
    async def play() -> None:
        clock = Clock()
        await asyncio.sleep(90)
        assert clock.now() == BEGINNING + timedelta(seconds=90)
        assert read(clock.stamp()) == clock.now()
        assert clock.stamp_after(10) == written(clock.now() + timedelta(seconds=10))

    run_virtually(play())


def test_a_jump_moves_what_it_shows_and_no_timer() -> None:
    async def play() -> None:
        clock, rung = Clock(), list[float]()
        clock.after(60, lambda: rung.append(clock.seconds()))
        clock.jump(-3_600)
        assert clock.now() == BEGINNING - timedelta(hours=1)
        clock.jump(7_200)
        await asyncio.sleep(61)
        assert rung == [60]
        assert clock.now() == BEGINNING + timedelta(hours=1, seconds=61)

    run_virtually(play())


def test_micro_times_are_read_again_to_the_microsecond() -> None:
    when = BEGINNING + timedelta(microseconds=1_234)
    assert read(written_exactly(when)) == when
