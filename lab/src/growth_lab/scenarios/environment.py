"""What a world lends to the Growth that acts in a story: a client under the role that the chart ships, and a host."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime

from growth.act.effect_hooks import EffectHooks
from growth.api.settings.model import Settings
from growth.cloud.kwok.plugin import open_kwok
from growth.cloud.kwok.provider import KwokProvider
from growth.cloud.plugins import ProviderEnvironment
from growth.kube.client import Client
from growth.run.runtime import Runtime


async def _for_good() -> None:
    await asyncio.Event().wait()


@dataclass(frozen=True)
class Process:
    """One run of Growth in a story, from its start to its end: what it has, and what may be done to it."""

    client: Client
    host: Runtime
    settings: Settings
    points: EffectHooks
    open_kwok: Callable[[ProviderEnvironment], AbstractAsyncContextManager[KwokProvider]] = open_kwok
    killed: Callable[[], Awaitable[None]] = _for_good
    """Returns when somebody kills it; then another one is started."""


def _as_it_is(process: Process) -> Process:
    return process


@dataclass(frozen=True)
class Backstage:
    """Where Growth comes from; a story that does not need it never asks for more than the time."""

    now: Callable[[], datetime]
    install: Callable[[], Awaitable[None]]
    """Our own kinds and the role, if they are not there yet."""

    client: Callable[[], Awaitable[Client]]
    host: Callable[[str], Runtime]
    outage: Callable[[float], Awaitable[None]]
    """Growth gets no answer from the API server for so many seconds; on a real cluster nobody does."""

    around: Callable[[Process], Process] = _as_it_is
    """Laid around each process before it starts, by those who look at what it does, or stop it."""
