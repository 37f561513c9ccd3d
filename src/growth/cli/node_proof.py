"""Whom to ask about a node's machine: the providers of the settings, opened as ``growth run`` opens them.

The proof that a node's machine is dead, made while a person looks on: the same that Growth makes by itself.

Nobody is believed who says it once. The provider must say it several times over a while, and the node must be silent
meanwhile: one whose Lease is renewed lives, whatever its provider says about some machine.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

import msgspec

from growth.act.action_runner import Clients, carry_out
from growth.api.actions import FenceMachine, Result
from growth.api.change import Change, ChangeType
from growth.api.kinds import NODES
from growth.api.machine import Power, PowerReading
from growth.api.node import Node
from growth.api.offering import POOL
from growth.api.provider_state import ProviderState
from growth.api.settings.model import FailoverSettings
from growth.api.timestamp import format_time
from growth.cli.errors import NotDone
from growth.cli.node_reader import Now, lease_of
from growth.cloud.errors import ProviderError
from growth.cloud.provider import Provider
from growth.decide.failover.context import reference
from growth.decide.failover.evidence import READINGS, Finding, NodeCase, why_not_believed
from growth.decide.failover.machine_lookup import MachineLocation, MachineLookup
from growth.kube.client import Client
from growth.kube.event_recorder import EventRecorder
from growth.observe.lease_heartbeats import NodeHeartbeat, NodeHeartbeats
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


# So many questions without an answer, one after the other, and nobody can tell.
_MISSES: Final = 3
_DONE: Final = "nothing was done"


class NodeProof:
    """One node's proof. ``say`` shows how far it is."""

    def __init__(
        self, client: Client, informant: MachineProvider, terms: FailoverSettings, now: Now, say: Callable[[str], None]
    ) -> None:
        self._client, self._informant, self._terms, self._now, self._say = client, informant, terms, now, say
        self._heartbeats = NodeHeartbeats(now)
        self._who = informant.place.provider

    async def fence(self, node: Node) -> None:
        """Power its machine off, unless it is off already; a node that is ready is left alone."""
        name = node.metadata.name
        reading = await self._read(name)
        if reading.is_dead:
            self._say(f"its machine is {reading.power.value} already")
            return
        self._say(f"its machine is {reading.power.value}: {self._who} is asked to power it off")
        place = self._informant.place
        action = FenceMachine(
            subject=reference(node), why="a person asks for it", provider=self._who, machine_id=place.machine_id
        )
        recorder = EventRecorder(self._client, "growth-node", now=self._now)
        outcome = await carry_out(
            action, Clients(self._client, recorder, self._now, {self._who: self._informant.provider})
        )
        if outcome.result is Result.STALE:
            wait = "Kubernetes calls a silent node NotReady within a minute; one that works is drained: kubectl drain"
            raise NotDone(f"node {name} is ready, so its machine is not powered off; {wait}")
        if outcome.result is not Result.DONE:
            raise NotDone(f"node {name}: {self._who} did not power its machine off: {outcome.message}")
        self._say("it is powered off")

    async def prove(self, node: Node) -> NodeCase:
        """All that was learnt, when it is enough; raises NotDone when it is not, with what to do."""
        name, began = node.metadata.name, self._now()
        heartbeat = await self._heard(name)
        renewed_at = heartbeat.renewed_at if heartbeat is not None else None
        case = NodeCase(name, node.metadata.uid, node.spec.provider_id, min(renewed_at or began, began), began)
        while True:
            case = await self._after(case, await self._read(name))
            if case.is_proven(self._terms) and await self._is_silent(name):
                return case
            await asyncio.sleep(self._terms.read_every.total_seconds())

    async def renewed(self, case: NodeCase) -> NodeCase:
        """With an answer that is young enough to act on."""
        if case.is_fresh(self._now()):
            return case
        return await self._after(case, await self._read(case.name))

    async def _after(self, case: NodeCase, reading: PowerReading) -> NodeCase:
        """What is known after this answer; raises NotDone if it is no good."""
        case = case.told(reading)
        count = case.answers.count if case.answers is not None else 0
        self._say(f"{self._who} says: {reading.power.value} (answer {count}, {READINGS} are needed)")
        if case.answers is None:
            return case
        self._check(case, reading)
        if doubt := await self._doubt(case.name, reading):
            raise NotDone(f"node {case.name}: {doubt}; {_DONE}. Is this the right account of {self._who}?")
        heartbeat = await self._heard(case.name)
        if heartbeat is not None and heartbeat.is_renewal:
            at = format_time(heartbeat.heard_at)
            raise NotDone(f"node {case.name} lives: it renewed its Lease at {at}, while it was looked at; {_DONE}")
        return case

    def _check(self, case: NodeCase, reading: PowerReading) -> None:
        name, machine = case.name, case.provider_id
        match case.finding(self._terms):
            case Finding.RUNNING:
                risk = "out of service, its volumes would be torn off while it may write to them"
                hung = (
                    f"If it hangs, or nobody reaches it: growth node out-of-service {name} --fence powers it off first"
                )
                raise NotDone(
                    f"node {name}: its machine {machine} runs, says {self._who}; {risk}, so {_DONE}. {hung}. "
                    f"If it is well: kubectl drain {name}"
                )
            case Finding.CHANGING:
                what = "and something is being done to it" if reading.is_changing else "which is neither on nor off"
                raise NotDone(
                    f"node {name}: its machine {machine} is {reading.power.value}, {what}; {_DONE}. "
                    "Ask again when that is over"
                )
            case _:
                pass

    async def _doubt(self, name: str, reading: PowerReading) -> str:
        if reading.power is not Power.GONE:
            return ""
        nodes = {one.metadata.name: one for one in (await self._client.list(NODES)).items}
        if name not in nodes:
            raise NotDone(f"node {name} is gone, so there is nothing to take out of service")
        return self._informant.doubt(reading, nodes[name], nodes.values())

    async def _read(self, name: str) -> PowerReading:
        """An answer, after as much patience as a person has."""
        for miss in range(1, _MISSES):
            try:
                return await self._informant.read()
            except ProviderError as error:
                self._say(f"{self._who} does not answer ({miss} of {_MISSES}): {error}")
                await asyncio.sleep(self._terms.read_every.total_seconds())
        try:
            return await self._informant.read()
        except ProviderError as error:
            unknown = f"node {name}: nobody can tell how its machine is: {self._who}: {error}; {_DONE}"
            raise NotDone(f"{unknown}. Ask again later") from error

    async def _heard(self, name: str) -> NodeHeartbeat | None:
        """Its last sign of life, and whether that came while we look."""
        lease = await lease_of(self._client, name)
        if lease is None:
            return None
        self._heartbeats.hear([Change(ChangeType.MODIFIED, lease, None)])
        return self._heartbeats.of(name)

    async def _is_silent(self, name: str) -> bool:
        """Whether nobody has heard of it: Kubernetes says so, or it missed two renewals before our eyes."""
        node, heartbeat = await self._client.get(NODES, name), self._heartbeats.of(name)
        if not node.is_ready:
            return True
        if heartbeat is None:
            raise NotDone(f"node {name} is ready and has no Lease, so nobody can tell whether it is silent; {_DONE}")
        is_silent = heartbeat.is_silent(self._now())
        if not is_silent:
            self._say("Kubernetes still calls it Ready: two renewals of its Lease must be missed")
        return is_silent
