import asyncio
import time

import pytest

from growth_lab.simulator.virtual_loop import Stuck, run_virtually


def test_a_day_passes_at_once() -> None:
    async def a_day() -> float:
        await asyncio.sleep(86_400)
        return asyncio.get_running_loop().time()

    began = time.monotonic()
    assert run_virtually(a_day()) == pytest.approx(86_400)
    assert time.monotonic() - began < 10


def test_timers_fire_in_their_order() -> None:
    async def two_sleepers() -> list[str]:
        told: list[str] = []

        async def tell(after: float, word: str) -> None:
            await asyncio.sleep(after)
            told.append(word)

        await asyncio.gather(tell(3, "later"), tell(1, "sooner"), tell(2, "between"))
        return told

    assert run_virtually(two_sleepers()) == ["sooner", "between", "later"]


def test_a_deadlock_is_told_instead_of_hanging() -> None:
    async def wait_for_nobody() -> None:
        await asyncio.Event().wait()

    with pytest.raises(Stuck, match="no timer is set"):
        run_virtually(wait_for_nobody())


def test_a_speed_lets_people_look_on() -> None:
    began = time.monotonic()
    run_virtually(asyncio.sleep(10), speed=100)
    assert time.monotonic() - began >= 0.1
