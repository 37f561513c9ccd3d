"""How often we may ask."""

import asyncio

import pytest

from growth.cloud.hetzner.provider_errors import ApiRefused
from growth.cloud.hetzner.rate_budget import PollPace, RateBudget
from growth_lab.simulator.virtual_loop import run_virtually


class Watch:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def a_budget(left: int, limit: int = 3600) -> tuple[RateBudget, Watch]:
    watch = Watch()
    budget = RateBudget(watch)
    budget.note({"RateLimit-Limit": str(limit), "RateLimit-Remaining": str(left)})
    return budget, watch


def wait_of(budget: RateBudget, *, is_urgent: bool) -> float:
    try:
        budget.check(is_urgent=is_urgent)
    except ApiRefused as refused:
        return refused.retry_after
    return 0.0


def test_looking_leaves_a_part_of_the_limit_to_buying() -> None:
    budget, watch = a_budget(left=40)
    assert wait_of(budget, is_urgent=True) == 0
    assert wait_of(budget, is_urgent=False) == pytest.approx(20)
    watch.seconds += 20
    assert wait_of(budget, is_urgent=False) == 0


def test_calls_come_back_as_time_passes_and_never_beyond_the_limit() -> None:
    budget, watch = a_budget(left=0, limit=7200)
    watch.seconds += 10
    assert budget.left == pytest.approx(20)
    watch.seconds += 36_000
    assert budget.left == 7200


def test_what_somebody_in_between_says_is_not_believed() -> None:
    budget, _ = a_budget(left=500)
    for headers in ({}, {"RateLimit-Limit": "many", "RateLimit-Remaining": "few"}, {"RateLimit-Limit": "0"}):
        budget.note(headers)
    assert budget.left == 500


def test_after_a_refusal_nobody_asks_for_some_seconds() -> None:
    budget, watch = a_budget(left=3600)
    delay = budget.note_refusal()
    assert wait_of(budget, is_urgent=True) == delay > 0
    watch.seconds += delay
    assert wait_of(budget, is_urgent=True) == 0


def read_for(pages: int, seconds: float, every: float = 30.0) -> tuple[int, float]:
    """How many pages were read in this time, and the longest wait."""

    async def reading() -> tuple[int, float]:
        clock = asyncio.get_running_loop().time
        pace, total, longest = PollPace(clock), 0, 0.0
        while clock() < seconds:
            asked_at = clock()
            await pace.wait(pages)
            longest = max(longest, clock() - asked_at)
            pace.note(pages)
            total += pages
            await asyncio.sleep(every)
        return total, longest

    return run_virtually(reading())


def test_short_lists_are_read_whenever_anybody_asks() -> None:
    assert read_for(pages=1, seconds=3600) == (120, 0)


def test_long_lists_are_read_at_a_pace() -> None:
    pages, longest = read_for(pages=10, seconds=3600)
    assert 480 <= pages <= 560
    assert longest <= 40, "who asks has no more patience"


def test_after_a_long_list_short_ones_soon_have_no_debts() -> None:
    async def story() -> None:
        clock = asyncio.get_running_loop().time
        pace = PollPace(clock)
        for _ in range(100):
            pace.note(40)
        await asyncio.sleep(300)
        before = clock()
        await pace.wait(1)
        assert clock() == before

    run_virtually(story())
