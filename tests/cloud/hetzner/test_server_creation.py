"""Buying servers: what is sent, that one name is one server, and what becomes of failures."""

import asyncio

import pytest

from growth.api.machine import Power
from growth.cloud.errors import FamilyQuotaExceeded, Invalid, OutOfStock, QuotaExceeded, RateLimited, Unavailable
from growth_lab.hetzner_sandbox.faults import ActionFails, Lost, Quota, RateLimit, Refuse, SoldOut
from lab.tests.hetzner_sandbox.box import KEY
from tests.cloud.hetzner.rig import Json, Rig, a_request, an_offering, launched
from tests.kube.replica import virtual


def a_project() -> Rig:
    """One with everything that a pool may name."""
    rig = Rig()
    rig.ask("POST", "/ssh_keys", {"name": "me", "public_key": KEY})
    subnets = [{"type": "cloud", "ip_range": "10.0.1.0/24", "network_zone": "eu-central"}]
    rig.ask("POST", "/networks", {"name": "inner", "ip_range": "10.0.0.0/16", "subnets": subnets})
    rig.ask("POST", "/firewalls", {"name": "wall"})
    return rig


@virtual
async def test_a_server_is_made_as_the_pool_says() -> None:
    rig = a_project()
    everything = a_request(
        ssh_keys=("me",), network="inner", firewalls=("wall",), public_ipv4=False, public_ipv6=False, spread=True
    )
    async with rig.opened() as provider:
        machine = await provider.create(everything)
    server, account = rig.server("web-1"), rig.sandbox.account
    assert machine.provider_id == f"hcloud://{server.id}"
    assert server.labels == {
        "growth.dev/cluster": "shop",
        "growth.dev/pool": "web",
        "growth.dev/request": "web-1",
        "growth.dev/offering": "hetzner-cax11-fsn1",
    }
    assert account.images[server.image].architecture == "arm"
    assert account.images[server.image].name == "debian-13"
    assert server.user_data == "#cloud-config web-1"
    assert [account.ssh_keys[one].name for one in server.ssh_keys] == ["me"]
    assert [account.networks[one.network].name for one in server.private_net] == ["inner"]
    assert [account.firewalls[one].name for one in server.firewalls] == ["wall"]
    assert (server.ipv4, server.ipv6) == (None, None)
    assert account.placement_groups[server.placement_group or 0].name == "shop-web-1"


@virtual
async def test_when_it_is_handed_out_it_runs() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        assert (await provider.power(machine.id)).power is Power.ON


@virtual
async def test_one_purchase_costs_one_call_and_its_share_of_looking() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await launched(provider, *(a_request(f"web-{number}") for number in range(100)))
        assert rig.calls["POST /servers"] == 100
        assert sum(rig.calls.values()) <= 120


@virtual
async def test_names_are_looked_up_once_for_many_purchases() -> None:
    rig = a_project()
    async with rig.opened() as provider:
        await launched(provider, *(a_request(f"web-{n}", network="inner", firewalls=("wall",)) for n in range(20)))
    assert [rig.calls[f"GET /{kind}"] for kind in ("images", "networks", "firewalls")] == [1, 1, 1]


@pytest.mark.parametrize(
    ("machine", "sentence"),
    [
        ({"image": ""}, "NodePool web: spec.machine.image is empty"),
        ({"image": "debain"}, "NodePool web: spec.machine.image is 'debain': there is no such image for arm"),
        ({"image": "1"}, "NodePool web: spec.machine.image is '1': there is no such image"),
        ({"image": "114690387"}, "it is for x86: expected one for arm"),
        ({"image": "os=talos"}, "NodePool web: spec.machine.image is 'os=talos': there is no such image for arm"),
        ({"network": "outer"}, "NodePool web: spec.machine.network is 'outer': the project has none of this name"),
        ({"firewalls": ("wall", "hedge")}, r"spec.machine.firewalls\[1\] is 'hedge': the project has none"),
        ({"ssh_keys": ("you",)}, "SSH key not found"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value),
)
def test_a_name_that_means_nothing_is_told(machine: Json, sentence: str) -> None:
    @virtual
    async def story() -> None:
        rig = a_project()
        async with rig.opened() as provider:
            with pytest.raises(Invalid, match=sentence):
                await provider.create(a_request(**machine))
        assert rig.names == []

    story()


@virtual
async def test_of_images_with_a_label_the_newest_of_the_architecture_is_taken() -> None:
    rig = Rig()
    snapshots: list[int] = []
    for architecture in ("arm", "arm", "x86"):
        snapshots.append(rig.sandbox.add_snapshot({"os": "talos"}, architecture).id)
        await asyncio.sleep(1)
    wanted = snapshots[1]
    async with rig.opened() as provider:
        await provider.create(a_request(image="os=talos"))
        await provider.create(a_request("web-2", image=str(wanted)))
    assert [rig.server(name).image for name in ("web-1", "web-2")] == [wanted, wanted]


@virtual
async def test_a_lost_answer_is_adopted() -> None:
    rig = Rig()
    rig.sandbox.order(Lost(method="POST", path="/servers"))
    async with rig.opened() as provider:
        with pytest.raises(Unavailable) as lost:
            await provider.create(a_request())
        assert lost.value.may_have_acted
        machine = await provider.create(a_request())
    assert machine.id == str(rig.server("web-1").id)
    assert rig.names == ["web-1"]


@virtual
async def test_two_replicas_that_ask_at_once_make_one_server_each_name() -> None:
    rig = Rig()
    requests = [a_request(f"web-{number}", spread=True) for number in range(15)]
    async with rig.opened() as one, rig.opened() as two:
        first, second = await asyncio.gather(launched(one, *requests), launched(two, *requests))
    assert [machine.id for machine in first] == [machine.id for machine in second]
    assert len(rig.names) == 15


@virtual
async def test_servers_of_a_pool_stand_in_groups_of_ten() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await launched(provider, *(a_request(f"web-{number}", spread=True) for number in range(25)))
        await launched(provider, a_request("db-1", pool="db", spread=True), a_request("lone-1"))
    groups = {
        group.name: sum(server.placement_group == group.id for server in rig.sandbox.servers())
        for group in rig.sandbox.account.placement_groups.values()
    }
    assert groups == {"shop-web-1": 10, "shop-web-2": 10, "shop-web-3": 5, "shop-db-1": 1}
    assert rig.server("lone-1").placement_group is None


@virtual
async def test_a_gap_in_a_group_is_filled_before_another_is_opened() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machines = await launched(provider, *(a_request(f"web-{number}", spread=True) for number in range(10)))
        await provider.delete(machines[3].id)
        await provider.create(a_request("web-10", spread=True))
    assert [group.name for group in rig.sandbox.account.placement_groups.values()] == ["shop-web-1"]


@virtual
async def test_a_group_that_others_filled_is_left_for_the_next() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await provider.create(a_request("web-0", spread=True))
        group = rig.server("web-0").placement_group
        for number in range(9):
            body = {"name": f"other-{number}", "server_type": "cax11", "image": "debian-13", "placement_group": group}
            rig.ask("POST", "/servers", body)
        await provider.create(a_request("web-1", spread=True))
    assert rig.server("web-1").placement_group != group


@virtual
async def test_what_is_sold_out_is_told_with_its_name_and_another_place_may_be_tried() -> None:
    rig = Rig()
    rig.sandbox.order(SoldOut(server_type="cax11", location="fsn1"))
    async with rig.opened() as provider:
        with pytest.raises(OutOfStock, match=r"create web-1: error during placement \(resource_unavailable\)") as told:
            await provider.create(a_request())
        assert told.value.offering == "hetzner-cax11-fsn1"
        await provider.create(a_request(offering=an_offering(location="nbg1")))
        by_id = {offering.id: offering for offering in await provider.offerings()}
    assert by_id["hetzner-cax11-fsn1"].stock == 0
    assert by_id["hetzner-cax11-nbg1"].stock is None


@virtual
async def test_an_exhausted_account_is_told_as_such() -> None:
    rig = Rig()
    rig.sandbox.order(Quota(servers=3))
    async with rig.opened() as provider:
        requests = [a_request(f"web-{number}") for number in range(5)]
        results = await asyncio.gather(*(provider.create(one) for one in requests), return_exceptions=True)
    assert [type(one) for one in results if isinstance(one, Exception)] == [QuotaExceeded] * 2
    assert len(rig.names) == 3


@virtual
async def test_without_dedicated_cores_left_others_are_still_sold() -> None:
    rig = Rig()
    rig.sandbox.order(Quota(dedicated_cores=3))
    async with rig.opened() as provider:
        dedicated = an_offering("ccx13", arch="amd64")
        await provider.create(a_request("web-1", offering=dedicated))
        with pytest.raises(FamilyQuotaExceeded, match=r"dedicated core limit exceeded \[dedicated_core_limit\]"):
            await provider.create(a_request("web-2", offering=dedicated))
        await provider.create(a_request("web-3"))
    assert rig.names == ["web-1", "web-3"]


@virtual
async def test_what_is_deprecated_is_not_bought_without_a_call() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        with pytest.raises(Invalid, match="cpx11 in fsn1 is deprecated since"):
            await provider.create(a_request(offering=an_offering("cpx11", arch="amd64")))
    assert rig.calls["POST /servers"] == 0


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (ActionFails(command="create_server"), Unavailable),
        (ActionFails(command="start_server", message="no such luck"), Unavailable),
        (ActionFails(command="create_server", code="resource_unavailable"), OutOfStock),
        (ActionFails(command="create_server", code="resource_limit_exceeded"), QuotaExceeded),
        (
            ActionFails(
                command="start_server", code="resource_limit_exceeded", message="Dedicated core limit exceeded"
            ),
            FamilyQuotaExceeded,
        ),
    ],
    ids=lambda value: f"{value.command} {value.code}" if isinstance(value, ActionFails) else "",
)
def test_a_server_that_fails_to_come_about_is_given_back(failure: ActionFails, error: type[Exception]) -> None:
    @virtual
    async def story() -> None:
        rig = Rig()
        rig.sandbox.order(failure)
        async with rig.opened() as provider:
            with pytest.raises(error, match=f"create web-1: {failure.command} failed: {failure.message}") as told:
                await provider.create(a_request())
            assert type(told.value) is error
            assert rig.names == []
            await provider.create(a_request())
        assert rig.names == ["web-1"]

    story()


@virtual
async def test_of_ten_that_partly_fail_there_are_ten_in_the_end() -> None:
    rig = Rig()
    for fault in (
        Lost(method="POST", path="/servers", times=2),
        Refuse(method="POST", path="/servers", code="server_error", works=True, skip=2),
        Refuse(method="POST", path="/servers", code="bad_gateway", is_plain=True, skip=2),
        ActionFails(command="create_server", skip=3),
    ):
        rig.sandbox.order(fault)
    requests = [a_request(f"web-{number}") for number in range(10)]
    async with rig.opened() as provider:
        results = await asyncio.gather(*(provider.create(one) for one in requests), return_exceptions=True)
        assert sum(isinstance(one, Unavailable) for one in results) == 5
        machines = await launched(provider, *requests)
        assert len({machine.id for machine in machines}) == 10
    assert len(rig.names) == 10


@virtual
async def test_a_create_whose_server_is_being_deleted_waits_for_another_time() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await provider.create(a_request())
        rig.ask("DELETE", f"/servers/{rig.server('web-1').id}")
        with pytest.raises(Unavailable, match="is being deleted"):
            await provider.create(a_request())


@virtual
async def test_a_limit_that_is_reached_stops_all_for_a_moment_and_costs_one_call() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await provider.offerings()
        rig.sandbox.order(RateLimit(left=0))
        rig.sandbox.calls.clear()
        for number in range(5):
            with pytest.raises(RateLimited) as limited:
                await provider.create(a_request(f"web-{number}"))
            assert 0 < limited.value.retry_after <= 60
        assert sum(rig.calls.values()) == 1
        await asyncio.sleep(10)
        await provider.create(a_request())
    assert rig.names == ["web-1"]


@virtual
async def test_lists_never_starve_purchases() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await provider.create(a_request("web-0"))
        rig.sandbox.order(RateLimit(left=20))
        await provider.power("1")  # an answer says how many are left
        with pytest.raises(RateLimited, match="what is left is kept for purchases") as limited:
            await provider.list()
        assert limited.value.retry_after == pytest.approx(41, abs=2)
        await provider.create(a_request("web-1"))
    assert rig.names == ["web-0", "web-1"]
