"""In an unhealthy cluster nothing is bought, given up or removed; what comes is noted and let in (S1)."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import Action, CreateMachine, CreateObject, Outcome, Result
from growth.api.annotations import STARTED_AT
from growth.api.machine import Machine
from growth.api.meta import Condition
from growth.api.node import Node
from growth.api.provider_state import ProviderState
from growth.decide.contract import Decision
from growth.decide.facts.cluster_state import ClusterHealth
from growth.decide.node_requests.carry import NodeRequestsCarry
from growth.decide.node_requests.decider import CAPABILITY
from growth.decide.registry.step import step
from tests.decide.node_requests.stage import (
    MINUTE,
    NAME,
    NOW,
    PROVISION,
    SETTINGS,
    SMALL,
    a_cloud,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    a_snapshot,
    an_outcome,
    decided,
    told,
)
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)

HOUR = timedelta(hours=1)
HELD = [f"hold {NAME}: ClusterUnhealthy"]


def a_broken_node(number: int) -> Node:
    """One that worked until a minute ago."""
    node = a_node(f"broken-{number}", is_closed=False, annotations={STARTED_AT: "2026-03-01T07:00:00Z"})
    ready = Condition("Ready", "Unknown", last_transition_time=NOW - MINUTE)
    status = msgspec.structs.replace(node.status, conditions=(ready,))
    return msgspec.structs.replace(node, status=status)


BROKEN = tuple(map(a_broken_node, range(4)))
THEIRS = tuple(a_machine(node.metadata.name) for node in BROKEN)
CLOUD = a_cloud(*THEIRS)


def halted(*things: object, outcome: Outcome | None = None, memory: object = None) -> Decision[Any]:
    """What is decided when four nodes are unready and hardly one works."""
    assert step(None, a_snapshot(a_pool(), *BROKEN, *things), SETTINGS).is_halted
    return decided(a_pool(), *BROKEN, *things, outcome=outcome, memory=memory)


def buying_or_removing(decision: Decision[Any]) -> list[Action]:
    return [one for one in decision.said if isinstance(one, CreateMachine | CreateObject)]


# Nothing is bought


@pytest.mark.parametrize("since", [None, NOW - MINUTE, NOW - HOUR], ids=["new", "troubled", "long overdue"])
def test_a_pending_request_waits_and_is_not_given_up(since: datetime | None) -> None:
    assert told(halted(a_request(since=since), CLOUD).said) == HELD


def test_neither_a_refusal_nor_a_pool_that_goes_ends_it_now() -> None:
    outcome = an_outcome(a_request(), Result.REFUSED, error="OutOfStock")
    assert told(halted(a_request(), CLOUD, outcome=outcome).said) == HELD
    assert told(decided(a_pool(is_going=True), *BROKEN, a_request(), CLOUD).said) == HELD


def test_a_machine_that_was_bought_before_is_noted() -> None:
    assert told(halted(a_request(), a_cloud(*THEIRS, a_machine())).said) == [f"{NAME} -> Provisioning"]
    outcome = an_outcome(a_request(), Result.DONE, machine=a_machine())
    assert told(halted(a_request(), CLOUD, outcome=outcome).said) == [f"{NAME} -> Provisioning"]


# Nothing is given up


@pytest.mark.parametrize("machines", [(), (a_machine(),)], ids=["without a machine", "with one"])
def test_who_is_overdue_in_a_broken_cluster_is_not_to_blame(machines: tuple[Machine, ...]) -> None:
    request = a_request("Provisioning", since=NOW - HOUR)
    assert told(halted(request, a_cloud(*THEIRS, *machines)).said) == []


def test_a_node_that_does_not_become_ready_now_is_waited_for() -> None:
    request = a_request("Provisioning", since=NOW - HOUR)
    assert told(halted(request, a_node(ready=False), a_cloud(*THEIRS, a_machine())).said) == []


def test_a_pool_that_is_deleted_keeps_what_is_coming() -> None:
    request = a_request("Provisioning")
    said = decided(a_pool(is_going=True), *BROKEN, request, a_cloud(*THEIRS, a_machine())).said
    assert told(said) == []


def test_what_was_given_up_is_not_handed_to_removal() -> None:
    request = a_request("Deprovisioning", failed="NoNode")
    assert told(halted(request, a_cloud(*THEIRS, a_machine())).said) == HELD


def test_what_is_being_removed_already_or_gone_ends_its_request() -> None:
    request = a_request("Deprovisioning", failed="PoolGone")
    assert told(halted(request, a_removal(), a_cloud(*THEIRS, a_machine())).said) == [f"delete {NAME}"]
    assert told(halted(request, CLOUD).said) == [f"delete {NAME}"]


# What comes is let in


def test_a_node_that_is_what_was_planned_is_opened() -> None:
    said = halted(a_request("Provisioning"), a_node(), a_cloud(*THEIRS, a_machine())).said
    assert told(said) == [f"{NAME} -> Ready", f"open {NAME}"]


def test_pods_get_their_keys() -> None:
    pod = a_pod()
    request = a_request("Ready", since=NOW, planned_for=[pod], hands_keys=True)
    assert told(halted(request, pod, a_node(), a_cloud(*THEIRS, a_machine())).said) == [f"key app: {NAME}"]


# Machines that nobody knows


LONG_NOTICED = NodeRequestsCarry({f"shop://{NAME}": NOW - HOUR})


def test_a_machine_that_nobody_knows_is_adopted_when_the_cluster_is_well() -> None:
    cloud = a_cloud(*THEIRS, a_machine())
    assert buying_or_removing(halted(cloud, memory=LONG_NOTICED)) == []
    works = [a_node(f"works-{number}", is_closed=False) for number in range(6)]
    well = a_cloud(*THEIRS, a_machine(), *(a_machine(node.metadata.name) for node in works))
    assert told(decided(a_pool(), *BROKEN, *works, well, memory=LONG_NOTICED).said) == [f"adopt {NAME}"]


def test_a_leaked_machine_is_told_of_and_left_alone() -> None:
    strange, cloud = a_pool(types=(SMALL,)), a_cloud(*THEIRS, a_machine(offering="shop-large-fsn1"))
    decision = decided(strange, *BROKEN, cloud, memory=LONG_NOTICED)
    assert told(decision.said) == ["hold default: LeakedMachine", "event default: LeakedMachine"]
    going = decided(a_pool(is_going=True), *BROKEN, a_cloud(*THEIRS, a_machine()), memory=LONG_NOTICED)
    assert buying_or_removing(going) == []


# When it is over


def recovered(*things: object, minutes_ago: float) -> Decision[Any]:
    """What is decided when all nodes work again since then."""
    snapshot = a_snapshot(a_pool(), *things)
    health = ClusterHealth(healthy_since=NOW - timedelta(minutes=minutes_ago))
    before = msgspec.structs.replace(step(None, snapshot, SETTINGS), health=health, notes=None)
    return decide(snapshot, Given(cluster=step(before, snapshot, SETTINGS)), SETTINGS)


def test_who_came_into_a_broken_cluster_has_all_its_time_after_it() -> None:
    patience = PROVISION.machine_within / MINUTE
    request, cloud = a_request("Provisioning", since=NOW - HOUR), a_cloud(a_machine())
    decision = recovered(request, cloud, minutes_ago=patience - 1)
    assert (told(decision.said), decision.requeue_at) == ([], NOW + MINUTE)
    assert told(recovered(request, cloud, minutes_ago=patience).said) == [f"{NAME} -> Deprovisioning"]
    assert told(recovered(request, a_cloud(), minutes_ago=patience).said) == [f"{NAME} -> Unmet"]


def test_so_has_a_node_that_has_yet_to_become_ready() -> None:
    patience = (PROVISION.machine_within + PROVISION.ready_within) / MINUTE
    things = (a_request("Provisioning", since=NOW - HOUR), a_node(ready=False), a_cloud(a_machine()))
    assert told(recovered(*things, minutes_ago=patience - 1).said) == []
    assert told(recovered(*things, minutes_ago=patience).said) == [f"{NAME} -> Deprovisioning"]


def test_what_was_given_up_is_handed_to_removal_at_once() -> None:
    request = a_request("Deprovisioning", failed="NoNode")
    assert told(recovered(request, a_cloud(a_machine()), minutes_ago=0).said) == [f"remove {NAME}"]


def test_what_waited_is_bought_at_once() -> None:
    assert told(recovered(a_request(), a_cloud(), minutes_ago=0).said) == [f"buy {NAME}"]


# A request of which nobody knows any more what it is


def test_a_request_whose_time_is_over_is_given_up_although_another_provider_never_answered() -> None:
    """As long as it is not, nobody plans and nobody removes (step 4)."""
    silent = ProviderState("other", read_at=None, problem="no answer")
    request = a_request(since=NOW - HOUR, offering="shop-antique-fsn1")
    assert told(decided(a_pool(), request, a_cloud(), silent).said) == [f"{NAME} -> Unmet"]
    in_time = a_request(since=NOW - MINUTE, offering="shop-antique-fsn1")
    assert told(decided(a_pool(), in_time, a_cloud(), silent).said) == [f"hold {NAME}: ProviderSilent"]


def test_a_request_that_is_being_deleted_keeps_nobody_from_planning() -> None:
    lost = a_request(since=NOW - HOUR)
    assert step(None, a_snapshot(a_pool(), lost, a_cloud()), SETTINGS).gives_up
    going = a_request(since=NOW - HOUR, is_going=True)
    assert not step(None, a_snapshot(a_pool(), going, a_cloud()), SETTINGS).gives_up
