"""A process of Growth is stopped at one of its side effects, and says no goodbye.

*Before*: the request is never sent. *After*: it is done, and its answer never comes. From then on nothing of the
process gets out, so it does not release its lease either; the story starts another one, which must find its way by what
stands in the cluster.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Final, NoReturn

import msgspec

from growth.act.effect_hooks import EffectHooks, EffectPoint
from growth.api.core import ObjectReference
from growth.api.settings.model import LeaderElectionSettings, Settings
from growth.kube.client import Client
from growth.kube.transport import Request, Response, Send, Stream
from growth_lab.scenarios.environment import Process
from tests.trust.deeds import name_of, place_of
from tests.trust.register import MACHINE_POINTS, registered_name
from tests.trust.witness import both, on_behalf_of

# A lease that runs out quickly: stories tell of seconds, and who comes next should not come too late for them.
_SHORT_TERMS: Final = LeaderElectionSettings(
    lease_duration=timedelta(seconds=2), renew_deadline=timedelta(seconds=1.3), retry_period=timedelta(seconds=0.5)
)


class Side(StrEnum):
    """On which side of a side effect."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True)
class Pass:
    """Growth comes by one of its points; ``number`` counts all passes of a story from 1."""

    number: int
    name: str


class Killed(BaseException):
    """What a point raises in a process that is dead: no Exception, because nothing may survive it."""


Wish = Callable[[Pass], Side | None]


def never(_: Pass) -> None:
    """Nobody is stopped."""


class Interruption:
    """Lies around all processes of one story. ``wish`` says of each pass whether the process ends there, and where."""

    def __init__(self, wish: Wish = never) -> None:
        self.passes: list[Pass] = []
        self.stops: list[tuple[Pass, Side]] = []
        self._wish = wish
        self._is_over = False

    def rest(self) -> None:
        """The story is over: nobody is stopped any more, and passes do not count."""
        self._is_over = True

    def around(self, process: Process) -> Process:
        """The same process, mortal. The witness must be nearer to it: it knows for whom a write is made."""
        client, life = process.client, _Life(self)
        return replace(
            process,
            client=Client(_MortalSend(client.transport, life), sharing=client.sharing, jitter=client.jitter),
            settings=_hurried(process.settings),
            points=EffectHooks(both(process.points.before, life.before), both(life.after, process.points.after)),
            killed=life.end.wait,
        )

    def come_by(self, name: str) -> Side | None:
        """One more pass; gives where to stop, if here."""
        if self._is_over:
            return None
        passed = Pass(len(self.passes) + 1, name)
        self.passes.append(passed)
        side = self._wish(passed)
        if side is not None:
            self.stops.append((passed, side))
        return side


class _Life:
    """One process, until it is stopped."""

    def __init__(self, interruption: Interruption) -> None:
        self.end = asyncio.Event()
        self._interruption = interruption
        self._ends_after: set[tuple[EffectPoint, str]] = set()

    def come_by(self, name: str) -> Side | None:
        return self._interruption.come_by(name)

    def before(self, point: EffectPoint, subject: ObjectReference, /) -> None:
        if self.end.is_set():
            raise Killed
        if point in MACHINE_POINTS:
            side = self.come_by(MACHINE_POINTS[point])
            if side is Side.BEFORE:
                self.end.set()
                raise Killed
            if side is Side.AFTER:
                self._ends_after.add((point, subject.name))

    def after(self, point: EffectPoint, subject: ObjectReference, /) -> None:
        if (point, subject.name) in self._ends_after:
            self.end.set()
        if self.end.is_set():
            raise Killed


class _MortalSend:
    """A ``Send`` from which nothing comes any more once its process is dead."""

    def __init__(self, send: Send, life: _Life) -> None:
        self._send, self._life = send, life

    async def send(self, request: Request) -> Response:
        """Send it, unless the process ends here."""
        if self._life.end.is_set():
            await _for_good()
        if not request.writes:
            return await self._send.send(request)
        place = place_of(request)
        side = self._life.come_by(registered_name(name_of(request, place), on_behalf_of(place.resource)))
        if side is Side.BEFORE:
            self._life.end.set()
            await _for_good()
        response = await self._send.send(request)
        if side is Side.AFTER:
            self._life.end.set()
        if self._life.end.is_set():
            await _for_good()
        return response

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """What a dead process hears does no harm."""
        return self._send.stream(request)

    def clock(self) -> float:
        """The sender's."""
        return self._send.clock()

    async def close(self) -> None:
        """Close the sender."""
        await self._send.close()


async def _for_good() -> NoReturn:
    """Until the harness cancels what is left of the process."""
    while True:
        await asyncio.Event().wait()


def _hurried(settings: Settings) -> Settings:
    terms = msgspec.structs.replace(_SHORT_TERMS, lease_name=settings.leader_election.lease_name)
    return msgspec.structs.replace(settings, leader_election=terms)
