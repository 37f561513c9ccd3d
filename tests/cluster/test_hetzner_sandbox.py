"""Servers of the sandbox are nodes of a real cluster, from the official client's create to a Node that is left over."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
from hcloud import Client

from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.tolerations import Taint
from growth.kube.errors import NotFound
from growth_lab.hetzner_sandbox.http_server import running
from growth_lab.hetzner_sandbox.kwok_nodes import KwokNodes
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Sandbox
from growth_lab.hetzner_sandbox.timings import boots_in
from growth_lab.local_cluster.cluster import LocalCluster
from lab.tests.hetzner_sandbox.tours import CAX11, DEBIAN, FSN1, Official
from tests.cluster.conftest import wait_until

pytestmark = pytest.mark.cluster

NAME = f"sandbox-{secrets.token_hex(4)}"
ARGUMENTS = "--node-labels=growth.dev/pool=default --register-with-taints=growth.dev/starting=me:NoSchedule"


@asynccontextmanager
async def sandbox_in(control_plane: LocalCluster) -> AsyncGenerator[Official]:
    """The official client of a sandbox whose servers become nodes there."""
    sandbox = Sandbox(lambda: datetime.now(UTC), timings=boots_in(0.5))
    nodes = asyncio.create_task(KwokNodes(control_plane.admin, sandbox).run())
    try:
        async with running(sandbox) as door:
            yield Client(TOKEN, door.endpoint, poll_interval=0.05)
            assert not nodes.done()
    finally:
        nodes.cancel()
        await asyncio.gather(nodes, return_exceptions=True)


async def test_a_server_is_a_node_as_long_as_it_has_power(control_plane: LocalCluster) -> None:
    async def node() -> Node:
        return await control_plane.admin.get(NODES, NAME)

    async def is_ready() -> bool:
        try:
            return (await node()).is_ready
        except NotFound:
            return False

    async def is_not_ready() -> bool:
        return not await is_ready()

    async with sandbox_in(control_plane) as client:
        made = await asyncio.to_thread(client.servers.create, NAME, CAX11, DEBIAN, location=FSN1, user_data=ARGUMENTS)
        await wait_until(is_ready, "the node was ready")
        first = await node()
        assert first.spec.provider_id == f"hcloud://{made.server.id}"
        assert first.spec.taints == (Taint("growth.dev/starting", "me", "NoSchedule"),)
        assert first.metadata.labels["growth.dev/pool"] == "default"
        assert first.status.capacity["cpu"] == "2"
        await asyncio.to_thread(made.server.power_off)
        await wait_until(is_not_ready, "the node was missed")
        await asyncio.to_thread(made.server.power_on)
        await wait_until(is_ready, "the node was back")
        assert (await node()).status.node_info.boot_id != first.status.node_info.boot_id
        await asyncio.to_thread(made.server.delete)
        await wait_until(is_not_ready, "the node was missed again")
        assert (await node()).metadata.uid == first.metadata.uid
    await control_plane.admin.delete(NODES, NAME)
