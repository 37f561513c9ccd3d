"""The provider of servers at Hetzner on a sandbox in this process, on any clock: nothing blocks, nothing is sent.

Hetzner's client blocks, and threads live on real time; so here it runs in place, on a sandbox that answers at once.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from hcloud import Client as HetznerClient

from growth.cloud.finding import Surroundings
from growth.cloud.hetzner.budget import Budget
from growth.cloud.hetzner.calling import Connect, connect_to
from growth.cloud.hetzner.opening import opened
from growth.cloud.hetzner.provider import HetznerProvider
from growth.sim.hetzner.sandbox import Sandbox
from growth.sim.hetzner.session import Adapter

T = TypeVar("T")


@asynccontextmanager
async def open_in_sandbox(surroundings: Surroundings, sandbox: Sandbox) -> AsyncGenerator[HetznerProvider]:
    """As Growth opens it, but for the way to the API."""

    def connect_here(endpoint: str, budget: Budget) -> Connect:
        connect = connect_to(endpoint, budget)

        def connect_to_sandbox(token: str) -> HetznerClient:
            client = connect(token)
            session = client._client._session  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - no other way in
            session.mount(endpoint, Adapter(sandbox))
            return client

        return connect_to_sandbox

    async with opened(surroundings, in_place, connect_here) as provider:
        yield provider


async def in_place(work: Callable[[], T], /) -> T:
    """Do it here and now. Others get their turn before and after, as they do with threads."""
    await asyncio.sleep(0)
    try:
        return work()
    finally:
        await asyncio.sleep(0)
