"""Opening the provider of played machines: they are played as long as the context lasts."""

import asyncio
import dataclasses

import pytest

from growth.api.machine import Power, request_for
from growth.cloud.errors import Unauthorized
from growth.cloud.plugins import ProviderEnvironment, find_provider
from growth_lab.simulator.served_kinds import NODES
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cloud.kwok_trial import POOL
from tests.cloud.virtual import GROWTH, NAMESPACE, VirtualKwok


def surroundings(world: VirtualKwok, user: str = GROWTH) -> ProviderEnvironment:
    return ProviderEnvironment(world.client(user), NAMESPACE, world.clock.now)


def test_the_gpu_machine_of_the_shipped_catalogue_becomes_a_node() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        async with find_provider("kwok")(surroundings(world)) as provider:
            offering = next(one for one in await provider.offerings() if one.id == "kwok-gex44-fsn1")
            machine = await provider.create(request_for("gpu-1", POOL, offering))
            await asyncio.sleep(30)
            assert (await provider.power(machine.id)).power is Power.ON
        node = world.store.get(NODES, "gpu-1")
        assert node is not None
        assert node["status"]["allocatable"]["nvidia.com/gpu"] == "1"
        assert node["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "gex44"

    run_virtually(scene())


def test_nothing_is_played_after_the_context_and_all_goes_on_in_the_next() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        async with find_provider("kwok")(surroundings(world)) as provider:
            offerings = await provider.offerings()
            await provider.create(request_for("web-1", POOL, offerings[0]))
        await asyncio.sleep(3600)
        assert world.store.get(NODES, "web-1") is None
        async with find_provider("kwok")(surroundings(world)):
            await asyncio.sleep(5)
            assert world.store.get(NODES, "web-1") is not None

    run_virtually(scene())


def test_for_those_who_only_look_nothing_is_played() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        async with find_provider("kwok")(surroundings(world)) as provider:
            await provider.create(request_for("web-1", POOL, (await provider.offerings())[0]))
        looking = dataclasses.replace(surroundings(world), is_looking=True)
        async with find_provider("kwok")(looking) as provider:
            await asyncio.sleep(3600)
            assert [machine.name for machine in await provider.list()] == ["web-1"]
        assert world.store.get(NODES, "web-1") is None

    run_virtually(scene())


def test_a_missing_right_ends_the_context_with_the_verb() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        stranger = "system:serviceaccount:default:stranger"
        with pytest.raises(Unauthorized, match="playing machines: the role lacks the verb"):
            async with find_provider("kwok")(surroundings(world, stranger)):
                await asyncio.sleep(60)

    run_virtually(scene())


def test_an_error_inside_leaves_as_it_is() -> None:
    async def scene() -> None:
        world = VirtualKwok()
        with pytest.raises(KeyError, match="mine"):
            async with find_provider("kwok")(surroundings(world)):
                raise KeyError("mine")

    run_virtually(scene())
