"""The KWOK provider under the shipped role: it keeps the contract, and its machines become nodes and end as such."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest
import pytest_asyncio

from growth.api.kinds import CONFIG_MAPS, CSI_NODES, NODES
from growth.api.kwok import KWOK_LABEL
from growth.api.machine import Machine, Power, request_for
from growth.api.node import Node
from growth.api.taints import closed
from growth.cloud.kwok.faults import Fault, FaultType
from growth.cloud.kwok.machine_controller import MachineController
from growth.cloud.kwok.machine_record import FAULTS, config_map_name
from growth.cloud.kwok.provider import KwokProvider
from growth.decide.fit.template_node import node_from
from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.provider_contract import CHECKS, Check, run_check
from tests.cloud.kwok_trial import CATALOGUE, GPU, POOL, SMALL, KwokTrial, with_faults
from tests.cluster.conftest import wait_until
from tests.repository import ROOT

pytestmark = pytest.mark.cluster

RBAC = ROOT / "charts" / "growth" / "rbac.yaml"
NAMESPACE, ACCOUNT = "growth-system", "growth"


def now() -> datetime:
    return datetime.now(UTC)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def growth(control_plane: LocalCluster) -> Client:
    """What Growth may do, and nothing else."""
    await control_plane.apply(RBAC)
    return await control_plane.client_as(NAMESPACE, ACCOUNT)


@asynccontextmanager
async def played(client: Client, *faults: Fault) -> AsyncGenerator[KwokProvider]:
    """A provider and the cloud behind it; every machine that it has is gone in the end."""
    cloud = asyncio.create_task(MachineController(client, NAMESPACE, now).run())
    provider = KwokProvider(client, NAMESPACE, with_faults(CATALOGUE, *faults), now)
    try:
        yield provider
        assert not cloud.done()
    finally:
        for config_map in (await client.list(CONFIG_MAPS, NAMESPACE)).items:
            if config_map.metadata.name.startswith(config_map_name("")):
                await client.delete(CONFIG_MAPS, config_map.metadata.name, NAMESPACE)
        cloud.cancel()


async def node_of(admin: Client, machine: Machine) -> Node | None:
    try:
        return await admin.get(NODES, machine.name)
    except NotFound:
        return None


async def until_node(admin: Client, machine: Machine, *, ready: bool) -> Node:
    async def has_come_true() -> bool:
        node = await node_of(admin, machine)
        return node is not None and node.is_ready is ready

    await wait_until(has_come_true, f"{machine.name} is {'Ready' if ready else 'not Ready'}")
    node = await node_of(admin, machine)
    assert node is not None
    return node


async def until_no_node(admin: Client, machine: Machine) -> None:
    async def is_gone() -> bool:
        return await node_of(admin, machine) is None

    await wait_until(is_gone, f"the node {machine.name} is removed")


async def order(admin: Client, machine: Machine, faults: str) -> None:
    patch = MergePatch({"metadata": {"annotations": {FAULTS: faults}}})
    await admin.patch(CONFIG_MAPS, config_map_name(machine.name), patch, NAMESPACE)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_kwok_provider_keeps_the_contract(growth: Client, check: Check) -> None:
    await run_check(check, KwokTrial(growth.transport, NAMESPACE, now, asyncio.sleep))


async def test_a_machine_becomes_the_node_that_was_planned_and_ends_with_it(
    control_plane: LocalCluster, growth: Client
) -> None:
    admin = control_plane.admin
    async with played(growth) as provider:
        machine = await provider.create(request_for("kwok-planned", POOL, GPU))
        assert machine.power is Power.STARTING
        node = await until_node(admin, machine, ready=True)
        assert (now() - machine.created_at).total_seconds() >= 1
        planned = node_from(machine.name, POOL, GPU)
        assert {
            key: value for key, value in node.metadata.labels.items() if key != KWOK_LABEL
        } == planned.metadata.labels
        assert node.spec.provider_id == machine.provider_id
        assert {*planned.spec.taints, *POOL.spec.startup_taints, closed(machine.name)} <= {*node.spec.taints}
        assert node.status.allocatable == planned.status.allocatable
        assert node.status.capacity == planned.status.capacity
        csi_node = await admin.get(CSI_NODES, machine.name)
        assert [owner.uid for owner in csi_node.metadata.owner_references] == [node.metadata.uid]
        assert [listed.power for listed in await provider.list()] == [Power.ON]

        await provider.delete(machine.id)
        await until_no_node(admin, machine)

        async def is_collected() -> bool:
            found = (await admin.list(CSI_NODES)).items
            return all(one.metadata.name != machine.name for one in found)

        await wait_until(is_collected, "the garbage collector removed the CSINode")


async def test_a_power_cut_silences_a_node_and_the_next_boot_is_another(
    control_plane: LocalCluster, growth: Client
) -> None:
    admin = control_plane.admin
    async with played(growth) as provider:
        machine = await provider.create(request_for("kwok-power", POOL, SMALL))
        before = await until_node(admin, machine, ready=True)
        await order(admin, machine, "powerOff")
        assert (await provider.power(machine.id)).power is Power.OFF
        await until_node(admin, machine, ready=False)
        await order(admin, machine, "")
        after = await until_node(admin, machine, ready=True)
        assert after.metadata.uid == before.metadata.uid
        assert after.status.node_info.boot_id not in ("", before.status.node_info.boot_id)


async def test_a_partition_silences_a_node_whose_machine_runs(control_plane: LocalCluster, growth: Client) -> None:
    admin = control_plane.admin
    async with played(growth) as provider:
        machine = await provider.create(request_for("kwok-partition", POOL, SMALL))
        before = await until_node(admin, machine, ready=True)
        await order(admin, machine, "neverReady")
        await until_node(admin, machine, ready=False)
        assert (await provider.power(machine.id)).power is Power.ON
        await order(admin, machine, "")
        after = await until_node(admin, machine, ready=True)
        assert after.status.node_info.boot_id == before.status.node_info.boot_id


async def test_a_machine_that_vanishes_takes_its_node_along(control_plane: LocalCluster, growth: Client) -> None:
    async with played(growth) as provider:
        machine = await provider.create(request_for("kwok-vanish", POOL, SMALL))
        await until_node(control_plane.admin, machine, ready=True)
        await order(control_plane.admin, machine, "vanishes")
        assert not await provider.list()
        await until_no_node(control_plane.admin, machine)
        assert not (await growth.list(CONFIG_MAPS, NAMESPACE, label_selector="growth.dev/machine=kwok")).items


async def test_a_node_registers_smaller_than_promised(control_plane: LocalCluster, growth: Client) -> None:
    async with played(growth, Fault(FaultType.SMALLER, share=0.5)) as provider:
        machine = await provider.create(request_for("kwok-smaller", POOL, GPU))
        node = await until_node(control_plane.admin, machine, ready=True)
        assert node.status.capacity["cpu"] == "10"
        assert node.status.capacity["nvidia.com/gpu"] == "0"
