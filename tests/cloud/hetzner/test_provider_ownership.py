"""Lists, deletions and proofs of power: only ours, and never more certain than the API was."""

import asyncio

import pytest

from growth.api.machine import Power
from growth.cloud.errors import Invalid, Unavailable
from growth_lab.hetzner_sandbox.faults import ActionFails, Lost, PowerCut, Refuse, Vanish
from growth_lab.hetzner_sandbox.timings import boots_in
from tests.cloud.hetzner.rig import Json, Rig, a_request, launched
from tests.kube.replica import virtual

pytestmark = pytest.mark.long


def a_foreign_server(rig: Rig, name: str = "web-1", labels: Json = None) -> str:
    body: Json = {
        "name": name,
        "server_type": "cax11",
        "image": "debian-13",
        "location": "fsn1",
        "labels": labels or {},
    }
    return str(rig.ask("POST", "/servers", body)["server"]["id"])


@pytest.mark.parametrize(
    "labels",
    [{}, {"growth.dev/cluster": "attic", "growth.dev/pool": "web", "growth.dev/request": "web-1"}],
    ids=["a person's", "another cluster's"],
)
def test_a_server_that_is_not_ours_is_never_touched(labels: dict[str, str]) -> None:
    @virtual
    async def story() -> None:
        rig = Rig()
        stranger = a_foreign_server(rig, labels=labels)
        await asyncio.sleep(10)
        before = rig.server("web-1")
        async with rig.opened() as provider:
            with pytest.raises(Invalid, match="there is a server 'web-1' already"):
                await provider.create(a_request())
            for touch in (provider.delete, provider.fence):
                with pytest.raises(Invalid, match=rf"server {stranger} \(web-1\) is left alone"):
                    await touch(stranger)
            assert await provider.list() == ()
        assert rig.server("web-1") == before
        assert not any(call.startswith(("DELETE", "POST /servers/{id}")) for call in rig.calls)

    story()


@virtual
async def test_two_clusters_in_one_project_see_their_own_servers() -> None:
    rig = Rig()
    async with rig.opened("shop") as shop, rig.opened("attic") as attic:
        ours, theirs = await shop.create(a_request("web-1")), await attic.create(a_request("web-2"))
        assert [machine.id for machine in await shop.list()] == [ours.id]
        assert [machine.id for machine in await attic.list()] == [theirs.id]
        with pytest.raises(Invalid):
            await shop.delete(theirs.id)
        with pytest.raises(Invalid, match="of the cluster 'attic'"):
            await shop.create(a_request("web-2"))
    assert rig.names == ["web-1", "web-2"]


@virtual
async def test_a_list_of_many_pages_is_whole() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        await launched(provider, *(a_request(f"web-{number}") for number in range(120)))
        rig.sandbox.calls.clear()
        machines = await provider.list()
    assert len({machine.id for machine in machines}) == 120
    assert rig.calls == {"GET /servers": 3}


@virtual
async def test_a_server_that_a_list_misses_is_looked_for_before_it_counts_as_gone() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        hidden, gone, stays = await launched(provider, *(a_request(f"web-{number}") for number in range(3)))
        await provider.list()
        rig.ask("PUT", f"/servers/{hidden.id}", {"labels": {}})
        rig.sandbox.order(Vanish(server="web-1"))
        for _ in range(2):
            machines = {machine.id: machine for machine in await provider.list()}
            assert set(machines) == {hidden.id, stays.id}
            assert (machines[hidden.id].power, machines[hidden.id].pool) == (Power.ON, "web")
        assert (await provider.power(gone.id)).power is Power.GONE
        with pytest.raises(Invalid, match="is left alone"):
            await provider.delete(hidden.id)


@pytest.mark.parametrize("known", [True, False], ids=["that we know", "that we see for the first time"])
@pytest.mark.parametrize("step", range(8))
def test_pages_that_shift_while_they_are_read_hide_no_server(step: int, known: bool) -> None:  # noqa: FBT001
    @virtual
    async def story() -> None:
        rig = Rig()
        async with rig.opened() as provider, rig.opened() as another:
            await launched(provider, *(a_request(f"web-{number}") for number in range(120)))
            lister = provider if known else another
            reading = asyncio.create_task(lister.list())
            for _ in range(step):
                await asyncio.sleep(0)
            rig.sandbox.order(Vanish(server="web-7"))
            found = {machine.name for machine in await reading}
        assert found | {"web-7"} == {f"web-{number}" for number in range(120)}

    story()


@virtual
async def test_a_server_that_takes_very_long_is_handed_out_as_it_is() -> None:
    rig = Rig()
    rig.sandbox.account.timings = boots_in(300)
    async with rig.opened() as provider:
        before = rig.clock.now()
        machine = await provider.create(a_request())
        assert (rig.clock.now() - before).total_seconds() == pytest.approx(60, abs=2)
        assert machine.power is Power.STARTING
        assert rig.calls["GET /actions"] <= 25
        rig.sandbox.calls.clear()
        await asyncio.sleep(60)
        assert rig.calls["GET /actions"] == 0, "nobody waits any more"


@virtual
async def test_actions_are_followed_through_an_outage() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        launching = asyncio.create_task(provider.create(a_request()))
        await asyncio.sleep(0.5)
        rig.sandbox.order(Refuse(path="/actions", code="unavailable", times=4))
        machine = await launching
        assert (await provider.power(machine.id)).power is Power.ON


@virtual
async def test_what_we_deleted_ourselves_is_not_looked_for() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machines = await launched(provider, *(a_request(f"web-{number}") for number in range(20)))
        await provider.list()
        await asyncio.gather(*(provider.delete(machine.id) for machine in machines))
        rig.sandbox.calls.clear()
        assert await provider.list() == ()
    assert rig.calls == {"GET /servers": 1}


@virtual
async def test_many_that_go_at_once_are_looked_up_with_one_list() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machines = await launched(provider, *(a_request(f"web-{number}") for number in range(60)))
        theirs = rig.ask("POST", "/servers", {"name": "desk", "server_type": "cax11", "image": "debian-13"})["server"][
            "id"
        ]
        await asyncio.sleep(60)
        rig.sandbox.order(Vanish(server="web-7"))
        rig.sandbox.calls.clear()
        numbers = [*(machine.id for machine in machines), str(theirs)]
        results = await asyncio.gather(*(provider.delete(number) for number in numbers), return_exceptions=True)
    assert [type(one) for one in results if one is not None] == [Invalid]
    assert (rig.names, rig.calls["GET /servers"], rig.calls["GET /servers/{id}"]) == (["desk"], 2, 2)
    assert rig.calls["DELETE /servers/{id}"] == 59


@virtual
async def test_a_list_that_fails_fails_all_who_wait_for_it() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machines = await launched(provider, *(a_request(f"web-{number}") for number in range(3)))
        rig.sandbox.order(Refuse(path="/servers", code="unavailable"))
        ends = await asyncio.gather(*(provider.delete(one.id) for one in machines), return_exceptions=True)
        assert [type(one) for one in ends] == [Unavailable] * 3
        await asyncio.gather(*(provider.delete(one.id) for one in machines))
    assert rig.names == []


@virtual
async def test_who_waits_is_told_when_the_provider_is_closed() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        going = asyncio.create_task(provider.delete(machine.id))
        await asyncio.sleep(0.1)
    with pytest.raises(Unavailable, match="the provider is closed"):
        await going


def group_names(rig: Rig) -> list[str]:
    return sorted(group.name for group in rig.sandbox.account.placement_groups.values())


@virtual
async def test_an_empty_group_goes_with_its_last_server_and_costs_two_calls() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machines = await launched(provider, *(a_request(f"web-{number}", spread=True) for number in range(12)))
        rig.sandbox.calls.clear()
        await asyncio.gather(*(provider.delete(machine.id) for machine in machines[1:]))
        assert group_names(rig) == ["shop-web-1"]
        await provider.delete(machines[0].id)
        assert group_names(rig) == []
        calls = {route: count for route, count in rig.calls.items() if "placement" in route}
        assert calls == {"GET /placement_groups/{id}": 2, "DELETE /placement_groups/{id}": 2}
        await provider.create(a_request("web-12", spread=True))
    assert group_names(rig) == ["shop-web-1"]


@virtual
async def test_a_group_that_somebody_needs_stays() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        first = await provider.create(a_request("web-0", spread=True))
        launching = asyncio.create_task(provider.create(a_request("web-1", spread=True)))
        await asyncio.gather(launching, provider.delete(first.id))
        assert rig.server("web-1").placement_group in rig.sandbox.account.placement_groups
        foreign = rig.ask("POST", "/placement_groups", {"name": "theirs", "type": "spread"})["placement_group"]["id"]
        alone = await provider.create(a_request("web-2"))
        rig.ask("POST", f"/servers/{alone.id}/actions/poweroff")
        await asyncio.sleep(5)
        rig.ask("POST", f"/servers/{alone.id}/actions/add_to_placement_group", {"placement_group": foreign})
        await asyncio.sleep(5)
        await provider.delete(alone.id)
    assert group_names(rig) == ["shop-web-1", "theirs"]


@virtual
async def test_a_group_that_cannot_be_deleted_holds_nobody_up() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request(spread=True))
        rig.sandbox.order(Refuse(method="DELETE", path="/placement_groups/*", code="conflict"))
        await provider.delete(machine.id)
        assert (rig.names, group_names(rig)) == ([], ["shop-web-1"])
        await provider.create(a_request("web-2", spread=True))
    assert group_names(rig) == ["shop-web-1"]


@virtual
async def test_power_that_was_cut_is_told_with_the_time_of_the_look() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        rig.sandbox.order(PowerCut(server="web-1"))
        before = rig.clock.now()
        (listed,) = await provider.list()
        reading = await provider.power(machine.id)
    assert (listed.power, listed.is_changing) == (reading.power, reading.is_changing) == (Power.OFF, False)
    assert before <= listed.read_at <= reading.read_at


@virtual
async def test_a_pending_action_is_told_with_the_power() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        rig.ask("POST", f"/servers/{machine.id}/actions/poweroff")
        reading = await provider.power(machine.id)
        assert (reading.power, reading.is_changing) == (Power.STOPPING, True)


@virtual
async def test_a_server_that_is_busy_is_deleted_when_it_is_free() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        rig.ask("POST", f"/servers/{machine.id}/actions/reboot")
        await provider.delete(machine.id)
    assert rig.names == []


@virtual
async def test_a_server_that_stays_busy_is_left_for_later() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        rig.sandbox.order(Refuse(method="DELETE", code="locked", times=100))
        with pytest.raises(Unavailable, match=r"\(locked\)") as refused:
            await provider.delete(machine.id)
        assert not refused.value.may_have_acted
        rig.sandbox.clear_faults()
        await provider.delete(machine.id)
    assert rig.names == []


@virtual
async def test_a_protected_server_is_told_to_a_person() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        rig.ask("POST", f"/servers/{machine.id}/actions/change_protection", {"delete": True, "rebuild": True})
        await asyncio.sleep(1)
        with pytest.raises(Invalid, match="is protected against deletion: somebody must lift that"):
            await provider.delete(machine.id)
    assert rig.calls["DELETE /servers/{id}"] == 0
    assert rig.names == ["web-1"]


@virtual
async def test_a_deletion_that_fails_gives_its_reason() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        rig.sandbox.order(ActionFails(command="delete_server", message="the host is on fire"))
        with pytest.raises(Unavailable, match="delete_server failed: the host is on fire"):
            await provider.delete(machine.id)


@virtual
async def test_a_fence_is_proved_by_a_reading_after_the_cut() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        before = rig.clock.now()
        reading = await provider.fence(machine.id)
        assert (reading.power, reading.is_changing) == (Power.OFF, False)
        assert (reading.read_at - before).total_seconds() >= 1, "cutting takes a second here"
        rig.sandbox.calls.clear()
        await provider.fence(machine.id)
    assert rig.calls == {"GET /servers/{id}": 1}, "what is off is not cut again"


@virtual
async def test_a_fence_that_fails_is_no_proof() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        rig.sandbox.order(ActionFails(command="stop_server", message="no"))
        with pytest.raises(Unavailable, match=f"fence {machine.id}: stop_server failed: no"):
            await provider.fence(machine.id)
        rig.sandbox.order(Lost(method="POST", works=False))
        with pytest.raises(Unavailable):
            await provider.fence(machine.id)


@virtual
async def test_a_server_is_fenced_while_somebody_else_is_at_it() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        machine = await provider.create(a_request())
        rig.ask("POST", f"/servers/{machine.id}/actions/reset")
        assert (await provider.fence(machine.id)).power is Power.OFF


@virtual
async def test_five_hundred_servers_cost_few_calls_an_hour() -> None:
    rig = Rig()
    async with rig.opened() as provider:
        for first in range(0, 500, 50):
            await launched(provider, *(a_request(f"web-{number}") for number in range(first, first + 50)))
        rig.sandbox.calls.clear()
        loop = asyncio.get_running_loop()
        ends, lists = loop.time() + 3600, 0
        while loop.time() < ends:
            asked_at = rig.clock.now()
            async with asyncio.timeout(60):  # as Growth asks
                await provider.offerings()
                machines = await provider.list()
            assert len(machines) == 500
            assert all(machine.read_at >= asked_at for machine in machines), "nothing is older than it claims"
            lists += 1
            await asyncio.sleep(30)
    assert sum(rig.calls.values()) <= 600
    assert lists >= 45
