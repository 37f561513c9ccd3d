"""The played cloud: it looks at machines, nodes and the clock, and makes the nodes what the machines say.

It keeps nothing that cannot be read again. It may run twice at once, late, or after a crash anywhere: before it ends
anything it reads the machine anew, and every move can be repeated (see ``moves``).
"""

import asyncio
import heapq
import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from growth.api.change import Change, ChangeType
from growth.api.core import ConfigMap
from growth.api.kinds import CONFIG_MAPS, CSI_NODES, NODES
from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth.api.machine import Power
from growth.api.node import Node
from growth.api.timestamp import format_micro_time
from growth.cloud.errors import Invalid
from growth.cloud.kwok.machine_record import (
    POWER_CUT_AT,
    SELECTOR,
    MachineRecord,
    config_map_name,
    machine_name,
    record_from,
    scheme_of,
    state_of,
)
from growth.cloud.kwok.node_manifest import csi_node_manifest, node_manifest, owner_reference
from growth.cloud.kwok.transitions import (
    Enliven,
    Forget,
    Move,
    Register,
    Remove,
    Silence,
    has_yet_to_reboot,
    next_move,
)
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists, KubeError, NotFound
from growth.kube.informer import Informer
from growth.kube.patches import MergePatch

_LOG: Final = logging.getLogger(__name__)

# After a move that failed. Nobody waits for a played machine, and a server in trouble needs no help with that.
_AGAIN_SECONDS: Final = 1.0
# Wall clocks can be set back or forth, and then a timer would ring at the wrong time.
_LOOK_SECONDS: Final = 60.0
# How many machines are looked after at one time.
_AT_ONCE: Final = 16


class MachineController:
    """Turns the machines of one namespace into nodes, for as long as ``run`` runs."""

    def __init__(self, client: Client, namespace: str, now: Callable[[], datetime]) -> None:
        self._client = client
        self._namespace = namespace
        self._now = now
        self._machines: dict[str, ConfigMap] = {}
        self._nodes: dict[str, Node] = {}
        self._due: list[tuple[datetime, str]] = []
        self._timers: dict[str, datetime] = {}
        self._unseen: dict[str, None] = {}
        self._news = asyncio.Event()

    async def run(self) -> None:
        """Follow machines, nodes and the clock until cancelled."""
        machines = Informer(
            self._client, CONFIG_MAPS, self._hear_machines, namespace=self._namespace, label_selector=SELECTOR
        )
        nodes = Informer(self._client, NODES, self._hear_nodes)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(machines.run(), name="kwok machines")
                tasks.create_task(nodes.run(), name="kwok nodes")
                await machines.synced.wait()
                await nodes.synced.wait()
                while True:
                    await self._look_after(self._to_look_at())
                    await self._wait_for_news()
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    # Hearing

    def _hear_machines(self, changes: list[Change[ConfigMap]]) -> None:
        for change in changes:
            name = machine_name(change.now)
            if change.happened is not ChangeType.DELETED:
                self._machines[name] = change.now
            elif (known := self._machines.get(name)) and known.metadata.uid == change.now.metadata.uid:
                del self._machines[name]
            self._look_at(name)

    def _hear_nodes(self, changes: list[Change[Node]]) -> None:
        for change in changes:
            if not change.now.spec.provider_id.startswith(scheme_of(self._namespace)):
                continue
            name = change.now.metadata.name
            if change.happened is not ChangeType.DELETED:
                self._nodes[name] = change.now
            elif (known := self._nodes.get(name)) and known.metadata.uid == change.now.metadata.uid:
                del self._nodes[name]
            self._look_at(name)

    def _look_at(self, name: str) -> None:
        self._unseen[name] = None
        self._news.set()

    # Waiting

    def _to_look_at(self) -> list[str]:
        self._news.clear()
        now = self._now()
        while self._due and self._due[0][0] <= now:
            self._unseen[heapq.heappop(self._due)[1]] = None
        names = list(self._unseen)
        self._unseen.clear()
        return names

    async def _wait_for_news(self) -> None:
        until_due = (self._due[0][0] - self._now()).total_seconds() if self._due else _LOOK_SECONDS
        try:
            async with asyncio.timeout(min(max(until_due, 0.0), _LOOK_SECONDS)):
                await self._news.wait()
        except TimeoutError:
            return

    # Doing

    async def _look_after(self, names: list[str]) -> None:
        slots = asyncio.Semaphore(_AT_ONCE)

        async def one(name: str) -> None:
            async with slots:
                await self._step(name)

        async with asyncio.TaskGroup() as tasks:
            for name in names:
                tasks.create_task(one(name), name=f"machine {name}")

    async def _step(self, name: str) -> None:
        """One move for one machine, if one is due. What it changes is heard, and leads to the next one."""
        try:
            machine = self._machines.get(name)
            record = record_from(machine) if machine else None
            move = next_move(record, self._nodes.get(name), self._now())
            if move is not None and not isinstance(move, Register | Enliven):
                # Nothing ends on hearsay. What begins too late ends by itself, when we hear that its machine is gone.
                record = await self._read_anew(name)
                move = next_move(record, self._nodes.get(name), self._now())
            if move is not None:
                await self._do(move)
            self._set_timer(name, record)
        except Invalid as error:  # mended by whoever wrote it, and then we hear of it
            _LOG.warning("machine %s is left as it is: %s", name, error)
        except KubeError as error:
            _LOG.warning("machine %s: looking again in %.0f s after: %s", name, _AGAIN_SECONDS, error)
            heapq.heappush(self._due, (self._now() + timedelta(seconds=_AGAIN_SECONDS), name))

    def _set_timer(self, name: str, record: MachineRecord | None) -> None:
        changes_at = state_of(record, self._now()).changes_at if record else None
        if changes_at is None:
            self._timers.pop(name, None)
        elif self._timers.get(name) != changes_at:
            self._timers[name] = changes_at
            heapq.heappush(self._due, (changes_at, name))

    async def _read_anew(self, name: str) -> MachineRecord | None:
        """What we heard may be older than what we change, and a node may be here before we heard of its machine."""
        try:
            return record_from(await self._client.get(CONFIG_MAPS, config_map_name(name), self._namespace))
        except NotFound:
            return None

    async def _do(self, move: Move) -> None:
        _LOG.info("%s: %s", move.name, type(move).__name__.lower())
        try:
            match move:
                case Forget(record):
                    await self._client.delete(
                        CONFIG_MAPS, config_map_name(record.name), self._namespace, uid=record.uid
                    )
                case Register(record):
                    await self._client.create(NODES, node_manifest(record))
                case Enliven(record, node):
                    await self._enliven(record, node)
                case Silence(record, node):
                    await self._silence(record, node)
                case Remove(node):
                    await self._client.delete(NODES, node.metadata.name, uid=node.metadata.uid)
        except (AlreadyExists, NotFound):
            return  # done by somebody else, or not to be done any more: the change is on its way to us

    async def _enliven(self, record: MachineRecord, node: Node) -> None:
        try:
            await self._client.create(CSI_NODES, csi_node_manifest(node))
        except AlreadyExists:  # of an earlier life, and perhaps of an earlier node that takes it along when it goes
            owner = MergePatch({"metadata": {"ownerReferences": [owner_reference(node)]}})
            await self._client.patch(CSI_NODES, node.metadata.name, owner)
        if has_yet_to_reboot(record, node):
            boot = MergePatch({"status": {"nodeInfo": {"bootID": record.boot_id}}})
            await self._client.patch(NODES, node.metadata.name, boot, subresource="status")
        await self._label(node, KWOK_VALUE, {POWER_CUT_AT: record.power_cut_at or None})

    async def _silence(self, record: MachineRecord | None, node: Node) -> None:
        if record is not None and state_of(record, self._now()).power in (Power.OFF, Power.FAILED):
            stamp = {POWER_CUT_AT: format_micro_time(self._now())}
            patch = MergePatch({"metadata": {"uid": record.uid, "annotations": stamp}})
            await self._client.patch(CONFIG_MAPS, config_map_name(record.name), patch, self._namespace)
        await self._label(node, None)

    async def _label(self, node: Node, value: str | None, annotations: Mapping[str, str | None] | None = None) -> None:
        metadata = {"uid": node.metadata.uid, "labels": {KWOK_LABEL: value}, "annotations": annotations or {}}
        patch = MergePatch({"metadata": metadata})
        await self._client.patch(NODES, node.metadata.name, patch)
