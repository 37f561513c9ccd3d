"""The checker is checked: whatever never may happen is done on purpose, and found out."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from growth.act.effect_hooks import EffectPoint
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import LEASES, NODES, PODS, VOLUME_ATTACHMENTS
from growth.cloud.kwok.machine_record import FAULTS, FENCED_AT
from growth.kube.patches import JsonPatch, MergePatch
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.local import a_real_world
from growth_lab.scenarios.simulated import play_virtually
from tests.trust.audit import Audit
from tests.trust.crimes import Criminal, found_out
from tests.trust.deeds import Deeds

SMALL = [{"name": "small"}]
UNFINISHED = ("still Pending", "waits for its memory")
"""What is left where there is no Growth."""


async def with_a_pod_at_work(criminal: Criminal) -> None:
    await criminal.pool(SMALL)
    await criminal.request("one")
    await criminal.machine("one")
    await criminal.node("one")
    await criminal.play.pod("app", nodeSelector={})
    await criminal.play.until(criminal.play.pod_is("app", node="one"), "the pod runs")


async def two_machines_for_one_pod(criminal: Criminal) -> None:
    await criminal.play.pod("app", nodeSelector={})
    await criminal.play.until(lambda: "app" in criminal.play.trace.pods, "the pod waits")
    uid = criminal.play.trace.pods["app"].metadata.uid
    await criminal.pool(SMALL)
    await criminal.request("one", planned_for=uid)
    await criminal.request("two", planned_for=uid)


async def an_offering_is_tested_twice_at_once(criminal: Criminal) -> None:
    await criminal.pool(SMALL)
    for name in ("one", "two"):
        await criminal.request(name, is_probe=True)


async def a_machine_that_nobody_asked_for(criminal: Criminal) -> None:
    await criminal.pool(SMALL)
    await criminal.machine("one")


async def one_more_than_the_type_allows(criminal: Criminal) -> None:
    await criminal.pool([{"name": "small", "max": 1}])
    for name in ("one", "two"):
        await criminal.request(name)
        await criminal.machine(name)


async def more_than_the_pool_may_cost(criminal: Criminal) -> None:
    await criminal.pool(SMALL, limits={"costPerHour": "0.015"})
    for name in ("one", "two"):
        await criminal.request(name)
        await criminal.machine(name)


async def a_machine_is_given_back_under_a_pod(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.give_back("one")


async def a_pod_is_deleted_on_a_machine_that_is_there(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.client.delete(PODS, "app", criminal.play.namespace)


async def a_pod_that_leaves_is_cut_short_on_a_machine_that_is_there(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.play.client.delete(PODS, "app", criminal.play.namespace, grace_seconds=600)
    await criminal.client.delete(PODS, "app", criminal.play.namespace, grace_seconds=0)


async def a_pod_is_evicted_from_a_pool_that_stays(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.client.evict("app", criminal.play.namespace)


async def the_node_goes_before_its_machine(criminal: Criminal) -> None:
    await criminal.pool(SMALL)
    await criminal.request("one")
    await criminal.machine("one")
    await criminal.node("one")
    await criminal.client.delete(NODES, "one")


async def the_last_that_is_wanted_goes(criminal: Criminal) -> None:
    await criminal.pool([{"name": "small", "min": 1}])
    await criminal.request("one")
    await criminal.machine("one")
    await criminal.node("one", taints=("growth.dev/scale-down",), notes={"growth.dev/scale-down-at": "now"})
    spec = {"pool": "default", "nodeName": "one"}
    await criminal.client.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": "one"}, "spec": spec})


async def somebody_elses_node_is_changed(criminal: Criminal) -> None:
    await criminal.play.node("own")
    await criminal.note(criminal.play.full("own"), "example.org/note")


async def somebody_elses_taint_is_taken_off(criminal: Criminal) -> None:
    await criminal.pool(SMALL)
    await criminal.machine("one")
    await criminal.node("one", taints=("person", "growth.dev/scale-down"))
    edit = JsonPatch([{"op": "remove", "path": "/spec/taints/0"}])
    await criminal.through(EffectPoint.EDIT_OBJECT, "one", lambda: criminal.client.patch(NODES, "one", edit))


async def a_decision_without_the_lease(criminal: Criminal) -> None:
    await criminal.play.node("own")
    name = criminal.play.full("own")
    await criminal.through(EffectPoint.PATCH_OBJECT, name, lambda: criminal.note(name, "example.org/note"))


async def a_machine_is_forgotten(criminal: Criminal) -> None:
    await criminal.pool(SMALL)
    await criminal.machine("one")


async def a_pod_waits_for_good(criminal: Criminal) -> None:
    await criminal.play.pod("app", nodeSelector={})


async def a_node_stays_closed(criminal: Criminal) -> None:
    await criminal.pool(SMALL)
    await criminal.machine("one")
    await criminal.node("one", taints=("growth.dev/starting",))


async def half_a_mark_stays(criminal: Criminal) -> None:
    await criminal.pool(SMALL)
    await criminal.machine("one")
    await criminal.node("one", taints=("growth.dev/scale-down",))


async def a_marked_node_has_work(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    taints = [{"key": "growth.dev/scale-down", "effect": "NoSchedule"}]
    notes = {"growth.dev/scale-down-at": "now"}
    await criminal.play.client.patch(
        NODES, "one", MergePatch({"metadata": {"annotations": notes}, "spec": {"taints": taints}})
    )


async def back_off_stays_on_a_pod_that_runs(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.play.change(PODS, "app", {"metadata": {"annotations": {"growth.dev/backoff": "{}"}}})


async def a_request_stays_pending(criminal: Criminal) -> None:
    await criminal.pool(SMALL)
    await criminal.request("one")


async def a_removal_stays_pending(criminal: Criminal) -> None:
    await criminal.client.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": "one"}, "spec": {"nodeName": "one"}})


async def a_pod_is_called_failed_on_a_machine_that_runs(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    failed = MergePatch({"status": {"phase": "Failed"}})
    await criminal.client.patch(PODS, "app", failed, criminal.play.namespace, subresource="status")


async def a_machine_that_runs_is_taken_for_dead(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.take_out("one")


async def one_that_just_lost_its_power_is_taken_for_dead(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.hurt("one", {FAULTS: "powerOff"})
    await asyncio.sleep(0.5)
    await criminal.take_out("one")


async def one_that_was_off_and_runs_again_is_taken_for_dead(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.hurt("one", {FAULTS: "hardwareFails"})
    await asyncio.sleep(5)
    await criminal.hurt("one", {FAULTS: ""})
    await asyncio.sleep(7)
    await criminal.take_out("one")


async def the_power_is_cut_without_leave(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.hurt("one", {FENCED_AT: "now"})


async def a_volume_hangs_on_two_nodes(criminal: Criminal) -> None:
    await criminal.attach("data", "one")
    await criminal.attach("data", "two")


async def a_volume_is_torn_off(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.attach("data", "one")
    await criminal.take_out("one")
    await criminal.play.client.delete(VOLUME_ATTACHMENTS, "data-one")


async def a_node_is_taken_back_with_a_volume(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.attach("data", "one")
    await criminal.take_out("one")
    await criminal.take_back("one")


async def what_a_person_took_out_is_taken_back(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.taken_out_by_a_person("one")
    await criminal.take_back("one")


async def a_node_that_works_stays_out(criminal: Criminal) -> None:
    await with_a_pod_at_work(criminal)
    await criminal.take_out("one")


CRIMES: list[tuple[str, Callable[[Criminal], Awaitable[None]], str]] = [
    ("I1", two_machines_for_one_pod, "two and one are both coming for the waiting pod app"),
    ("I1", a_machine_that_nobody_asked_for, "no NodeRequest of its name was ever written"),
    ("I2", a_machine_is_forgotten, "the machine one has neither a live request nor a node nor a removal"),
    ("I3", one_more_than_the_type_allows, "with two the pool default has 2 small of 1"),
    ("I3", more_than_the_pool_may_cost, "with two the pool default has 0.02 an hour of 0.015"),
    ("I4", a_machine_is_given_back_under_a_pod, "one was given back while app worked on it"),
    ("I4", a_pod_is_deleted_on_a_machine_that_is_there, "app was ended by Growth (delete pods)"),
    ("I4", a_pod_that_leaves_is_cut_short_on_a_machine_that_is_there, "app was ended by Growth (delete pods)"),
    ("I4", a_pod_is_evicted_from_a_pool_that_stays, "app was ended by Growth (evict pods)"),
    ("I4", a_pod_is_called_failed_on_a_machine_that_runs, "app was said to have failed while the machine one is there"),
    ("I5", the_node_goes_before_its_machine, "the Node one was deleted"),
    ("I6", the_last_that_is_wanted_goes, "which leaves 0 small in default, which wants 1"),
    ("I7", a_pod_waits_for_good, "the pod app still waits"),
    ("I8", a_node_stays_closed, "the node one is closed, and no live request will open it"),
    ("I8", half_a_mark_stays, "the node one has the taint of scale-down alone"),
    ("I8", a_marked_node_has_work, "the node one is marked for scale-down and has work"),
    ("I8", back_off_stays_on_a_pod_that_runs, "the pod app runs and still bears growth.dev/backoff"),
    ("I8", a_request_stays_pending, "the NodeRequest one is still Pending"),
    ("I8", a_removal_stays_pending, "the NodeRemovalRequest one is still Pending"),
    ("I9", somebody_elses_node_is_changed, "which is not ours, was touched: criminal did patch nodes"),
    ("I9", somebody_elses_taint_is_taken_off, "one lost person:NoSchedule, which is not Growth's"),
    ("I10", a_decision_without_the_lease, "criminal did patch nodes story-own while nobody held the lease"),
    ("I13", a_machine_that_runs_is_taken_for_dead, "one was taken out of service, and its machine never lost"),
    ("I13", one_that_just_lost_its_power_is_taken_for_dead, "and its machine was off for 0.5"),
    ("I13", one_that_was_off_and_runs_again_is_taken_for_dead, "and its machine ran again for 7.0 s"),
    ("I13", the_power_is_cut_without_leave, "one was powered off, and failover.fence is false"),
    ("I14", a_volume_hangs_on_two_nodes, "the volume data was attached to two while it hung on one"),
    ("I14", a_volume_is_torn_off, "the volume data was taken off one, whose machine ran all the time"),
    ("I15", a_node_is_taken_back_with_a_volume, "one was taken back into service while pod app, data-one"),
    ("I15", what_a_person_took_out_is_taken_back, "by Growth, and a person had taken it out"),
    ("I27", an_offering_is_tested_twice_at_once, "two tests kwok-small-fsn1 while another probe of it is on its way"),
    ("I16", a_node_that_works_stays_out, "the node one works, and is out of service"),
]


@pytest.mark.parametrize(("number", "crime", "words"), CRIMES, ids=[crime.__name__ for _, crime, _ in CRIMES])
def test_the_audit_finds_out(number: str, crime: Callable[[Criminal], Awaitable[None]], words: str) -> None:
    found = found_out(crime)
    assert any(sentence.startswith(f"{number} ") and words in sentence for sentence in found), found


def test_a_pod_at_work_is_no_crime() -> None:
    async def nothing(criminal: Criminal) -> None:
        await with_a_pod_at_work(criminal)

    assert [one for one in found_out(nothing) if not one.endswith(UNFINISHED)] == []


def test_to_give_up_a_machine_that_was_never_ready_in_time_is_no_crime() -> None:
    async def give_up(criminal: Criminal) -> None:
        await criminal.pool([{"name": "small", "min": 1}])
        await criminal.request("one")
        await criminal.machine("one")
        for phase in ("Provisioning", "Deprovisioning"):
            await criminal.client.patch(
                NODE_REQUESTS, "one", MergePatch({"status": {"phase": phase}}), subresource="status"
            )
        await criminal.node("one", taints=("growth.dev/scale-down",), notes={"growth.dev/scale-down-at": "now"})
        spec = {"pool": "default", "nodeName": "one"}
        await criminal.client.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": "one"}, "spec": spec})

    assert not any(one.startswith("I6 ") for one in found_out(give_up))


def test_to_move_work_off_a_machine_that_was_off_for_long_enough_is_no_crime() -> None:
    async def release(criminal: Criminal) -> None:
        await with_a_pod_at_work(criminal)
        await criminal.attach("data", "one")
        await criminal.hurt("one", {FAULTS: "powerOff"})
        await asyncio.sleep(1)
        await criminal.take_out("one")
        await criminal.client.delete(PODS, "app", criminal.play.namespace, grace_seconds=0)
        await criminal.play.client.delete(VOLUME_ATTACHMENTS, "data-one")

    assert [one for one in found_out(release) if not one.endswith(UNFINISHED)] == []


async def write_in_turn(play: Play) -> list[str]:
    """Writes to several kinds in turn; gives what an audit has of it, in its order."""
    audit, client = Audit(Deeds()), play.client
    async with audit.following(client):
        for name in ("one", "two"):
            spec = {"serverTypes": [{"name": "small"}]}
            await client.create(NODE_POOLS, {"metadata": {"name": name}, "spec": spec})
            await client.create(NODES, {"metadata": {"name": name}})
            await client.delete(NODE_POOLS, name)
            await client.delete(NODES, name)
    steps = [step for step in audit.in_order() if step.is_new or step.is_end]
    return [f"{step.happened.name} {step.kind.plural}/{step.meta.name}" for step in steps if step.kind is not LEASES]


IN_TURN = [
    f"{what} {kind}/{name}"
    for name in ("one", "two")
    for what in ("ADDED", "DELETED")
    for kind in ("nodepools", "nodes")
]


def test_changes_of_all_kinds_have_the_order_in_which_they_were_written() -> None:
    found: list[str] = []

    async def tell(play: Play) -> None:
        found.extend(await write_in_turn(play))

    play_virtually(tell, alone=True)
    assert found == IN_TURN


@pytest.mark.cluster
async def test_on_a_real_control_plane_too() -> None:
    found: list[str] = []

    async def tell(play: Play) -> None:
        found.extend(await write_in_turn(play))

    async with a_real_world() as world:
        await world.play(tell, alone=True)
    assert found == IN_TURN
