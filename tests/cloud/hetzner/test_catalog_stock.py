"""What is sold, kept fresh; and what is told when it cannot be."""

import asyncio
from datetime import timedelta

import pytest

from growth.api.meta import ObjectMeta
from growth.api.node_pool import NodePool, NodePoolSpec, ServerType
from growth.api.provider_state import ProviderState
from growth.cloud.errors import Invalid, Unavailable
from growth.decide.capacity.pool_validation import problems
from growth_lab.hetzner_sandbox.faults import Refuse, SoldOut
from tests.cloud.hetzner.rig import Rig, a_request, an_offering
from tests.kube.replica import virtual


@virtual
async def test_what_is_sold_is_read_every_ten_minutes() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        for _ in range(60):
            await provider.offerings()
            await asyncio.sleep(60)
    assert (rig.calls["GET /server_types"], rig.calls["GET /pricing"]) == (6, 6)


@virtual
async def test_pools_of_the_design_are_told_what_hetzner_does_not_offer() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        offered = ProviderState("hetzner", tuple(await provider.offerings()), read_at=rig.clock.now())

    def reasons(*types: str) -> list[tuple[str, str]]:
        pool = NodePool(ObjectMeta("default"), NodePoolSpec(server_types=tuple(map(ServerType, types))))
        return [(one.reason, one.why.partition("; ")[2]) for one in problems(pool, {"hetzner": offered})]

    assert reasons("CAX11", "CAX21", "CAX31", "CX33") == []
    assert reasons("CX31", "CX32") == [("Withdrawn", "name cx33 instead")] * 2
    assert reasons("GEX44") == [("NotForSale", "")]


@virtual
async def test_stock_that_is_used_up_is_seen_at_the_next_look() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        first = {one.id: one for one in await provider.offerings()}
        rig.sandbox.order(SoldOut(server_type="cax11", location="fsn1"))
        await asyncio.sleep(600)
        second = {one.id: one for one in await provider.offerings()}
    assert (first["hetzner-cax11-fsn1"].stock, second["hetzner-cax11-fsn1"].stock) == (None, 0)
    read_at = {one.read_at for one in second.values()}
    assert read_at == {rig.clock.now()}


@virtual
async def test_what_cannot_be_read_again_stands_with_its_age() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        first = await provider.offerings()
        rig.sandbox.order(Refuse(path="/server_types", code="unavailable", times=100))
        await asyncio.sleep(1200)
        stale = await provider.offerings()
        assert stale == first
        assert rig.clock.now() - (stale[0].read_at or rig.clock.now()) == timedelta(minutes=20)
        rig.sandbox.clear_faults()
        fresh = await provider.offerings()
    assert fresh[0].read_at == rig.clock.now()


def test_stale_prices_are_told_once(caplog: pytest.LogCaptureFixture) -> None:
    @virtual
    async def story() -> None:
        rig = Rig()
        async with rig.opened() as provider:
            await provider.offerings()
            rig.sandbox.order(Refuse(path="/pricing", code="unavailable", times=100))
            await asyncio.sleep(600)
            for _ in range(3):
                await provider.offerings()

    story()
    (line,) = [record.getMessage() for record in caplog.records if record.name.startswith("growth")]
    assert line.startswith("what Hetzner sells is 10m old and cannot be read again: offerings: ")


@virtual
async def test_what_was_never_read_is_not_called_empty() -> None:
    rig = Rig()
    rig.sandbox.order(Refuse(path="/pricing", code="unavailable"))
    async with rig.opened() as provider:
        with pytest.raises(Unavailable):
            await provider.offerings()
        assert await provider.offerings()


@virtual
async def test_what_is_not_sold_is_refused_with_the_closest() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        with pytest.raises(Invalid, match=r"Hetzner sells no 'hetzner-cx31-fsn1' .*: the closest is hetzner-c"):
            await provider.create(a_request(offering=an_offering("cx31", arch="amd64")))


@virtual
async def test_every_type_of_the_project_is_listed_with_its_price() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        by_id = {offering.id: offering for offering in await provider.offerings()}
    offered = by_id["hetzner-ccx63-ash"]
    assert (offered.price_per_hour, offered.currency, offered.resources["cpu"]) == (1.3790, "EUR", "48")
    dead = by_id["hetzner-cpx11-fsn1"]
    assert (dead.is_cloud, dead.stock) == (False, 0)
    assert "gex44" not in {offering.server_type for offering in by_id.values()}
