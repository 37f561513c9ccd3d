"""Providers that say no for hours, each in its own way: how often they are asked, and that nothing else suffers.

On virtual time with the settings that ship. A pod waits all the while, so there is always a reason to ask again.
"""

import asyncio
import math
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.machine import Machine, MachineRequest, PowerReading
from growth.api.node_pool import OfferingStatus
from growth.api.offering import POOL, Offering
from growth.api.settings.model import ProvidersSettings, Settings
from growth.cloud.errors import Invalid, OutOfStock, QuotaExceeded, RateLimited, Unauthorized, Unavailable
from growth.cloud.provider import Provider
from growth.kube.client import Client
from growth.run.runtime import Runtime
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually

SETTINGS = Settings(providers=ProvidersSettings(enabled="kwok,stubborn"))
HOURS = 2


class Stubborn:
    """A provider that lists machines, in stock and all, and sells none."""

    name = "stubborn"

    def __init__(self, refusal: Callable[[], Exception], *, stock: int | None = None) -> None:
        self._refusal, self._stock = refusal, stock
        self.asked: list[str] = []

    @asynccontextmanager
    async def open(self, _: Client) -> AsyncGenerator[Provider]:
        yield self

    async def offerings(self) -> Sequence[Offering]:
        resources = {"cpu": "2", "memory": "4Gi", "pods": "110"}
        return [
            Offering(f"stubborn-{name}-here", "stubborn", name, "here", price, resources=resources, stock=self._stock)
            for name, price in (("small", 1.0), ("other", 2.0))
        ]

    async def create(self, request: MachineRequest) -> Machine:
        self.asked.append(request.name)
        raise self._refusal()

    async def list(self) -> Sequence[Machine]:
        return []

    async def delete(self, machine_id: str) -> None:
        raise AssertionError(machine_id)

    async def power(self, machine_id: str) -> PowerReading:
        raise AssertionError(machine_id)

    async def fence(self, machine_id: str) -> PowerReading:
        raise AssertionError(machine_id)


def after_hours(provider: Stubborn) -> tuple[int, tuple[OfferingStatus, ...]]:
    """How many requests are left, and what the pool says, when a pod has waited for hours."""
    found: list[tuple[int, tuple[OfferingStatus, ...]]] = []

    async def tell(play: Play) -> None:
        await play.node("other", taints=("dedicated=other:NoSchedule",))
        async with growing(play, settings=SETTINGS, others={"stubborn": provider.open}):
            await a_pool(play, "refused", types="small other", provider="stubborn")
            await a_pool(play, "served", types="small", provider="kwok")
            await play.pod("unlucky", cpu="1500m", nodeSelector={POOL: "refused"})
            await asyncio.sleep(timedelta(hours=HOURS).total_seconds())
            await play.pod("lucky", cpu="1500m", nodeSelector={POOL: "served"})
            await play.until(play.pod_is("lucky"), "another pool grows")
            left = [one for one in play.trace.objects[NODE_REQUESTS].values() if one.spec.pool == "refused"]
            found.append((len(left), play.trace.objects[NODE_POOLS]["refused"].status.offerings))

    play_virtually(tell, speed=math.inf, alone=True)
    return found[0]


# 5, 10 and 20 minutes, then every half hour.
TRIES_BY_TIME = 3 + 2 * HOURS


@pytest.mark.parametrize(
    ("refusal", "stock", "offerings", "at_most"),
    [
        pytest.param(lambda: OutOfStock("none", offering=""), None, 2, 2 * TRIES_BY_TIME, id="sold out"),
        pytest.param(lambda: OutOfStock("none", offering=""), 7, 2, 2 * (TRIES_BY_TIME + 2),
                     id="sold out, whatever it lists"),
        pytest.param(lambda: QuotaExceeded("no more"), None, 1, TRIES_BY_TIME, id="the quota is exceeded"),
        pytest.param(lambda: Unauthorized("who are you?"), None, 1, TRIES_BY_TIME, id="the token is wrong"),
        pytest.param(lambda: Invalid("no such image"), 7, 2, 2 * TRIES_BY_TIME, id="the image is unknown"),
        pytest.param(lambda: RateLimited("slow down", retry_after=600), None, 2, 8 * HOURS, id="asked too often"),
        pytest.param(lambda: Unavailable("oops", may_have_acted=False), None, 2, 60 * HOURS + 20, id="no answer"),
        pytest.param(lambda: ZeroDivisionError("oops"), None, 2, 60 * HOURS + 20, id="a mistake in the provider"),
    ],
)  # fmt: skip
@pytest.mark.long
def test_a_provider_that_says_no_is_asked_less_and_less(
    refusal: Callable[[], Exception], stock: int | None, offerings: int, at_most: int
) -> None:
    provider = Stubborn(refusal, stock=stock)
    left, learnt = after_hours(provider)
    assert 2 * HOURS <= len(provider.asked) <= at_most  # it is never given up, either
    assert len(learnt) <= offerings
    assert left <= 3


SOLD = "nbg1: 0.011}, stock: {fsn1: 3, nbg1: 0}"


@pytest.mark.long
@pytest.mark.parametrize(
    "ahead",
    [
        pytest.param(timedelta(0), id="as it should be"),
        pytest.param(timedelta(hours=1), id="an hour ahead of the API server's"),
        pytest.param(-timedelta(hours=1), id="an hour behind the API server's"),
    ],
)
def test_a_stock_that_runs_out_in_the_middle_is_not_asked_for_again_and_again(ahead: timedelta) -> None:
    """Ten machines are wanted, three are left. Whatever Growth's clock says, these three do not open what failed."""
    asked: list[str] = []
    reads_once = msgspec.structs.replace(Settings(), providers=ProvidersSettings("kwok", timedelta(hours=1)))

    async def tell(play: Play) -> None:
        host = play.backstage.host

        def shifted(identity: str) -> Runtime:
            lent = host(identity)
            return msgspec.structs.replace(lent, now=lambda: lent.now() + ahead)

        play.backstage = replace(play.backstage, host=shifted)
        await play.node("other", taints=("dedicated=other:NoSchedule",))
        async with growing(play, settings=reads_once) as growth:
            await a_pool(play, types="small", locations=["fsn1"])
            await play.until(lambda: any(one.what == "Usable" for one in play.trace.seen), "the pool is usable")
            growth.set_catalogue(CATALOGUE.replace("nbg1: 0.011}", SOLD))
            for number in range(10):
                await play.pod(f"app-{number}", cpu="1500m", nodeSelector={})
            await asyncio.sleep(timedelta(minutes=40).total_seconds())
            asked.extend(one.what for one in play.trace.seen if one.what.startswith("asks for"))
            assert sum(play.pod_is(f"app-{number}")() for number in range(10)) == 3

    play_virtually(tell, alone=True)
    # Ten at once, then one after 5, 10 and 20 minutes.
    assert len(asked) == 13


@pytest.mark.parametrize("fault", ["quota=0", "noStock", "neverRegisters"])
@pytest.mark.parametrize("wants", ["a pod that waits", "a minimum"])
@pytest.mark.long
def test_what_is_wanted_comes_by_itself_when_the_trouble_is_over(fault: str, wants: str) -> None:
    """Nothing can be had, until it is asked for every half hour only. Then it can, and half an hour later at most it is
    there; nobody helped."""

    async def tell(play: Play) -> None:
        minimum = 1 if wants == "a minimum" else 0
        await play.node("other", taints=("dedicated=other:NoSchedule",))
        async with growing(play, settings=SETTINGS, catalogue=f"faults: [{fault}]\n{CATALOGUE}") as growth:
            await a_pool(play, serverTypes=[{"name": "small", "min": minimum}])
            if not minimum:
                await play.pod("patient", cpu="1500m", nodeSelector={})
            await asyncio.sleep(timedelta(minutes=80).total_seconds())
            assert not any(node.is_ready for name, node in play.trace.nodes.items() if name != "other")
            growth.set_catalogue(CATALOGUE)
            await asyncio.sleep(timedelta(minutes=31).total_seconds())
            ready = [name for name, node in play.trace.nodes.items() if name != "other" and node.is_ready]
            assert len(ready) == 1
            assert minimum or play.pod_is("patient")()

    play_virtually(tell, alone=True)
