"""Whom to ask about a node's machine: the providers of the settings, opened as ``growth run`` opens them."""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import msgspec

from growth.api.machine import Power, PowerReading
from growth.api.node import Node
from growth.api.offering import POOL
from growth.api.provider_state import ProviderState
from growth.cli.node_seeing import Now
from growth.cloud.errors import ProviderError
from growth.cloud.provider import Provider
from growth.decide.failover.evidence import why_not_believed
from growth.decide.failover.machine_lookup import MachineLocation, MachineLookup
from growth.kube.client import Client
from growth.run.provider_poller import OpenProvider

# A person waits: a provider that says nothing for so long has no answer.
PATIENCE_SECONDS: Final = 30.0


class NoProvider(Exception):
    """Nobody can be asked about a machine; the sentence says why, and what to do."""


class MachineProvider(msgspec.Struct, frozen=True):
    """The provider that has the machine, and how it calls it."""

    provider: Provider
    place: MachineLocation
    machines: MachineLookup

    async def read(self) -> PowerReading:
        """The machine's power now; raises ProviderError."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await self.provider.power(self.place.machine_id)
        except TimeoutError:
            raise ProviderError(f"there was no answer within {PATIENCE_SECONDS:.0f} s") from None

    def doubt(self, reading: PowerReading, node: Node, others: Iterable[Node]) -> str:
        """Why this answer about the machine of this node is not believed; empty if it is."""
        if reading.power is not Power.GONE:
            return ""
        if POOL not in node.metadata.labels:
            return "its provider says that it has no such machine, and it may never have had it"
        working = (other for other in others if other.is_ready and POOL in other.metadata.labels)
        return why_not_believed(self.machines, node.spec.provider_id, working)


class OpenProviders:
    """Those that are open, what they listed, and what those said that could not be asked."""

    def __init__(self) -> None:
        self.open: dict[str, Provider] = {}
        self.clouds: dict[str, ProviderState] = {}

    def informant(self, node: Node) -> MachineProvider:
        """Who knows about this node's machine; raises Nobody."""
        provider_id, machines = node.spec.provider_id, MachineLookup(self.clouds)
        if not provider_id:
            raise NoProvider("it has no spec.providerID, by which a provider would know its machine")
        if not self.clouds:
            raise NoProvider(
                "providers.enabled names no provider: give the settings of growth run with --settings FILE"
            )
        place = machines.place(provider_id)
        if place is not None:
            return MachineProvider(self.open[place.provider], place, machines)
        silent = [f"{name} does not answer ({cloud.problem})" for name, cloud in self.clouds.items() if cloud.problem]
        asked = [f"{name} lists no machine whose id begins like it" for name in self.clouds if name in self.open]
        raise NoProvider(f"its machine is {provider_id}, and {'; '.join((*silent, *asked))}")


@asynccontextmanager
async def opened(openers: Mapping[str, OpenProvider], client: Client, now: Now) -> AsyncGenerator[OpenProviders]:
    """All providers, each asked once which machines it has; one that fails is noted, and stops no other."""
    providers = OpenProviders()
    async with AsyncExitStack() as stack:
        for name, opener in openers.items():
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    provider = await stack.enter_async_context(opener(client))
                    read_at, machines = now(), await provider.list()
            except TimeoutError:
                silence = f"there was no answer within {PATIENCE_SECONDS:.0f} s"
                providers.clouds[name] = ProviderState(name, problem=silence)
            except ProviderError as error:
                providers.clouds[name] = ProviderState(name, problem=str(error))
            else:
                providers.open[name] = provider
                providers.clouds[name] = ProviderState(name, (), tuple(machines), read_at)
        yield providers
