"""What is written on a node that a person takes out of service: the taint, and who did it, when and on what proof.

Out of service, by hand: the machine is proven dead, then taint and note are written in one edit.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from growth.act.action_runner import Clients, carry_out
from growth.api.actions import EditObject, Result
from growth.api.kinds import NODES
from growth.api.machine import Power, PowerReading
from growth.api.node import Node
from growth.api.out_of_service import HARDWARE, SHUTDOWN, Proof, out_of_service_taint
from growth.api.settings.model import Settings
from growth.api.timestamp import format_time
from growth.cli.errors import NotDone, UsageError
from growth.cli.node_proof import MachineProvider, NodeProof, NoProvider, OpenProviders, opened
from growth.cli.node_reader import NodeView, see_known, taken_out_by, timeline_of
from growth.cloud.errors import ProviderError
from growth.decide.failover.out_of_service import proven, tainted
from growth.kube.client import Client
from growth.kube.event_recorder import EventRecorder
from growth.run.provider_poller import OpenProvider

REASONS: Final = {taint.value: taint for taint in (SHUTDOWN, HARDWARE)}


class NodeNote(msgspec.Struct, frozen=True):
    """What a person asked for."""

    name: str
    by: str
    reason: str = ""
    """The taint's value; empty: as the provider's answer is."""
    fence: bool = False
    force: bool = False


def forced(reading: PowerReading | None, node: Node, options: NodeNote, at: datetime) -> Proof:
    """That there is no proof, and what a provider said, if one was asked."""
    read_at = reading.read_at if reading is not None else at
    return Proof(
        tainted_at=at,
        provider_id=node.spec.provider_id,
        last_sign=read_at,
        power=reading.power if reading is not None else Power.UNKNOWN,
        first_reading=read_at,
        last_reading=read_at,
        readings=0 if reading is None else 1,
        boot_id=node.status.node_info.boot_id,
        by=options.by,
        is_forced=True,
    )


# A node that dies is edited by several controllers at once. One that changes for longer is looked at by a person.
_ATTEMPTS: Final = 10
_SHOWN: Final = 10


class OperatorDialog(msgspec.Struct, frozen=True):
    """The person: told how far it is, and asked where something may be lost; with the time."""

    say: Callable[[str], None]
    agrees: Callable[[str], bool]
    now: Callable[[], datetime]


class NodeDrain:
    """One node's way out of service."""

    def __init__(self, client: Client, settings: Settings, options: NodeNote, talk: OperatorDialog) -> None:
        self._client, self._settings, self._wish, self._talk = client, settings, options, talk

    async def run(self, openers: Mapping[str, OpenProvider]) -> None:
        """Take it out; one that is out already is told of. Raises NotDone or Refused."""
        seen = await see_known(self._client, self._wish.name, self._talk.now)
        if out_of_service_taint(seen.node) is not None:
            self._talk.say(await self._already(seen.node))
            return
        async with opened(openers, self._client, self._talk.now) as providers:
            if self._wish.force:
                await self._force(seen, providers)
            else:
                await self._prove(seen.node, providers)

    async def _prove(self, node: Node, providers: OpenProviders) -> None:
        name, say, now = self._wish.name, self._talk.say, self._talk.now
        try:
            informant = providers.informant(node)
        except NoProvider as problem:
            unknown = f"node {name}: nobody can tell how its machine is: {problem}; nothing was done"
            force = f"If you know that it is off: growth node out-of-service {name} --force"
            raise NotDone(f"{unknown}. {force}") from problem
        proving = NodeProof(self._client, informant, self._settings.failover, now, say)
        if self._wish.fence:
            await proving.fence(node)
        case = await proving.prove(node)

        async def known(there: Node) -> Proof:
            return proven(await proving.renewed(case), there, now(), by=self._wish.by)

        await self._write(node, known)

    async def _force(self, seen: NodeView, providers: OpenProviders) -> None:
        reading = await self._asked_once(seen.node, providers)
        self._talk.say(what_may_be_lost(seen))
        if not self._talk.agrees(f"Take node {self._wish.name} out of service without proof?"):
            raise NotDone("nothing was done")

        async def known(there: Node) -> Proof:
            return forced(reading, there, self._wish, self._talk.now())

        await self._write(seen.node, known)

    async def _asked_once(self, node: Node, providers: OpenProviders) -> PowerReading | None:
        """What can be known without waiting, for the person who must decide."""
        try:
            informant: MachineProvider = providers.informant(node)
            reading = await informant.read()
        except (NoProvider, ProviderError) as problem:
            self._talk.say(f"nobody can tell how its machine is: {problem}")
            return None
        self._talk.say(f"{informant.place.provider} says: {reading.power.value}")
        return reading

    async def _write(self, seen: Node, known: Callable[[Node], Awaitable[Proof]]) -> None:
        """Taint and note, on the node as it is now; on no other one, and not over somebody else's."""
        name = self._wish.name
        for _ in range(_ATTEMPTS):
            node = await self._client.get(NODES, name)
            if (node.metadata.uid, node.spec.provider_id) != (seen.metadata.uid, seen.spec.provider_id):
                raise NotDone(f"node {name} is another one by now, or has another machine; nothing was done")
            if out_of_service_taint(node) is not None:
                self._talk.say(await self._already(node))  # Growth, or somebody else, was faster
                return
            why, taint = f"{self._wish.by} takes it out of service", REASONS.get(self._wish.reason)
            edit = tainted(node, await known(node), why, taint)
            if await is_carried_out(self._client, edit, self._talk.now):
                self._talk.say(f"node {name} is out of service")
                return
        raise NotDone(f"node {name} changes all the time, so it could not be edited; nothing was done. Ask again")

    async def _already(self, node: Node) -> str:
        name = node.metadata.name
        who, since = taken_out_by(node, await timeline_of(self._client, self._settings.namespace, name))
        when = f"since {format_time(since)}" if since else "since when, nobody wrote down"
        return f"node {name} is out of service already, by {who}, {when}"


async def is_carried_out(client: Client, edit: EditObject, now: Callable[[], datetime]) -> bool:
    """Whether an edit was made; not if the object has changed. Raises Refused with the server's words."""
    outcome = await carry_out(edit, Clients(client, EventRecorder(client, "growth-node", now=now), now))
    if outcome.result is Result.STALE:
        return False
    if outcome.result is not Result.DONE:
        raise UsageError(outcome.message)
    return True


def what_may_be_lost(seen: NodeView) -> str:
    """What a machine that runs after all would do harm to."""
    name = seen.node.metadata.name
    pods = [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in seen.left.pods]
    volumes = [one.spec.source.persistent_volume_name or one.metadata.name for one in seen.left.attachments]
    return (
        f"Nobody proved that the machine of node {name} is off. If it runs, its pods go on working while others\n"
        "start in their place, and its volumes are detached while it may write to them: data may be lost.\n"
        f"  pods that are ended:       {_some(pods)}\n"
        f"  volumes that are detached: {_some(volumes)}"
    )


def _some(names: list[str]) -> str:
    rest = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{rest}" if names else "none"
