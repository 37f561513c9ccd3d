"""``--boot kwok``: servers of the sandbox become nodes of a cluster that kwok keeps alive.

| server                 | its node (of the same name)       | move |
|------------------------|-----------------------------------|---|
| runs                   | missing                           | register, silent |
| runs                   | silent, or of an earlier boot     | enliven: kwok's label comes last |
| off, or on its way     | with kwok's label                 | silence: the control plane notices by itself |
| gone, or cut off       | with kwok's label                 | silence |

A Node object whose server is gone stays, as it does at Hetzner where no cloud controller removes it: that is Growth's
work. Moves can be repeated, and what is still to be done is seen from what is there.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from growth.api.change import Change, ChangeType
from growth.api.kinds import CSI_NODES, NODES
from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth.api.meta import FrozenValue
from growth.api.node import Node
from growth.cloud.kwok.node_manifest import csi_node_manifest, owner_reference
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists, Conflict, KubeError, NotFound
from growth.kube.informer import Informer
from growth.kube.patches import MergePatch
from growth_lab.hetzner_sandbox.node_manifest import SCHEME, boot_id, node_manifest, node_name
from growth_lab.hetzner_sandbox.records import Server, Status
from growth_lab.hetzner_sandbox.sandbox import Sandbox

_LOG: Final = logging.getLogger(__name__)

# How often servers are looked at. They change by calls from outside, of which nobody tells us.
_LOOK_SECONDS: Final = 0.2


class Kind(StrEnum):
    """What can be done to a node."""

    REGISTER = "register"
    ENLIVEN = "enliven"
    SILENCE = "silence"


class Move(FrozenValue, frozen=True):
    """One thing to do about one node."""

    kind: Kind
    name: str


def moves(servers: Iterable[Server], nodes: Mapping[str, Node]) -> list[Move]:
    """What is to be done now, at most one move for each node."""
    running = {node_name(one): one for one in servers if one.status is Status.RUNNING}
    found: list[Move] = []
    for name, server in running.items():
        node = nodes.get(name)
        if node is None:
            found.append(Move(Kind.REGISTER, name))
        elif not _is_played(node) or node.status.node_info.boot_id != boot_id(server):
            found.append(Move(Kind.ENLIVEN, name))
    silent = [name for name, node in nodes.items() if name not in running and _is_played(node)]
    return [*found, *(Move(Kind.SILENCE, name) for name in silent)]


class KwokNodes:
    """Keeps the nodes of one cluster what the servers of one sandbox say, for as long as ``run`` runs."""

    def __init__(self, client: Client, sandbox: Sandbox) -> None:
        self._client = client
        self._sandbox = sandbox
        self._nodes: dict[str, Node] = {}

    async def run(self) -> None:
        """Until cancelled. Raises what needs a person, such as a missing right."""
        informer = Informer(self._client, NODES, self._hear)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(informer.run(), name="nodes of the sandbox")
                await informer.synced.wait()
                while True:
                    await self.step()
                    await asyncio.sleep(_LOOK_SECONDS)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None

    async def step(self) -> None:
        """Make every move that is due."""
        servers = {node_name(one): one for one in self._sandbox.connected_servers()}
        async with asyncio.TaskGroup() as tasks:
            for move in moves(servers.values(), self._nodes):
                tasks.create_task(self._make(move, servers.get(move.name)), name=f"node {move.name}")

    def _hear(self, changes: list[Change[Node]]) -> None:
        for change in changes:
            name = change.now.metadata.name
            if change.happened is ChangeType.DELETED:
                self._nodes.pop(name, None)
            elif change.now.spec.provider_id.startswith(SCHEME):
                self._nodes[name] = change.now

    async def _make(self, move: Move, server: Server | None) -> None:
        _LOG.info("%s: %s", move.name, move.kind)
        try:
            if move.kind is Kind.SILENCE:
                self._nodes[move.name] = await self._label(self._nodes[move.name], None)
            elif server and move.kind is Kind.REGISTER:
                self._nodes[move.name] = await self._client.create(NODES, node_manifest(server))
            elif server:
                self._nodes[move.name] = await self._enliven(server, self._nodes[move.name])
        except (AlreadyExists, NotFound, Conflict):
            return  # somebody else's node, or gone meanwhile: we shall hear of it
        except KubeError as error:
            _LOG.warning("node %s: trying again after: %s", move.name, error)

    async def _enliven(self, server: Server, node: Node) -> Node:
        try:
            await self._client.create(CSI_NODES, csi_node_manifest(node))
        except AlreadyExists:  # of an earlier life
            owner = MergePatch({"metadata": {"ownerReferences": [owner_reference(node)]}})
            await self._client.patch(CSI_NODES, node.metadata.name, owner)
        boot = MergePatch({"status": {"nodeInfo": {"bootID": boot_id(server)}}})
        await self._client.patch(NODES, node.metadata.name, boot, subresource="status")
        return await self._label(node, KWOK_VALUE)

    async def _label(self, node: Node, value: str | None) -> Node:
        patch = MergePatch({"metadata": {"uid": node.metadata.uid, "labels": {KWOK_LABEL: value}}})
        return await self._client.patch(NODES, node.metadata.name, patch)


def _is_played(node: Node) -> bool:
    return node.metadata.labels.get(KWOK_LABEL) == KWOK_VALUE
