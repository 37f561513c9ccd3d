"""The Growths of one run: one to three at a time, each with a clock of its own, killed and woken as it is drawn.

Each one that is killed is followed by another of another name, as a Deployment would do.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Final

import msgspec

from growth.act.effect_hooks import EffectHooks
from growth.api.kinds import LEASES, NAMESPACES
from growth.api.settings.model import (
    ConsolidateSettings,
    FailoverSettings,
    LeaderElectionSettings,
    MemorySettings,
    ProvidersSettings,
    RemovalSettings,
)
from growth.cloud.kwok.catalog import Catalog, read_catalogue
from growth.cloud.kwok.provider import KwokProvider
from growth.cloud.plugins import ProviderEnvironment
from growth.decide.pipeline import CAPABILITIES
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists, KubeError
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import Runtime
from growth_lab.scenarios.environment import Process
from growth_lab.scenarios.replica import CATALOGUE, QUICK
from tests.trust.chaos.answers import Answering, Answers
from tests.trust.chaos.valve import Valve
from tests.trust.interruption import Side
from tests.trust.witness import Witness

SETTINGS: Final = msgspec.structs.replace(
    QUICK,
    leader_election=LeaderElectionSettings(
        lease_duration=timedelta(seconds=2), renew_deadline=timedelta(seconds=1.3), retry_period=timedelta(seconds=0.5)
    ),
    providers=ProvidersSettings(enabled="kwok", read_every=timedelta(seconds=2)),
    removal=RemovalSettings(retry_after=timedelta(seconds=3), attempts=3, leaked_after=timedelta(seconds=8)),
    # In small worlds two of four are many.
    registry=msgspec.structs.replace(QUICK.registry, ok_unready=1),
)
# A process that ended by itself is started again after so long.
_RESTART_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Ground:
    """The cluster on which all this happens."""

    admin: Client
    client: Callable[[], Awaitable[Client]]
    """For one more process of Growth, under the role that the chart ships."""

    host: Callable[[str], Runtime]
    now: Callable[[], datetime]


class Replica:
    """One place in the Deployment: a process, and after its end the next one."""

    def __init__(self, number: int, fleet: "Fleet") -> None:
        self._number, self._fleet = number, fleet
        self._starts = 0
        self._skew = timedelta(0)
        self._valve: Valve | None = None
        self._rest_seconds = 0.0

    @property
    def name(self) -> str:
        """Of the process that runs now."""
        return f"growth-{self._number}-{self._starts}"

    def kill(self, rest_seconds: float) -> None:
        """The process ends without a word; the next one comes after so long."""
        self._rest_seconds = rest_seconds
        if self._valve is not None:
            self._fleet.say(f"{self.name} is killed, and stays away for {rest_seconds:g} s")
            self._valve.kill()

    def kill_at(self, writes: int, side: Side) -> None:
        """The same at one of its next writes."""
        self._rest_seconds = 0.0
        if self._valve is not None:
            self._valve.kill_at(writes, side)

    def pause(self, seconds: float) -> None:
        """The process stands still for so long."""
        if self._valve is not None:
            self._fleet.say(f"{self.name} stands still for {seconds:g} s")
            self._valve.pause()
            asyncio.get_running_loop().call_later(seconds, self._valve.resume)

    def pause_at(self, writes: int, seconds: float) -> None:
        """The same at one of its next writes."""
        if self._valve is not None:
            self._valve.pause_at(writes, seconds)

    def resume(self) -> None:
        """It goes on."""
        if self._valve is not None:
            self._valve.resume()

    def jump(self, seconds: float) -> None:
        """Its wall clock is set."""
        self._skew += timedelta(seconds=seconds)
        self._fleet.say(f"the clock of {self.name} jumps by {seconds:+g} s")

    def stay(self) -> None:
        """Nobody is waiting to kill it any more."""
        if self._valve is not None:
            self._valve.spare()

    def set_right(self) -> None:
        """Its wall clock is right again."""
        self._skew = timedelta(0)

    def _now(self) -> datetime:
        return self._fleet.ground.now() + self._skew

    async def run(self) -> None:
        """One process after the other, until cancelled."""
        lives: list[asyncio.Task[None]] = []
        try:
            while True:
                self._starts += 1
                process, valve = await self._process()
                life, end = asyncio.create_task(self._live(process)), asyncio.create_task(valve.killed.wait())
                lives.append(life)
                await asyncio.wait({life, end}, return_when=asyncio.FIRST_COMPLETED)
                end.cancel()
                if life.done() and (error := life.exception()) is not None:
                    self._fleet.hear_of_end(f"{self.name} ended by itself: {type(error).__name__}: {error}", error)
                    self._rest_seconds = _RESTART_SECONDS
                valve.kill()
                life.cancel()  # it may still tidy up, in vain: nothing of it gets out
                await asyncio.sleep(self._rest_seconds)
        finally:
            for life in lives:
                life.cancel()
            await asyncio.gather(*lives, return_exceptions=True)

    async def _process(self) -> tuple[Process, Valve]:
        ground = self._fleet.ground
        host = msgspec.structs.replace(ground.host(self.name), now=self._now)
        process = self._fleet.witness.around(Process(await ground.client(), host, self._fleet.settings, EffectHooks()))
        client = process.client
        # The witness notes what really leaves, so the valve lies before it.
        self._valve = Valve(client.transport, lambda what: self._fleet.say(f"{self.name} {what}"))
        client = Client(self._valve, sharing=client.sharing, jitter=client.jitter)
        return replace(process, client=client), self._valve

    async def _live(self, process: Process) -> None:
        fleet = self._fleet

        @asynccontextmanager
        async def open_kwok(client: Client) -> AsyncGenerator[Answering]:
            async with process.open_kwok(ProviderEnvironment(client, SETTINGS.namespace, fleet.ground.now)) as provider:
                with fleet.selling(provider):
                    yield Answering(provider, fleet.answers, lambda: self._skew)

        plant = ReplicaConfig(
            client=process.client,
            lease_client=process.client,
            settings=process.settings,
            capabilities=CAPABILITIES,
            host=process.host,
            providers={"kwok": open_kwok},
            points=process.points,
        )
        await control(plant, new_health())


class Fleet:
    """All replicas, and what is sold to them."""

    def __init__(
        self,
        ground: Ground,
        replicas: int,
        say: Callable[[str], None],
        *,
        failover: FailoverSettings,
        memory: MemorySettings,
        consolidate: ConsolidateSettings,
        answers: Answers,
    ) -> None:
        self.ground, self.say, self.answers = ground, say, answers
        self.settings = msgspec.structs.replace(SETTINGS, failover=failover, memory=memory, consolidate=consolidate)
        self.witness = Witness()
        self.replicas = [Replica(number, self) for number in range(replicas)]
        self.failures: list[str] = []
        self._sold, self._faults = CATALOGUE, ""
        self._catalogue = read(CATALOGUE)
        self._open: list[KwokProvider] = []

    def sell(self, faults: str = "") -> None:
        """From now on this goes wrong with what is sold: nothing, or faults of catalogues with commas between them."""
        self._faults = faults
        self._offer()

    def stock(self, offered: str) -> None:
        """From now on this catalogue is sold; what goes wrong with it, still does."""
        self._sold = offered
        self._offer()

    def _offer(self) -> None:
        self._catalogue = read(f"{self._sold}faults: [{self._faults}]\n" if self._faults else self._sold)
        for provider in self._open:
            provider.catalogue = self._catalogue

    @contextmanager
    def selling(self, provider: KwokProvider) -> Generator[None]:
        """This provider sells what is sold, as long as it is open."""
        provider.catalogue = self._catalogue
        self._open.append(provider)
        try:
            yield
        finally:
            self._open.remove(provider)

    def hear_of_end(self, words: str, error: BaseException) -> None:
        """A start that the API server refuses ends the process; any other end is a defect, whatever was done to it."""
        self.say(words)
        if not isinstance(error, KubeError):
            self.failures.append(words)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """As long as this lasts."""
        await _install(self.ground.admin)
        tasks = [asyncio.create_task(replica.run()) for replica in self.replicas]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def heal(self) -> None:
        """Everybody runs, all clocks are right, and the provider answers."""
        self.answers.be_well()
        for replica in self.replicas:
            replica.set_right()
            replica.resume()
            replica.stay()


@cache
def read(text: str) -> Catalog:
    """Catalogues are read once: that takes longer than to live through a minute."""
    return read_catalogue(text)


async def _install(admin: Client) -> None:
    """The namespaces and the empty Lease, as ``growth manifests`` brings them."""
    for name in (SETTINGS.namespace, SETTINGS.memory.namespace, SETTINGS.memory.transaction_namespace):
        with suppress(AlreadyExists):
            await admin.create(NAMESPACES, {"metadata": {"name": name}})
    lease = {"metadata": {"name": SETTINGS.leader_election.lease_name}, "spec": {}}
    with suppress(AlreadyExists):
        await admin.create(LEASES, lease, SETTINGS.namespace)
