"""What only the KWOK provider does: stock, quotas and faults on order."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
import pytest

from growth.api.kinds import CONFIG_MAPS
from growth.api.machine import Machine, Power, request_for
from growth.cloud.errors import Invalid, OutOfStock, ProviderError, QuotaExceeded, Unauthorized, Unavailable
from growth.cloud.kwok.catalog import Catalog, read_catalogue
from growth.cloud.kwok.machine_record import FAULTS, config_map_name
from growth.cloud.kwok.provider import KwokProvider
from growth.kube.patches import MergePatch
from growth_lab.simulator.faults import Fault
from growth_lab.simulator.served_kinds import CONFIG_MAPS as MACHINES
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cloud.kwok_trial import POOL
from tests.cloud.virtual import GROWTH, NAMESPACE, VirtualKwok

Scene = Callable[[VirtualKwok, KwokProvider], Awaitable[None]]


def selling(fields: str = "", *, faults: str = "") -> Catalog:
    return read_catalogue(f"""
provider: kwok
faults: [{faults}]
locations: {{here: , there: }}
serverTypes:
  - {{name: small, resources: {{cpu: 2, memory: 4Gi}}, prices: {{here: 0.01, there: 0.02}}, {fields}}}
""")


def play(scene: Scene, catalogue: Catalog, user: str = GROWTH) -> None:
    async def run() -> None:
        world = VirtualKwok()
        await scene(world, world.provider(catalogue, user))

    run_virtually(run())


async def launch(provider: KwokProvider, name: str, offering: int = 0) -> Machine:
    return await provider.create(request_for(name, POOL, provider.catalogue.offerings[offering]))


async def order(world: VirtualKwok, name: str, faults: str) -> None:
    patch = MergePatch({"metadata": {"annotations": {FAULTS: faults}}})
    await world.admin().patch(CONFIG_MAPS, config_map_name(name), patch, NAMESPACE)


async def stock_of(provider: KwokProvider) -> Sequence[int | None]:
    return [offering.stock for offering in await provider.offerings()]


def test_stock_is_sold_once_and_comes_back_with_the_machines() -> None:
    async def scene(_: VirtualKwok, provider: KwokProvider) -> None:
        assert await stock_of(provider) == [2, None]
        machine = await launch(provider, "a")
        await launch(provider, "b")
        assert await stock_of(provider) == [0, None]
        with pytest.raises(OutOfStock, match="kwok-small-here is sold out") as raised:
            await launch(provider, "c")
        assert raised.value.offering == "kwok-small-here"
        await launch(provider, "c", 1)
        await provider.delete(machine.id)
        assert await stock_of(provider) == [1, None]
        await launch(provider, "d")

    play(scene, selling("stock: {here: 2}"))


def test_stock_is_not_oversold_by_those_who_buy_at_once() -> None:
    async def scene(_: VirtualKwok, provider: KwokProvider) -> None:
        answers = await asyncio.gather(*(launch(provider, f"m-{n}") for n in range(6)), return_exceptions=True)
        assert sum(isinstance(answer, Machine) for answer in answers) == 2
        assert sum(isinstance(answer, OutOfStock) for answer in answers) == 4
        assert len(await provider.list()) == 2

    play(scene, selling("stock: {here: 2}"))


def test_a_quota_holds_for_all_offerings_together() -> None:
    async def scene(_: VirtualKwok, provider: KwokProvider) -> None:
        await launch(provider, "a", 0)
        await launch(provider, "b", 1)
        with pytest.raises(QuotaExceeded, match="the account may have 2 machines, and has 2"):
            await launch(provider, "c", 0)
        assert (await launch(provider, "a", 0)).name == "a", "what is there is found"

    play(scene, selling(faults="quota=2"))


def test_what_never_had_stock_says_so() -> None:
    async def scene(_: VirtualKwok, provider: KwokProvider) -> None:
        assert await stock_of(provider) == [0, 0]
        with pytest.raises(OutOfStock):
            await launch(provider, "a")

    play(scene, selling("faults: [noStock]"))


def test_a_purchase_that_timed_out_was_made_and_is_found() -> None:
    async def scene(_: VirtualKwok, provider: KwokProvider) -> None:
        with pytest.raises(Unavailable, match="create a: the answer did not come in time") as raised:
            await launch(provider, "a")
        assert raised.value.may_have_acted
        (listed,) = await provider.list()
        assert (await launch(provider, "a")).id == listed.id

    play(scene, selling("faults: [createTimesOut]"))


def test_a_deletion_fails_as_long_as_that_is_ordered() -> None:
    async def scene(world: VirtualKwok, provider: KwokProvider) -> None:
        machine = await launch(provider, "a")
        with pytest.raises(Unavailable):
            await provider.delete(machine.id)
        assert len(await provider.list()) == 1
        await order(world, "a", "")
        await provider.delete(machine.id)
        assert not await provider.list()

    play(scene, selling("faults: [deleteFails]"))


def test_a_machine_may_be_missing_in_lists_although_it_runs() -> None:
    async def scene(world: VirtualKwok, provider: KwokProvider) -> None:
        hidden, shown = await launch(provider, "a"), await launch(provider, "b")
        await order(world, "a", "listEmpty")
        assert [machine.id for machine in await provider.list()] == [shown.id]
        assert (await provider.power(hidden.id)).power is Power.ON
        assert (await launch(provider, "a")).id == hidden.id

    play(scene, selling())


@pytest.mark.parametrize("catalogue", [selling("faults: [listFails]"), selling(faults="listFails")])
def test_a_list_may_fail_by_the_catalogue(catalogue: Catalog) -> None:
    async def scene(_: VirtualKwok, provider: KwokProvider) -> None:
        with pytest.raises(Unavailable):
            await provider.list()

    play(scene, catalogue)


def test_a_list_may_fail_by_one_machine() -> None:
    async def scene(world: VirtualKwok, provider: KwokProvider) -> None:
        await launch(provider, "a")
        await order(world, "a", "listFails")
        with pytest.raises(Unavailable):
            await provider.list()
        await order(world, "a", "")
        assert len(await provider.list()) == 1

    play(scene, selling())


def test_the_name_of_a_machine_that_vanished_is_free() -> None:
    async def scene(world: VirtualKwok, provider: KwokProvider) -> None:
        old = await launch(provider, "a")
        await order(world, "a", "vanishes")
        assert not await provider.list()
        assert (await provider.power(old.id)).power is Power.GONE
        new = await launch(provider, "a")
        assert new.id != old.id
        assert [machine.id for machine in await provider.list()] == [new.id]

    play(scene, selling())


def test_a_machine_that_cannot_be_read_makes_the_list_unknown_not_shorter() -> None:
    async def scene(world: VirtualKwok, provider: KwokProvider) -> None:
        await launch(provider, "a")
        await launch(provider, "b")
        await order(world, "a", "powerOf")
        with pytest.raises(Invalid, match=r"ConfigMap growth-system/kwok-machine-a .* the closest is powerOff"):
            await provider.list()

    play(scene, selling())


def test_nobody_buys_at_a_price_of_his_own() -> None:
    async def scene(world: VirtualKwok, provider: KwokProvider) -> None:
        cheaper = msgspec.structs.replace(provider.catalogue.offerings[0], price_per_hour=0.001)
        await provider.create(request_for("a", POOL, cheaper))
        stored = world.store.get(MACHINES, config_map_name("a"), NAMESPACE)
        assert stored is not None
        assert '"pricePerHour":0.01' in stored["data"]["request"]

    play(scene, selling())


def test_what_somebody_must_order_by_hand_is_not_sold() -> None:
    async def scene(_: VirtualKwok, provider: KwokProvider) -> None:
        with pytest.raises(Invalid, match="kwok-small-here is listed, but somebody must order it by hand"):
            await launch(provider, "a")

    play(scene, selling("isCloud: false"))


def test_a_refused_deletion_is_not_told_as_done() -> None:
    async def scene(world: VirtualKwok, provider: KwokProvider) -> None:
        machine = await launch(provider, "a")
        world.faults.order(Fault.CONFLICT, verb="delete", resource="configmaps")
        with pytest.raises(Unavailable):
            await provider.delete(machine.id)
        assert len(await provider.list()) == 1
        await provider.delete(machine.id)
        assert not await provider.list()

    play(scene, selling())


def test_a_refused_fence_is_not_told_as_done() -> None:
    async def scene(world: VirtualKwok, provider: KwokProvider) -> None:
        machine = await launch(provider, "a")
        world.faults.order(Fault.CONFLICT, verb="patch", resource="configmaps")
        with pytest.raises(Unavailable):
            await provider.fence(machine.id)
        assert (await provider.power(machine.id)).power is Power.ON
        assert (await provider.fence(machine.id)).power is Power.OFF

    play(scene, selling())


def test_who_lacks_the_role_is_told_which_verb() -> None:
    async def scene(_: VirtualKwok, provider: KwokProvider) -> None:
        with pytest.raises(Unauthorized, match="the role lacks the verb 'list' on configmaps"):
            await provider.list()

    play(scene, selling(), user="system:serviceaccount:default:stranger")


def test_a_missing_namespace_is_named() -> None:
    async def scene(world: VirtualKwok, _: KwokProvider) -> None:
        elsewhere = KwokProvider(world.admin(), "nowhere", selling(), world.clock.now)
        with pytest.raises(ProviderError, match="nowhere"):
            await launch(elsewhere, "a")

    play(scene, selling())
