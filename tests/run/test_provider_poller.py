"""Providers come and go, answer or do not: each by itself, and no more often than agreed."""

import asyncio
import itertools
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta

import pytest

from growth.api.offering import Offering
from growth.api.provider_state import ProviderState
from growth.cloud.errors import ProviderError, RateLimited, Unauthorized, Unavailable
from growth.cloud.provider import Provider
from growth.kube.client import Client
from growth.run.provider_poller import ProviderPoller
from tests.act.workshop import NOON, OFFERING, Shop
from tests.kube.fake_api import FakeApi, FakeSend
from tests.kube.replica import virtual
from tests.virtual_time import wait_until

EVERY = 30.0
SILENT = Unavailable("no answer", may_have_acted=False)


class Market(Shop):
    """A provider that notes when it is opened, asked and left; what it ``raises`` it raises when asked."""

    def __init__(self) -> None:
        super().__init__()
        self.raises: Exception | None = None
        self.cannot_open: Exception | None = None
        self.fails_at_the_end: Exception | None = None
        self.takes_seconds = 0.0
        self.opened: list[float] = []
        self.asked: list[float] = []
        self.left = 0
        self.breaks = asyncio.Event()

    async def offerings(self) -> Sequence[Offering]:
        self.asked.append(clock())
        await asyncio.sleep(self.takes_seconds)
        if self.raises:
            raise self.raises
        return [OFFERING]

    @asynccontextmanager
    async def open(self, _: Client) -> AsyncGenerator[Provider]:
        """Like a provider that has work of its own to do: if that ``breaks``, the context ends with its error."""
        self.opened.append(clock())
        if self.cannot_open:
            raise self.cannot_open
        try:
            async with asyncio.TaskGroup() as tasks:
                work = tasks.create_task(self._work())
                yield self
                work.cancel()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        finally:
            self.left += 1

    async def _work(self) -> None:
        try:
            await self.breaks.wait()
        except asyncio.CancelledError:
            if self.fails_at_the_end:
                raise self.fails_at_the_end from None
            raise
        self.breaks.clear()
        raise SILENT


def clock() -> float:
    return asyncio.get_running_loop().time()


class Watchers:
    """Whoever hears of clouds."""

    def __init__(self, **markets: Market) -> None:
        self.told: list[ProviderState] = []
        self.clouds = ProviderPoller(
            {name: market.open for name, market in markets.items()},
            every_seconds=EVERY,
            tell=self.told.append,
            now=lambda: NOON + timedelta(seconds=clock()),
        )

    def following(self) -> AbstractAsyncContextManager[None]:
        return self.clouds.following(Client(FakeSend(FakeApi(), clock)))

    def last(self, name: str = "kwok") -> ProviderState:
        return next(cloud for cloud in reversed(self.told) if cloud.provider == name)


def pauses(times: Sequence[float]) -> list[float]:
    return [later - earlier for earlier, later in itertools.pairwise(times)]


def tasks_of_providers() -> list[str]:
    return [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("provider ")]


@virtual
async def test_what_a_provider_sells_and_has_is_told_again_and_again() -> None:
    market = Market()
    watchers = Watchers(kwok=market)
    async with watchers.following():
        assert watchers.last() == ProviderState("kwok", problem="it was not asked yet")
        await asyncio.sleep(100)
        assert market.asked == pytest.approx([0, 30, 60, 90], abs=0.01)
        assert watchers.last() == ProviderState("kwok", (OFFERING,), (), NOON + timedelta(seconds=90))
        assert watchers.clouds.providers == {"kwok": market}
    assert watchers.clouds.providers == {}


@virtual
async def test_who_cannot_be_opened_is_told_and_tried_again_while_others_are_followed() -> None:
    closed, sound = Market(), Market()
    closed.cannot_open = Unauthorized("the token is wrong")
    watchers = Watchers(closed=closed, sound=sound)
    async with watchers.following():
        await asyncio.sleep(250)
        assert pauses(closed.opened) == pytest.approx([1, 2, 4, 8, 16, 32, 60, 60, 60], abs=0.01)
        assert watchers.last("closed") == ProviderState("closed", problem="the token is wrong")
        assert list(watchers.clouds.providers) == ["sound"]
        assert len(sound.asked) == 9
        closed.cannot_open = None
        await wait_until(lambda: not watchers.last("closed").problem)
        assert set(watchers.clouds.providers) == {"closed", "sound"}


@virtual
async def test_who_does_not_answer_keeps_the_last_answer_with_the_problem_and_stays_open() -> None:
    market = Market()
    watchers = Watchers(kwok=market)
    async with watchers.following():
        await asyncio.sleep(1)
        market.raises = SILENT
        await asyncio.sleep(60)
        assert watchers.last() == ProviderState("kwok", (OFFERING,), (), NOON, problem="no answer")
        assert watchers.clouds.providers == {"kwok": market}
        market.raises = None
        await asyncio.sleep(30)
        assert watchers.last() == ProviderState("kwok", (OFFERING,), (), NOON + timedelta(seconds=90))
        assert len(market.opened) == 1


@virtual
async def test_who_hangs_is_given_up_and_asked_again() -> None:
    market = Market()
    market.takes_seconds = 1e6
    watchers = Watchers(kwok=market)
    async with watchers.following():
        await asyncio.sleep(100)
        assert watchers.last().problem == "there was no answer within 60 s"
        assert market.asked == pytest.approx([0, 90], abs=0.01)
        assert len(market.opened) == 1


@virtual
async def test_who_says_asked_too_often_is_left_alone_for_as_long_as_it_said() -> None:
    market = Market()
    market.raises = RateLimited("slow down", retry_after=600)
    watchers = Watchers(kwok=market)
    async with watchers.following():
        await asyncio.sleep(700)
        assert market.asked == pytest.approx([0, 600], abs=0.01)
        market.raises = RateLimited("slow down", retry_after=1)
        await asyncio.sleep(550)
        assert pauses(market.asked) == pytest.approx([600, 600, 30], abs=0.01)


@virtual
async def test_a_provider_whose_context_ends_with_an_error_is_opened_again() -> None:
    market = Market()
    watchers = Watchers(kwok=market)
    async with watchers.following():
        await asyncio.sleep(10)
        market.breaks.set()
        await asyncio.sleep(0.5)
        assert watchers.last().problem == "no answer"
        assert watchers.last().offerings == (OFFERING,)
        assert watchers.clouds.providers == {}
        await asyncio.sleep(1)
        assert watchers.clouds.providers == {"kwok": market}
        await asyncio.sleep(30)
        assert watchers.last().problem == ""
        assert market.opened == pytest.approx([0, 11], abs=0.01)


@pytest.mark.parametrize("mistake", [ZeroDivisionError("mine"), SILENT], ids=["a mistake", "an error of the provider"])
def test_nobody_is_asked_more_often_than_agreed_whatever_breaks(mistake: Exception) -> None:
    @virtual
    async def story() -> None:
        market = Market()
        watchers = Watchers(kwok=market)
        async with watchers.following():
            for second in range(1_000):
                market.raises = mistake if second % 100 < 50 else None
                if second % 3 == 0:
                    market.breaks.set()
                await asyncio.sleep(1)
            assert len(market.asked) > 10
            assert min(pauses(market.asked)) >= EVERY
            assert len(market.opened) > len(market.asked)

    story()


def test_a_mistake_is_told_once_with_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    @virtual
    async def story() -> None:
        market = Market()
        market.raises = ZeroDivisionError("mine")
        watchers = Watchers(kwok=market)
        async with watchers.following():
            await asyncio.sleep(300)
            assert len(market.asked) > 2
            assert watchers.last().problem == "ZeroDivisionError: mine"
            market.raises = None
            await asyncio.sleep(60)

    with caplog.at_level(logging.INFO, "growth.run.provider_poller"):
        story()
    lines = [record.getMessage() for record in caplog.records]
    assert lines == ["the provider kwok does not answer: ZeroDivisionError: mine", "the provider kwok answers"]
    assert "Traceback" in caplog.text


ENDINGS: list[tuple[str, Callable[[Market], None]]] = [
    ("it is being asked", lambda market: setattr(market, "takes_seconds", 50)),
    ("it waits", lambda _: None),
    ("it cannot be opened", lambda market: setattr(market, "cannot_open", ProviderError("closed"))),
    ("it fails at the end", lambda market: setattr(market, "fails_at_the_end", ProviderError("cannot stop"))),
    ("it makes a mistake at the end", lambda market: setattr(market, "fails_at_the_end", ZeroDivisionError())),
]


@pytest.mark.parametrize("prepare", [case for _, case in ENDINGS], ids=[name for name, _ in ENDINGS])
def test_at_the_end_everything_ends_at_once(prepare: Callable[[Market], None]) -> None:
    @virtual
    async def story() -> None:
        market, other = Market(), Market()
        prepare(market)
        watchers = Watchers(kwok=market, other=other)
        async with watchers.following():
            await asyncio.sleep(10.2)
            assert len(tasks_of_providers()) == 2
        assert clock() == pytest.approx(10.2, abs=0.1)
        assert tasks_of_providers() == []
        assert watchers.clouds.providers == {}
        assert other.left == 1
        assert market.left == (0 if market.cannot_open else 1)

    story()


@virtual
async def test_without_providers_nothing_is_told() -> None:
    watchers = Watchers()
    async with watchers.following():
        await asyncio.sleep(100)
    assert watchers.told == []
