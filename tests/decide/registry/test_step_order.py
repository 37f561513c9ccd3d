"""The nine steps of the seed's loop, one by one: what each of them makes the deciders do, on plain values."""

from typing import Any

import pytest

from growth.api.actions import (
    CreateMachine,
    CreateObject,
    DeleteMachine,
    EditObject,
    EvictPod,
    Hold,
    PatchObject,
    RecordEvent,
)
from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.pod import Pod
from growth.decide.contract import Decision
from growth.decide.facts.cluster_state import NodeState
from growth.decide.node_requests import decider as provision
from growth.decide.registry import decider as telling
from growth.decide.scale_down import decider as shrink
from growth.decide.scale_up import decider as grow
from tests.decide.registry.stage import (
    HOUR,
    MACHINE_WITHIN,
    MINUTE,
    NAME,
    NOW,
    SECOND,
    UNREADY_AFTER,
    Watch,
    a_cloud,
    a_foreign_node,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    a_request,
    many,
    said,
    seen,
)
from tests.decide.scale_up import town
from tests.decide.stages import a_pod

SMALL, LARGE = town.SMALL.id, town.LARGE.id
LATE = NOW - MACHINE_WITHIN


def phases(decision: Decision[Any]) -> dict[str, str]:
    """Into which phase requests are brought."""
    written = [one for one in said(decision, PatchObject) if one.subject.kind == "NodeRequest"]
    return {one.subject.name: one.body["status"]["phase"] for one in written}


def removals(decision: Decision[Any]) -> list[str]:
    created = said(decision, CreateObject)
    return [one.subject.name for one in created if one.subject.kind == NODE_REMOVAL_REQUESTS.name]


def later(watch: Watch) -> Decision[Any]:
    """What shrink says when it has seen nodes empty for long enough to believe it."""
    memory = watch.decide(shrink.CAPABILITY).carry
    watch.now += 15 * SECOND
    return watch.decide(shrink.CAPABILITY, memory)


# 1


def test_step_1_all_nodes_are_looked_at_whoever_they_belong_to() -> None:
    cluster = seen(a_pool(), a_node(), a_foreign_node(), a_node("web-1", pool="no-such-pool"), a_cloud(NAME))
    assert {name: unit.state for name, (unit,) in cluster.units.items()} == {
        NAME: NodeState.READY,
        "other-1": NodeState.FOREIGN,
        "web-1": NodeState.READY,
    }


# 2


@pytest.fixture
def outage() -> Watch:
    """Most nodes are unready; one is empty and on its way out, a machine never registered, another never came."""
    nodes = many(8, unready=5, since=NOW - HOUR)
    nodes[0] = a_node(goes_at=NOW - MINUTE)
    asked = [
        a_request("new-1", "Pending", since=None),
        a_request("new-2", since=LATE - HOUR),
        a_request("new-3", since=LATE - HOUR),
        a_request("new-4", "Deprovisioning", reason="NoNode"),
    ]
    listed = [*(node.metadata.name for node in nodes), "new-2", "new-4"]
    leaving = a_removal("default-2", "Deprovisioning")
    pods = [town.a_pod("waits"), a_pod("works", node="default-3")]
    return Watch(a_pool(), *nodes, *asked, leaving, *pods, a_cloud(*listed, a_machine("leaked", created_at=NOW - HOUR)))


def test_step_2_an_unhealthy_cluster_is_told_of_and_looked_at_again_after_ten_seconds(outage: Watch) -> None:
    decision = outage.decide(telling.CAPABILITY)
    assert [(one.type, one.reason) for one in said(decision, RecordEvent)] == [("Warning", "ClusterUnhealthy")]
    assert decision.requeue_at == NOW + 10 * SECOND


def test_step_2_nothing_is_planned_bought_given_up_or_removed_in_it(outage: Watch) -> None:
    planned = outage.decide(grow.CAPABILITY)
    held = [(one.subject.name, one.reason) for one in said(planned, Hold)]
    assert held == [("default", "ClusterUnhealthy"), ("waits", "ClusterUnhealthy")]
    assert planned.compute is None
    provisioned = outage.decide(provision.CAPABILITY)
    assert phases(provisioned) == {"new-2": "Provisioning"}, "its machine is recorded; no request changes its phase"
    for decision in (planned, provisioned, outage.decide(shrink.CAPABILITY)):
        assert said(decision, CreateMachine, DeleteMachine, CreateObject, EvictPod) == []


def test_step_2_no_leaked_machine_is_removed_although_its_pool_is_being_deleted(outage: Watch) -> None:
    outage.add(a_pool(deleted_at=NOW))
    memory = outage.decide(provision.CAPABILITY).carry
    outage.now += HOUR
    outage.add(a_cloud(a_machine("leaked", created_at=NOW - HOUR), read_at=outage.now))
    assert outage.look().is_halted
    assert removals(outage.decide(provision.CAPABILITY, memory)) == []


def test_step_2_the_time_that_unneeded_nodes_have_waited_is_forgotten(outage: Watch) -> None:
    edits = said(outage.decide(shrink.CAPABILITY), EditObject)
    assert [one.subject.name for one in edits] == [NAME]
    assert all(change["op"] in ("test", "remove") for change in edits[0].operations)


def test_step_2_what_is_there_already_is_noted_and_opened(outage: Watch) -> None:
    outage.add(
        a_request("here", "Pending", since=None),
        a_request("open", "Ready", since=NOW - SECOND),
        a_node("open", is_closed=True),
        a_cloud(*(f"default-{number}" for number in range(1, 9)), "here", "open"),
    )
    decision = outage.decide(provision.CAPABILITY)
    assert outage.look().is_halted
    assert phases(decision) == {"here": "Provisioning"}
    assert [one.subject.name for one in said(decision, EditObject)] == ["open"]


# 3


def test_step_3_machines_that_never_registered_go_one_by_one_the_oldest_first() -> None:
    older, younger = a_request("default-1", since=LATE - MINUTE), a_request("default-2", since=LATE)
    watch = Watch(a_pool(), younger, older, a_cloud("default-1", "default-2"))
    decision = watch.decide(provision.CAPABILITY)
    assert phases(decision) == {"default-1": "Deprovisioning"}
    assert [(one.subject.name, one.reason) for one in said(decision, Hold)] == [("default-2", "OneByOne")]
    watch.add(a_request("default-1", "Deprovisioning", reason="NoNode"))
    going = watch.decide(provision.CAPABILITY)
    assert removals(going) == ["default-1"]
    assert phases(going) == {}


# 4


def test_step_4_what_is_missing_for_long_is_given_up_and_the_pass_ends_there() -> None:
    gone, here = a_request("default-1", since=LATE), a_request("default-2", since=LATE + SECOND)
    empty = a_node("default-3", goes_at=NOW - HOUR)
    watch = Watch(a_pool(), gone, here, empty, town.a_pod("waits"), a_cloud("default-3"))
    assert phases(watch.decide(provision.CAPABILITY)) == {"default-1": "Unmet"}
    assert [one.reason for one in said(watch.decide(grow.CAPABILITY), Hold)] == ["GivingUp"]
    assert later(watch).said == ()


# 5 to 7: what is bought


def launched(*things: Pod | Node | NodeRequest, leaving: str = "") -> list[str]:
    """Which offerings grow asks for when it sees this."""
    place = town.Town(a_pool(types=("small", "large")), *(one for one in things if not isinstance(one, NodeRequest)))
    asked = [one for one in things if isinstance(one, NodeRequest)]
    place.add(*asked)
    if leaving:
        place.world.tables[NODE_REMOVAL_REQUESTS].hear([Change(ChangeType.ADDED, a_removal(leaving), None)])
    place.run(2 * SECOND)
    known = {one.metadata.name for one in asked}
    return [one.spec.target_offering for one in place.requests if one.metadata.name not in known]


def a_demand(name: str = "waits", cpu: str = "1") -> Pod:
    return town.a_pod(name, cpu, **town.for_pool("default"))


def unready(count: int, offering: str = SMALL) -> list[Node]:
    kind = offering.split("-")[1]
    return [a_node(f"{kind}-{number}", ready=False, since=NOW - MINUTE, offering=offering) for number in range(count)]


WITNESSES = [a_foreign_node(f"other-{number}") for number in range(9)]


def test_step_5_pods_that_fit_on_nodes_that_are_ready_need_no_machine() -> None:
    assert launched(a_demand()) == [SMALL]
    assert launched(a_demand(), a_node()) == []


def test_step_5_nodes_that_are_leaving_or_unready_are_no_place() -> None:
    marked = a_node(goes_at=NOW)
    assert launched(a_demand(), marked) == []  # it is taken back
    assert launched(a_demand(), marked, leaving=NAME) == [SMALL]
    assert launched(a_demand(), a_node(ready=False, since=NOW - MINUTE), *WITNESSES) == [SMALL]


def test_step_6_what_is_unhealthy_is_not_expanded_and_the_plan_goes_elsewhere() -> None:
    assert launched(a_demand(), *unready(1), *WITNESSES) == [SMALL]
    assert launched(a_demand(), *unready(2), *WITNESSES) == [LARGE]


def test_step_6_nothing_is_bought_for_a_pool_that_is_unhealthy_as_a_whole() -> None:
    assert launched(a_demand(), *unready(1), *unready(1, LARGE), *WITNESSES) == []


def test_step_6_an_unhealthy_pool_leaves_others_alone() -> None:
    """Only the pods that ask for it have to wait."""
    place = town.Town(a_pool(types=("small",)), a_pool("web", types=("small",)), *unready(2), *WITNESSES)
    place.add(a_demand(), town.a_pod("fine", "1", **town.for_pool("web")))
    place.run(2 * SECOND)
    assert [one.spec.pool for one in place.requests] == ["web"]


@pytest.mark.parametrize("is_registered", [False, True], ids=["UC1, not registered", "UC2, not ready"])
def test_step_7_what_is_coming_is_not_bought_again(*, is_registered: bool) -> None:
    first, second, third = a_demand("first"), a_demand("second"), a_demand("third")
    coming = a_request(planned_for=(first,))
    node = [a_node(ready=False, is_closed=True, started=False)] if is_registered else []
    assert launched(first, coming, *node) == []
    assert launched(first, second, coming, *node) == []  # there is room for two
    assert launched(first, second, third, coming, *node) == [SMALL]


def test_step_7_what_will_not_come_any_more_is_not_counted_on() -> None:
    first = a_demand("first")
    given_up = a_request(phase="Deprovisioning", reason="NeverReady", planned_for=(first,))
    assert launched(first, given_up, a_node(ready=False, is_closed=True)) == [LARGE]  # small is left alone for a while


# 8 and 9: what goes


def test_step_8_empty_nodes_are_marked_and_unready_ones_are_watched_by_their_own_record() -> None:
    silent = a_node("default-2", ready=False, since=NOW - MINUTE)
    watch = Watch(a_pool(), a_node(), silent, a_cloud(NAME, "default-2"), *WITNESSES)
    decision = later(watch)
    assert [one.subject.name for one in said(decision, EditObject)] == [NAME]
    unit = watch.look().unit("default-2")
    assert unit is not None
    assert (unit.is_long, unit.changes_at) == (False, NOW - MINUTE + UNREADY_AFTER)


def test_step_8_work_takes_the_mark_off_again() -> None:
    marked = a_node(goes_at=NOW + MINUTE)
    watch = Watch(a_pool(), marked, a_pod("works", node=NAME, status={"phase": "Running"}), a_cloud(NAME))
    (edit,) = said(later(watch), EditObject)
    assert all(change["op"] in ("test", "remove") for change in edit.operations)


def test_step_9_an_empty_node_goes_when_its_time_is_over_and_not_before() -> None:
    watch = Watch(a_pool(), a_node(goes_at=NOW + HOUR / 10), a_cloud(NAME))
    assert removals(later(watch)) == []
    watch.now += HOUR / 10
    watch.add(a_cloud(NAME, read_at=watch.now))
    assert removals(later(watch)) == [NAME]


def test_step_9_an_unready_node_goes_after_its_longer_time() -> None:
    silent = a_node("default-2", ready=False, since=NOW - UNREADY_AFTER + SECOND)
    watch = Watch(a_pool(), silent, a_cloud("default-2"), *WITNESSES)
    assert removals(watch.decide(shrink.CAPABILITY)) == []
    watch.now += SECOND
    watch.add(a_cloud("default-2", read_at=watch.now))
    assert removals(watch.decide(shrink.CAPABILITY)) == ["default-2"]


@pytest.mark.parametrize("is_ready", [True, False], ids=["empty", "unready"])
def test_step_9_none_goes_within_the_delay_after_a_scale_up(*, is_ready: bool) -> None:
    going = a_node(goes_at=NOW - MINUTE) if is_ready else a_node(ready=False, since=NOW - HOUR)
    cloud = a_cloud(NAME, "default-2")
    quiet = Watch(a_pool(), going, a_node("default-2", born=NOW - 11 * MINUTE), a_pod("b", node="default-2"), cloud)
    assert removals(later(quiet)) == [NAME]
    young = Watch(a_pool(), going, a_node("default-2", born=NOW - 9 * MINUTE), a_pod("b", node="default-2"), cloud)
    assert removals(later(young)) == []
