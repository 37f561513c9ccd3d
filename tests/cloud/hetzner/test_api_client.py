"""Hetzner's client on threads, over a real socket: nothing blocks the loop, nothing waits for ever."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from growth.api.kinds import SECRETS
from growth.api.machine import Power
from growth.cloud.errors import Invalid, ProviderError, Unavailable
from growth.cloud.hetzner import api_client
from growth.cloud.hetzner.api_client import Api, Threads, connect_to
from growth.cloud.hetzner.provider_errors import ApiRefused, NoAnswer
from growth.cloud.hetzner.rate_budget import RateBudget
from growth.cloud.plugins import ProviderEnvironment, find_provider
from growth.cloud.provider import Provider
from growth.kube.client import Client
from growth.kube.transport import Request, Response
from growth_lab.hetzner_sandbox.faults import Lost, Refuse, Slow
from growth_lab.hetzner_sandbox.http_server import Door, serving
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Sandbox
from growth_lab.hetzner_sandbox.timings import boots_in
from tests.cloud.hetzner.rig import a_request


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def door() -> Generator[Door]:
    with serving(Sandbox(now, timings=boots_in(0.02))) as opened:
        yield opened


async def read_token() -> str:
    return TOKEN


@asynccontextmanager
async def an_api(endpoint: str) -> AsyncGenerator[Api]:
    budget, threads = RateBudget(asyncio.get_running_loop().time), Threads()
    try:
        yield Api(connect_to(endpoint, budget), read_token, budget, threads)
    finally:
        threads.close()


class NoCluster:
    """An API server that is never asked: the token comes from the environment, and no pool names user data."""

    async def send(self, request: Request) -> Response:
        raise AssertionError(f"nobody should ask for {request.path} ({SECRETS.plural})")


@asynccontextmanager
async def opened(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Provider]:
    """As Growth opens it: found by its name, with what the settings say."""
    monkeypatch.setenv("HCLOUD_TOKEN", TOKEN)
    options = {"clusterName": "shop", "endpoint": endpoint}
    client = Client(NoCluster())  # pyright: ignore[reportArgumentType]
    async with find_provider("hetzner")(ProviderEnvironment(client, "growth-system", now, options)) as provider:
        yield provider


async def test_the_whole_life_of_a_server(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(door.endpoint, monkeypatch) as provider:
        assert len(await provider.offerings()) > 50
        machine = await provider.create(a_request())
        assert (await provider.power(machine.id)).power is Power.ON
        assert [one.id for one in await provider.list()] == [machine.id]
        assert (await provider.fence(machine.id)).power is Power.OFF
        await provider.delete(machine.id)
        assert (await provider.power(machine.id)).power is Power.GONE


async def test_a_slow_answer_blocks_nobody(door: Door) -> None:
    door.sandbox.order(Slow(path="/servers", seconds=0.3))
    async with an_api(door.endpoint) as api:
        slow = asyncio.create_task(api.ask("GET", "/servers"))
        await asyncio.sleep(0.05)
        await api.ask("GET", "/locations")
        assert not slow.done(), "another call was answered meanwhile"
        await slow


async def test_nothing_is_repeated_by_the_client_itself(door: Door) -> None:
    async with an_api(door.endpoint) as api:
        for code in ("conflict", "bad_gateway", "timeout", "rate_limit_exceeded"):
            door.sandbox.calls.clear()
            door.sandbox.order(Refuse(code=code))
            with pytest.raises(ApiRefused) as refused:
                await api.ask("POST", "/servers", body={})
            assert refused.value.code == code
            assert len(door.sandbox.calls) == 1


async def test_who_does_not_answer_is_left_after_a_while(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_client, "_TIMEOUT_SECONDS", (0.1, 0.1))
    door.sandbox.order(Slow(seconds=5, times=2))
    async with an_api(door.endpoint) as api:
        with pytest.raises(NoAnswer) as read:
            await api.ask("GET", "/servers")
        with pytest.raises(NoAnswer, match="there was no answer") as written:
            await api.ask("POST", "/servers", body={})
    assert (read.value.may_have_acted, written.value.may_have_acted) == (False, True)


async def test_a_connection_that_breaks_may_have_done_the_work(door: Door) -> None:
    door.sandbox.order(Lost())
    async with an_api(door.endpoint) as api:
        with pytest.raises(NoAnswer) as lost:
            await api.ask("POST", "/servers", body={})
    assert lost.value.may_have_acted


async def test_where_nobody_listens_nothing_was_done() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with an_api(f"http://127.0.0.1:{unused.getsockname()[1]}/v1") as api:
            with pytest.raises(NoAnswer) as refused:
                await api.ask("POST", "/servers", body={})
    assert not refused.value.may_have_acted


async def test_an_answer_of_somebody_in_between_is_trouble_whatever_its_status(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(door.endpoint, monkeypatch) as provider:
        for code in ("unauthorized", "rate_limit_exceeded", "resource_limit_exceeded", "unavailable"):
            door.sandbox.order(Refuse(code=code, is_plain=True))
            with pytest.raises(Unavailable, match="is no error of the API"):
                await provider.list()


async def test_many_calls_share_a_few_threads(door: Door) -> None:
    door.sandbox.order(Slow(seconds=0.02, times=100))
    async with an_api(door.endpoint) as api:
        await asyncio.gather(*(api.ask("GET", "/locations") for _ in range(40)))
        names = [thread.name for thread in threading.enumerate() if thread.name.startswith("hetzner_")]
    assert 1 <= len(names) <= 10
    assert 1 < door.gate.most <= 10


async def test_a_provider_that_is_closed_says_so(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(door.endpoint, monkeypatch) as provider:
        await provider.list()
    with pytest.raises(ProviderError, match="the provider is closed"):
        await provider.list()


async def test_without_the_name_of_the_cluster_nothing_is_opened() -> None:
    client = Client(NoCluster())  # pyright: ignore[reportArgumentType]
    with pytest.raises(Invalid, match=r"hetzner\.clusterName: '' is not possible"):
        async with find_provider("hetzner")(ProviderEnvironment(client, "growth-system", now)):
            raise AssertionError("it must not open")
