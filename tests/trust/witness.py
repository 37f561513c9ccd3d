"""Who looks at every write of Growth: lies around each process of a story, and notes its deeds.

growth_lab.scenarios.environment = replace(growth_lab.scenarios.environment, around=witness.around)
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Final

from growth.act.effect_hooks import EffectHooks, EffectPoint, Hook
from growth.api.core import ObjectReference
from growth.cloud.kwok.provider import KwokProvider
from growth.cloud.plugins import ProviderEnvironment
from growth.kube.client import Client
from growth.kube.transport import Request, Response, Send, Stream
from growth_lab.scenarios.environment import Process
from tests.trust.deeds import EVENTS, KWOK, LEASE, NOBODY, Deed, Deeds, name_of, place_of, uid_in, version_in

# A point is passed in the task that then writes, and tasks inherit from whoever made them: so each write knows who
# it is made for, whatever else is under way.
_ON_BEHALF_OF: Final[ContextVar[str]] = ContextVar("on behalf of", default=NOBODY)
_BY_RESOURCE: Final = {"leases": LEASE, "events": EVENTS}


class Witness:
    """Sees the deeds of all processes of one story."""

    def __init__(self) -> None:
        self.deeds = Deeds()

    def around(self, process: Process) -> Process:
        """The same process, looked at."""
        client = process.client
        self.deeds.machine_within = process.settings.provision.machine_within
        self.deeds.registry = process.settings.registry
        self.deeds.memory = process.settings.memory
        self.deeds.requeue_limit = process.settings.queue.wait_for_pods_ready.requeuing_strategy.backoff_limit_count
        failover = process.settings.failover
        self.deeds.may_fence |= failover.fence
        self.deeds.proven_after = min(self.deeds.proven_after, failover.proven_after.total_seconds())

        def open_kwok(surroundings: ProviderEnvironment) -> AbstractAsyncContextManager[KwokProvider]:
            return _as_kwok(process.open_kwok(surroundings))

        watched = Client(
            _WatchedSend(client.transport, process.host.identity, self.deeds),
            sharing=client.sharing,
            jitter=client.jitter,
        )
        return replace(
            process,
            client=watched,
            points=EffectHooks(both(_enter, process.points.before), both(process.points.after, _leave)),
            open_kwok=open_kwok,
        )


def on_behalf_of(resource: str) -> str:
    """For whom a write to such objects is made in the task that asks."""
    return _ON_BEHALF_OF.get() or _BY_RESOURCE.get(resource, NOBODY)


def both(first: Hook, second: Hook) -> Hook:
    """One after the other."""

    def hook(point: EffectPoint, subject: ObjectReference, /) -> None:
        first(point, subject)
        second(point, subject)

    return hook


def _enter(point: EffectPoint, _: ObjectReference) -> None:
    _ON_BEHALF_OF.set(point)


def _leave(_: EffectPoint, __: ObjectReference) -> None:
    _ON_BEHALF_OF.set(NOBODY)


@asynccontextmanager
async def _as_kwok(opening: AbstractAsyncContextManager[KwokProvider]) -> AsyncGenerator[KwokProvider]:
    """What the played cloud does by itself, in tasks that are made while it opens, is done for nobody's decision."""
    token = _ON_BEHALF_OF.set(KWOK)
    try:
        provider = await opening.__aenter__()
    finally:
        _ON_BEHALF_OF.reset(token)
    try:
        yield provider
    except BaseException as error:
        if not await opening.__aexit__(type(error), error, error.__traceback__):
            raise
    else:
        await opening.__aexit__(None, None, None)


class _WatchedSend:
    """A ``Send`` that notes what it sends."""

    def __init__(self, send: Send, process: str, deeds: Deeds) -> None:
        self._send, self._process, self._deeds = send, process, deeds

    async def send(self, request: Request) -> Response:
        """Send, and note it if it was a write."""
        if not request.writes:
            return await self._send.send(request)
        at = asyncio.get_running_loop().time()
        try:
            response = await self._send.send(request)
        except BaseException:
            self._note(request, None, at)
            raise
        self._note(request, response, at)
        return response

    def _note(self, request: Request, response: Response | None, at: float) -> None:
        place = place_of(request)
        answer = response.body if response else b""
        deed = Deed(
            name=name_of(request, place),
            by=on_behalf_of(place.resource),
            process=self._process,
            place=place,
            uid=uid_in(request.body) or uid_in(answer),
            status=response.status if response else 0,
            version=version_in(answer),
            at=at,
            body=request.body,
        )
        self._deeds.add(deed)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Watches change nothing."""
        return self._send.stream(request)

    def clock(self) -> float:
        """The sender's."""
        return self._send.clock()

    async def close(self) -> None:
        """Close the sender."""
        await self._send.close()
