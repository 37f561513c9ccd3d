"""Growth at work in a story: the whole of ``growth run`` but for the process, under the role that the chart ships.

Growth acts on the whole cluster, so a story in which it acts has a cluster of its own for as long as it lasts.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.act.effect_hooks import EffectHooks
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import CONFIG_MAPS, EVENTS, LEASES, NAMESPACES
from growth.api.settings.model import (
    ConsolidateSettings,
    FailoverSettings,
    GrowSettings,
    MemorySettings,
    ProvidersSettings,
    ProvisionSettings,
    RegistrySettings,
    RemovalSettings,
    Settings,
)
from growth.cloud.kwok.catalog import Catalog, read_catalogue
from growth.cloud.kwok.faults import faults_from
from growth.cloud.kwok.machine_record import FAULTS, config_map_name
from growth.cloud.kwok.provider import KwokProvider
from growth.cloud.plugins import ProviderEnvironment
from growth.decide.contract import AnyCapability
from growth.decide.pipeline import CAPABILITIES
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists
from growth.kube.patches import MergePatch
from growth.run.health import ProcessHealth
from growth.run.provider_poller import OpenProvider
from growth.run.replica import ReplicaConfig, control, new_health
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.environment import Process

# Whole stories in seconds: what takes minutes in real life, in the same proportions.
QUICK: Final = Settings(
    providers=ProvidersSettings(enabled="kwok", read_every=timedelta(seconds=1)),
    grow=GrowSettings(
        count_failures_every=timedelta(seconds=1), back_off=timedelta(seconds=2), back_off_at_most=timedelta(seconds=4)
    ),
    provision=ProvisionSettings(
        machine_within=timedelta(seconds=8),
        ready_within=timedelta(seconds=6),
        keep_ready=timedelta(seconds=20),
        hand_over=timedelta(seconds=10),
        unmet=timedelta(seconds=4),
        unmet_at_most=timedelta(seconds=8),
        forget_after=timedelta(seconds=60),
    ),
    consolidate=ConsolidateSettings(
        every=timedelta(seconds=2),
        window=timedelta(seconds=6),
        drain_within=timedelta(seconds=8),
        kept_for=timedelta(seconds=60),
    ),
    removal=RemovalSettings(retry_after=timedelta(seconds=3), attempts=2, leaked_after=timedelta(seconds=8)),
    registry=RegistrySettings(
        check_every=timedelta(seconds=1),
        foreign_halt_at_most=timedelta(seconds=10),
        improves_after=timedelta(seconds=2),
    ),
    failover=FailoverSettings(
        read_every=timedelta(seconds=0.4), proven_after=timedelta(seconds=0.8), return_after=timedelta(seconds=2)
    ),
    memory=MemorySettings(checkpoint_after=timedelta(seconds=0.5), finalizer_deadline=timedelta(seconds=3)),
)
CATALOGUE: Final = """
provider: kwok
bootDelay: 1s
locations: {fsn1: {}, nbg1: {}}
reserved: {cpu: 100m, memory: 256Mi}
serverTypes:
  - {name: small, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.01, nbg1: 0.011}}
  - {name: medium, resources: {cpu: 4, memory: 8Gi}, prices: {fsn1: 0.019, nbg1: 0.02}}
  - {name: large, resources: {cpu: 8, memory: 16Gi}, prices: {fsn1: 0.037, nbg1: 0.038}}
"""
# Nobody stops anything.
_NOWHERE: Final = EffectHooks()


class Growth:
    """Growth while it runs in a story, and its machines."""

    def __init__(
        self,
        play: Play,
        settings: Settings,
        catalogue: str,
        *,
        others: Mapping[str, OpenProvider],
        points: EffectHooks,
        capabilities: Sequence[AnyCapability],
    ) -> None:
        self._play, self.settings, self.catalogue = play, settings, catalogue
        self._others, self._points, self._capabilities = others, points, capabilities
        self._provider: KwokProvider | None = None
        self._health: ProcessHealth | None = None
        self._faults: Mapping[str, str] = {}

    def metrics(self) -> str:
        """What the process that was started last shows to Prometheus; empty before."""
        return self._health.metrics.text().decode() if self._health is not None else ""

    def set_catalogue(self, text: str) -> None:
        """From now on this is sold, and this is what goes wrong with it."""
        self.catalogue = text
        self._show_catalogue()

    def set_faults(self, faults: Mapping[str, str]) -> None:
        """From now on this goes wrong with machines of these offerings, by id, beside what the catalogue states."""
        self._faults = faults
        self._show_catalogue()

    def _show_catalogue(self) -> None:
        if self._provider is not None:
            self._provider.catalogue = self._with_faults(read_catalogue(self.catalogue))

    def _with_faults(self, catalogue: Catalog) -> Catalog:
        behaviours = dict(catalogue.behaviours)
        for offering, text in self._faults.items():
            faults = (*behaviours[offering].faults, *faults_from(text))
            behaviours[offering] = msgspec.structs.replace(behaviours[offering], faults=faults)
        return msgspec.structs.replace(catalogue, behaviours=behaviours)

    async def hurt(self, name: str, faults: str) -> None:
        """Something goes wrong with a machine that runs; an empty text mends it."""
        patch = MergePatch({"metadata": {"annotations": {FAULTS: faults}}})
        await self._play.client.patch(CONFIG_MAPS, config_map_name(name), patch, self.settings.namespace)

    async def run(self) -> None:
        """One replica, until cancelled. Where somebody kills its process another one is started, as a Deployment would
        do."""
        dead: list[asyncio.Task[None]] = []
        try:
            while True:
                process = await self._process()
                life = asyncio.create_task(self._live(process))
                if not await _is_killed(process, life):
                    return
                dead.append(life)
        finally:
            for life in dead:
                life.cancel()  # it may still tidy up, in vain: nothing of it gets out
            await asyncio.gather(*dead, return_exceptions=True)

    async def _process(self) -> Process:
        backstage = self._play.backstage
        host = backstage.host(f"growth-{self._play.namespace}-{next(self._play.processes)}")
        return backstage.around(Process(await backstage.client(), host, self.settings, self._points))

    async def _live(self, process: Process) -> None:
        """One process, until cancelled."""

        @asynccontextmanager
        async def open_kwok(client: Client) -> AsyncGenerator[KwokProvider]:
            async with process.open_kwok(
                ProviderEnvironment(client, self.settings.namespace, self._play.now)
            ) as provider:
                provider.catalogue = self._with_faults(read_catalogue(self.catalogue))
                self._provider = provider  # of the leader, who alone opens one
                yield provider

        plant = ReplicaConfig(
            client=process.client,
            lease_client=process.client,
            settings=process.settings,
            capabilities=self._capabilities,
            host=process.host,
            providers={"kwok": open_kwok, **self._others},
            points=process.points,
        )
        self._health = new_health()
        await control(plant, self._health)


async def _is_killed(process: Process, life: asyncio.Task[None]) -> bool:
    """Wait until somebody kills it, which is True, or it ends by itself or with us, and then raise what it raises."""
    killed = asyncio.ensure_future(process.killed())
    try:
        await asyncio.wait({life, killed}, return_when=asyncio.FIRST_COMPLETED)
        if killed.done():
            life.cancel()
            return True
        await life
    finally:
        killed.cancel()
        if not killed.done():
            life.cancel()
            await asyncio.wait({life})
    return False


@asynccontextmanager
async def growing(
    play: Play,
    *,
    settings: Settings = QUICK,
    catalogue: str = CATALOGUE,
    others: Mapping[str, OpenProvider] | None = None,
    points: EffectHooks = _NOWHERE,
    replicas: int = 1,
    capabilities: Sequence[AnyCapability] = CAPABILITIES,
) -> AsyncGenerator[Growth]:
    """Growth runs as long as the context lasts; if it fails or is stopped at one of the points, the context does.

    ``others`` are providers beside kwok. Of several ``replicas`` one leads, as in a Deployment. It starts when
    the scenario's nodes have booted: else the first thing that it sees on a slow cluster is a node that is not ready.
    """
    await _install(play, settings)
    if play.encore is None:
        await play.booted()
    growth = Growth(play, settings, catalogue, others=others or {}, points=points, capabilities=capabilities)
    play.encore = lambda: growing(
        play, settings=settings, catalogue=growth.catalogue, others=others, capabilities=capabilities
    )
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(growth.run(), name=f"growth {number}") for number in range(replicas)]
            yield growth
            for replica in running:
                replica.cancel()
    except BaseExceptionGroup as group:
        raise group.exceptions[0] from None


async def _install(play: Play, settings: Settings) -> None:
    """The namespaces and the empty Lease, as ``growth manifests`` brings them: so nobody waits for a holder's end."""
    lease = {"metadata": {"name": settings.leader_election.lease_name}, "spec": {}}
    for namespace in (settings.namespace, settings.memory.namespace, settings.memory.transaction_namespace):
        with suppress(AlreadyExists):
            await play.client.create(NAMESPACES, {"metadata": {"name": namespace}})
    with suppress(AlreadyExists):
        await play.client.create(LEASES, lease, settings.namespace)


async def a_pool(play: Play, name: str = "default", types: str = "small medium large", **spec: Any) -> None:  # noqa: ANN401
    """A pool of these server types, with whatever else its spec should say, in camelCase."""
    stated: Mapping[str, Any] = {"serverTypes": [{"name": one} for one in types.split()], **spec}
    await play.create(NODE_POOLS, {"metadata": {"name": name}, "spec": stated})


async def events_of(play: Play, name: str) -> set[str]:
    """The reasons of all events that tell about an object of this name."""
    events = (await play.client.list(EVENTS)).items
    return {event.reason for event in events if event.regarding.name == name}


async def until_told(play: Play, name: str, reason: str) -> None:
    """Wait until an event with this reason tells about an object of this name."""

    async def is_reported() -> bool:
        return reason in await events_of(play, name)

    await play.until_found(is_reported, f"an event {reason} tells about {name}")
