"""The played cloud makes the nodes what the machines say: in time, once, and wherever it was stopped."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Literal, TypeVar

import pytest

from growth.api.kinds import CONFIG_MAPS
from growth.api.kinds import NODES as NODE_KIND
from growth.api.kwok import KWOK_LABEL
from growth.api.machine import Machine, Power, request_for
from growth.cloud.errors import ProviderError
from growth.cloud.kwok.catalog import read_catalogue
from growth.cloud.kwok.machine_record import FAULTS, FENCED_AT, config_map_name
from growth.kube.errors import KubeError, NotFound
from growth.kube.patches import MergePatch
from growth_lab.simulator.faults import Fault
from growth_lab.simulator.served_kinds import CONFIG_MAPS as MACHINES
from growth_lab.simulator.served_kinds import CSI_NODES, NODES
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cloud.kwok_trial import POOL
from tests.cloud.virtual import GROWTH, NAMESPACE, VirtualKwok, ended

SLOW = read_catalogue("""
provider: kwok
bootDelay: 20s
locations: {fsn1: }
serverTypes:
  - {name: small, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.01}}
""")
SMALL = SLOW.offerings[0]
T = TypeVar("T")


async def insisting(ask: Callable[[], Awaitable[T]]) -> T:
    """Ask until there is an answer, which is what all questions to a provider allow."""
    while True:
        try:
            return await ask()
        except NotFound:
            raise
        except (ProviderError, KubeError):
            await asyncio.sleep(1)


async def launch(world: VirtualKwok, name: str, faults: str = "") -> Machine:
    machine = await insisting(lambda: world.provider(SLOW).create(request_for(name, POOL, SMALL)))
    if faults:
        await order(world, name, {FAULTS: faults})
    return machine


async def order(world: VirtualKwok, name: str, annotations: dict[str, str | None]) -> None:
    patch = MergePatch({"metadata": {"annotations": annotations}})
    with suppress(NotFound):  # what was ordered without an answer may have happened by now
        await insisting(lambda: world.admin().patch(CONFIG_MAPS, config_map_name(name), patch, NAMESPACE))


def node(world: VirtualKwok, name: str) -> dict[str, Any] | None:
    return world.store.get(NODES, name)


def boot_id(world: VirtualKwok, name: str) -> str:
    found = node(world, name)
    return found["status"]["nodeInfo"]["bootID"] if found else ""


def is_played(world: VirtualKwok, name: str) -> bool:
    found = node(world, name)
    return bool(found) and KWOK_LABEL in found["metadata"]["labels"]


def test_a_node_appears_when_its_machine_has_booted_and_not_before() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        async with world.cloud():
            await launch(world, "a")
            await asyncio.sleep(19.5)
            assert node(world, "a") is None
            await asyncio.sleep(1)
            assert is_played(world, "a")

    run_virtually(scene())


def test_machines_boot_while_nobody_looks() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        await launch(world, "a")
        await launch(world, "b", "vanishes=1h")
        await asyncio.sleep(7200)
        assert [machine.power for machine in await world.provider().list()] == [Power.ON]
        async with world.cloud():
            await asyncio.sleep(1)
            assert is_played(world, "a")
            assert world.registered == ["a"]
            assert world.store.count(MACHINES) == 1

    run_virtually(scene())


@pytest.mark.parametrize(
    ("faults", "registers", "speaks"),
    [
        ("neverBoots", False, False),
        ("neverRegisters", False, False),
        ("neverReady", True, False),
        ("slowBoot=10m", False, False),
        ("powerOff", False, False),
        ("deleteFails, listEmpty", True, True),
    ],
    ids=str,
)
def test_faults_that_are_ordered_for_one_machine_are_played(faults: str, registers: object, speaks: object) -> None:
    async def scene() -> None:
        world = VirtualKwok()
        async with world.cloud():
            await launch(world, "a", faults)
            await launch(world, "b")
            await asyncio.sleep(60)
            assert (node(world, "a") is not None) is registers
            assert is_played(world, "a") is speaks
            assert is_played(world, "b")
            await order(world, "a", {FAULTS: ""})
            await asyncio.sleep(600)
            assert is_played(world, "a"), "when the fault is taken away, the machine comes"

    run_virtually(scene())


def test_a_typo_in_an_ordered_fault_holds_up_that_machine_only() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        async with world.cloud():
            await launch(world, "a", "slowBot=10m")
            await launch(world, "b")
            await asyncio.sleep(60)
            assert node(world, "a") is None
            assert is_played(world, "b")
            await order(world, "a", {FAULTS: ""})
            await asyncio.sleep(5)
            assert is_played(world, "a")

    run_virtually(scene())


def test_a_node_that_somebody_deletes_registers_again_while_its_machine_runs() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        async with world.cloud():
            await launch(world, "a")
            await asyncio.sleep(30)
            world.store.delete(NODES, "a")
            await asyncio.sleep(5)
            assert is_played(world, "a")
            assert world.registered == ["a", "a"]
            found, csi_node = node(world, "a"), world.store.get(CSI_NODES, "a")
            assert found is not None
            assert csi_node is not None
            assert csi_node["metadata"]["ownerReferences"][0]["uid"] == found["metadata"]["uid"]

    run_virtually(scene())


def test_the_next_machine_of_a_name_gets_a_node_of_its_own() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        async with world.cloud():
            old = await launch(world, "a")
            await asyncio.sleep(30)
            await world.provider().delete(old.id)
            new = await launch(world, "a")
            await asyncio.sleep(120)
            found = node(world, "a")
            assert found is not None
            assert found["spec"]["providerID"] == new.provider_id != old.provider_id
            assert is_played(world, "a")

    run_virtually(scene())


def test_a_power_cut_that_the_cloud_did_not_see_is_a_new_boot_all_the_same() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        machine = await launch(world, "a")
        async with world.cloud():
            await asyncio.sleep(30)
        before = boot_id(world, "a")
        await world.provider().fence(machine.id)
        await order(world, "a", {FENCED_AT: None})
        async with world.cloud():
            await asyncio.sleep(5)
            assert is_played(world, "a")
            after = boot_id(world, "a")
            assert after not in ("", before)
            await asyncio.sleep(3600)
            assert boot_id(world, "a") == after

    run_virtually(scene())


def test_nodes_of_others_are_left_alone() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        labels = {KWOK_LABEL: "fake"}
        for name, provider_id in (("a", ""), ("b", "hcloud://1"), ("c", "kwok://another-growth/c/uid")):
            body = {"metadata": {"name": name, "labels": labels}, "spec": {"providerID": provider_id}}
            await world.admin().create(NODE_KIND, body)
        async with world.cloud():
            await launch(world, "a")
            await asyncio.sleep(300)
            assert all(is_played(world, name) for name in "abc")
            assert len(world.registered) == 3

    run_virtually(scene())


async def play(world: VirtualKwok) -> None:
    """Four machines: one lives, one is fenced and returns, one is deleted, one vanishes."""
    for name in "abcd":
        await launch(world, name)
    await order(world, "d", {FAULTS: "vanishes=50s"})
    machines = {machine.name: machine for machine in await insisting(world.provider(SLOW).list)}
    await asyncio.sleep(30)
    first_boot = boot_id(world, "b")
    await insisting(lambda: world.provider(SLOW).fence(machines["b"].id))
    await insisting(lambda: world.provider(SLOW).delete(machines["c"].id))
    await asyncio.sleep(60)
    await order(world, "b", {FENCED_AT: None})
    world.faults.is_on = False
    await asyncio.sleep(300)
    world.store.patch(MACHINES, config_map_name("a"), NAMESPACE, {"data": {"seen": first_boot}})


def judge(world: VirtualKwok) -> None:
    """What must have become of the four."""
    assert sorted(one["metadata"]["name"] for one in world.store.all(NODES)) == ["a", "b"]
    assert sorted(one["metadata"]["name"] for one in world.store.all(CSI_NODES)) == ["a", "b"]
    assert world.store.count(MACHINES) == 2
    for name in "ab":
        found, csi_node = node(world, name), world.store.get(CSI_NODES, name)
        assert found is not None
        assert csi_node is not None
        assert is_played(world, name)
        assert [taint["key"] for taint in found["spec"]["taints"]].count("growth.dev/starting") == 1
        assert csi_node["metadata"]["ownerReferences"][0]["uid"] == found["metadata"]["uid"]
    seen = world.store.get(MACHINES, config_map_name("a"), NAMESPACE)
    assert seen is not None
    assert boot_id(world, "b") not in ("", seen["data"]["seen"]), "a machine that got its power back has booted anew"


def test_everything_is_done_once_by_two_clouds_at_a_time() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        async with world.cloud(), world.cloud():
            await play(world)
        judge(world)
        assert sorted(world.registered) == ["a", "b", "c", "d"]

    run_virtually(scene())


@pytest.mark.long
@pytest.mark.parametrize("side", ["before", "after"])
def test_the_cloud_may_be_stopped_at_any_send(side: Literal["before", "after"]) -> None:
    async def scene(at_send: int) -> bool:
        world = VirtualKwok()
        cloud = world.start_cloud()
        stopped = asyncio.Event()

        def stop() -> None:
            cloud.cancel()
            stopped.set()

        world.faults.stop(at_send, side, stop, user=GROWTH)
        story = asyncio.create_task(play(world))
        stopping = asyncio.create_task(stopped.wait())
        await asyncio.wait((story, stopping), return_when=asyncio.FIRST_COMPLETED)
        await ended(stopping)
        await ended(cloud)
        async with world.cloud():
            await story
            judge(world)
            assert sorted(world.registered) == ["a", "b", "c", "d"]
        return stopped.is_set()

    sends = 1
    while run_virtually(scene(sends)):
        sends += 1
    assert sends > 30, "every send of the story was tried"


@pytest.mark.parametrize("seed", range(40))
def test_the_cloud_gets_there_although_the_server_is_in_trouble(seed: int) -> None:
    async def scene() -> None:
        world = VirtualKwok(seed=seed)
        world.faults.rates = {
            Fault.LOST: 0.1,
            Fault.INTERNAL_AFTER: 0.05,
            Fault.CONFLICT: 0.1,
            Fault.UNAVAILABLE: 0.1,
            Fault.TIMEOUT: 0.03,
            Fault.CUT: 0.3,
            Fault.SLOW_WATCH: 0.2,
            Fault.GONE: 0.2,
            Fault.RESTART: 0.01,
        }
        async with world.cloud():
            await play(world)
            await asyncio.sleep(600)
        assert len(world.faults.told) > 5
        judge(world)

    run_virtually(scene())


@pytest.mark.long
def test_a_thousand_machines_are_registered_without_looking_at_all_for_each() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        provider = world.provider(SLOW)
        await asyncio.gather(*(provider.create(request_for(f"m-{n}", POOL, SMALL)) for n in range(1000)))
        async with world.cloud():
            await asyncio.sleep(60)
        assert world.store.count(NODES) == 1000
        assert all(is_played(world, f"m-{n}") for n in range(1000))

    run_virtually(scene())
