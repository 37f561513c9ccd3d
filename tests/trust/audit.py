"""An audit follows a whole story from outside, and says at its end whether anything happened that never may.

    async with audit.following(play.client):
        ...the story, Growth killed, faults, whatever...
        await audit.until(lambda: not audit.missing(), 60)
    assert audit.violations() + audit.missing() == []

It sees what any client sees (informers, under the administrator's name) and what Growth sent (``Witness``). What
happened is put in the server's own order first, whatever order it was heard in; then each step is judged.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

from growth.api.change import Change
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import CONFIG_MAPS, LEASES, NODES, Kind
from growth.api.node_memory import MEMORIES
from growth.api.pod import Pod
from growth.api.settings.model import MemorySettings
from growth.cloud.kwok.machine_record import SELECTOR
from growth.kube.client import Client
from growth.kube.informer import Informer
from tests.trust.deeds import Deeds
from tests.trust.endings import AT_THE_END, IsPlaceable
from tests.trust.invariants import by_kind
from tests.trust.out_of_service import note_exit
from tests.trust.outage import Outages
from tests.trust.picture import FOLLOWED, Picture, Step, is_machine, step_of

_GROWTHS_NAMESPACE: Final = "growth-system"
_PLACES: Final = {
    CONFIG_MAPS: _GROWTHS_NAMESPACE,
    LEASES: _GROWTHS_NAMESPACE,
    MEMORIES: MemorySettings().namespace,
}
# kube-controller-manager puts it there.
_IN_EVERY_NAMESPACE: Final = "kube-root-ca.crt"
_POLL_SECONDS: Final = 0.25
_HEALTH: Final = (NODES, NODE_REQUESTS, NODE_REMOVAL_REQUESTS)
# What was written just now is heard of in this time: informers are told within milliseconds.
_HEARD_WITHIN_SECONDS: Final = 0.5


def everybody(_: Pod) -> bool:
    """All pods can be placed."""
    return True


class Audit:
    """What happened in one story, and the judgement on it."""

    def __init__(self, deeds: Deeds, *, is_placeable: IsPlaceable = everybody, halts_within: float = 3.0) -> None:
        self._deeds, self._is_placeable = deeds, is_placeable
        self._halts_within = halts_within
        """So many seconds after an outage began Growth has heard of it, and what was under way has ended."""
        self._steps: list[Step] = []
        self.picture = Picture()
        """How everything is now, as it was heard."""

    @asynccontextmanager
    async def following(self, client: Client) -> AsyncGenerator[None]:
        """As long as this lasts, everything is noted."""
        informers = [_informer(client, kind, self.hearer(kind)) for kind in FOLLOWED]
        running = asyncio.gather(*(informer.run() for informer in informers))
        try:
            for informer in informers:
                await informer.synced.wait()
            yield
            await asyncio.sleep(_HEARD_WITHIN_SECONDS)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    def hearer(self, kind: Kind[Any]) -> Callable[[list[Change[Any]]], None]:
        """Who is to be told of changes of a kind."""

        def hear(changes: list[Change[Any]]) -> None:
            at = asyncio.get_running_loop().time()
            steps = [step_of(kind, one, at) for one in changes if _is_meant(kind, one.now)]
            self._steps += steps
            for step in steps:
                self.picture.take(step)

        return hear

    async def until(self, is_done: Callable[[], bool], patience: float, *, quiet: float = 2.0) -> None:
        """Wait until something is so and stays so for a while, such as that nothing is missing; or patience ends."""
        loop = asyncio.get_running_loop()
        deadline, done_since = loop.time() + patience, None
        while loop.time() < deadline:
            if not is_done():
                done_since = None
            elif done_since is None:
                done_since = loop.time()
            elif loop.time() - done_since >= quiet:
                return
            await asyncio.sleep(_POLL_SECONDS)

    def in_order(self) -> list[Step]:
        """All that happened, in the server's own order."""
        return sorted(self._steps, key=lambda step: step.version)

    def missing(self) -> list[str]:
        """What is left to be done now."""
        return [
            f"{one.number} ({one.name}): {what}"
            for one in AT_THE_END
            for what in one.missing(self.picture, self._is_placeable)
        ]

    def violations(self) -> list[str]:
        """What happened that never may, in the order in which it happened."""
        picture, asked, found = Picture(), by_kind(), list[str]()
        outages = Outages(self._deeds.registry, self._halts_within)
        for step in self.in_order():
            picture.broken_for, picture.mended_at = outages.seconds_at(step.at), outages.ended_at
            picture.take(step)
            note_exit(step, picture, self._deeds)
            if step.kind in _HEALTH:
                outages.take(picture, step.at)
            for one in asked.get(step.kind, ()):
                for what in one.broken_by(step, picture, self._deeds):
                    found.append(f"{one.number} ({one.name}), version {step.version}: {what}")
        return list(dict.fromkeys(found))


def _is_meant(kind: Kind[Any], thing: Any) -> bool:  # noqa: ANN401 - any of the followed kinds
    """Of ConfigMaps, machines and memories."""
    if kind is MEMORIES:
        return thing.metadata.name != _IN_EVERY_NAMESPACE
    return kind is not CONFIG_MAPS or is_machine(thing)


def _informer(client: Client, kind: Kind[Any], hear: Callable[[list[Change[Any]]], None]) -> Informer[Any]:
    namespace = _PLACES.get(kind, "")
    return Informer(client, kind, hear, namespace=namespace, label_selector=SELECTOR if kind is CONFIG_MAPS else "")
