"""Somebody who does in Growth's name what Growth never may: so that the audit can be tested."""

import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.act.effect_hooks import EffectHooks, EffectPoint
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import CONFIG_MAPS, NAMESPACES, NODES, VOLUME_ATTACHMENTS
from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth.api.machine import MachineRequest, Power
from growth.api.out_of_service import PROOF, SHUTDOWN, Proof
from growth.api.tolerations import Taint
from growth.cloud.kwok.catalog import MachineBehavior, read_catalogue
from growth.cloud.kwok.machine_record import config_map_name, manifest, record_from
from growth.cloud.kwok.node_manifest import node_manifest
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists
from growth.kube.patches import MergePatch
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.environment import Process
from growth_lab.scenarios.replica import CATALOGUE, QUICK
from growth_lab.scenarios.simulated import play_virtually
from tests.trust.audit import Audit
from tests.trust.witness import Witness

SPACE: Final = QUICK.namespace


class Criminal:
    """Writes as Growth does, past or through its points, and without thinking."""

    def __init__(self, play: Play, process: Process) -> None:
        self.play, self.client, self._points = play, process.client, process.points

    async def through(self, point: EffectPoint, name: str, effect: Callable[[], Awaitable[object]]) -> None:
        """Do something as a decision would have it done."""
        subject = ObjectReference(kind="Node", name=name)
        self._points.before(point, subject)
        await effect()
        self._points.after(point, subject)

    async def pool(self, types: Sequence[Mapping[str, Any]], **spec: Any) -> None:  # noqa: ANN401
        """The pool ``default``."""
        body = {"metadata": {"name": "default"}, "spec": {"serverTypes": types, **spec}}
        await self.play.client.create(NODE_POOLS, body)

    async def request(self, name: str, *, planned_for: str = "", is_probe: bool = False) -> None:
        """A NodeRequest for a small machine."""
        notes = {"growth.dev/planned-for": planned_for, **({"growth.dev/probe": "true"} if is_probe else {})}
        spec = {"pool": "default", "targetOffering": "kwok-small-fsn1"}
        await self.client.create(NODE_REQUESTS, {"metadata": {"name": name, "annotations": notes}, "spec": spec})

    async def machine(self, name: str) -> None:
        """A small machine for the pool ``default``."""
        small = next(one for one in read_catalogue(CATALOGUE).offerings if one.id == "kwok-small-fsn1")
        body = manifest(MachineRequest(name, small, "default"), MachineBehavior(timedelta(0)), self.play.now())
        await self.through(EffectPoint.CREATE_MACHINE, name, lambda: self.client.create(CONFIG_MAPS, body, SPACE))

    async def give_back(self, name: str) -> None:
        """Delete the machine."""
        delete = self.client.delete
        await self.through(EffectPoint.DELETE_MACHINE, name, lambda: delete(CONFIG_MAPS, config_map_name(name), SPACE))

    async def node(self, name: str, *, taints: tuple[str, ...] = (), notes: Mapping[str, str] | None = None) -> None:
        """The Ready and open node of a machine that is there."""
        client = self.play.client
        record = record_from(await client.get(CONFIG_MAPS, config_map_name(name), SPACE))
        body = node_manifest(record)
        body["metadata"] |= {"labels": {**body["metadata"]["labels"], KWOK_LABEL: KWOK_VALUE}}
        body["metadata"]["annotations"] = {**body["metadata"].get("annotations", {}), **(notes or {})}
        body["spec"]["taints"] = [{"key": key, "effect": "NoSchedule"} for key in taints]
        await client.create(NODES, body)
        await self.play.ready(name)

    async def note(self, name: str, annotation: str) -> None:
        """Write an annotation on a node."""
        patch = MergePatch({"metadata": {"annotations": {annotation: uuid.uuid4().hex}}})
        await self.client.patch(NODES, name, patch)

    async def take_out(self, name: str) -> None:
        """Growth's taint on a node, with its note."""
        machine = record_from(await self.play.client.get(CONFIG_MAPS, config_map_name(name), SPACE))
        now = self.play.now()
        proof = Proof(now, machine.provider_id, now, Power.OFF, now, now, 3)
        notes = {PROOF: msgspec.json.encode(proof).decode()}
        await self._mark(self.client, name, notes, SHUTDOWN)

    async def take_back(self, name: str) -> None:
        """Neither taint nor note."""
        await self._mark(self.client, name, {PROOF: None}, None)

    async def taken_out_by_a_person(self, name: str) -> None:
        """The taint alone."""
        await self._mark(self.play.client, name, {}, SHUTDOWN)

    async def _mark(self, client: Client, name: str, notes: Mapping[str, str | None], mark: Taint | None) -> None:
        taints = [] if mark is None else [{"key": mark.key, "value": mark.value, "effect": mark.effect}]
        await client.patch(NODES, name, MergePatch({"metadata": {"annotations": notes}, "spec": {"taints": taints}}))

    async def hurt(self, name: str, annotations: Mapping[str, str | None]) -> None:
        """Something is written on a machine, such as that it is off."""
        patch = MergePatch({"metadata": {"annotations": annotations}})
        await self.client.patch(CONFIG_MAPS, config_map_name(name), patch, SPACE)

    async def attach(self, volume: str, node: str) -> None:
        """A volume hangs on a node."""
        spec = {"attacher": "criminal", "nodeName": node, "source": {"persistentVolumeName": volume}}
        await self.play.client.create(VOLUME_ATTACHMENTS, {"metadata": {"name": f"{volume}-{node}"}, "spec": spec})


def found_out(commit: Callable[[Criminal], Awaitable[None]]) -> list[str]:
    """What an audit says about a crime, on a virtual cluster without Growth."""
    witness = Witness()
    audit = Audit(witness.deeds)

    async def tell(play: Play) -> None:
        with suppress(AlreadyExists):
            await play.client.create(NAMESPACES, {"metadata": {"name": SPACE}})
        process = Process(play.client, play.backstage.host("criminal"), QUICK, EffectHooks())
        async with audit.following(play.client):
            await commit(Criminal(play, witness.around(process)))

    play_virtually(tell, alone=True)
    return [*audit.violations(), *audit.missing()]
