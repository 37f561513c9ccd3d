"""Machines that never registered go one by one in each pool, the oldest first (UC5)."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from growth.api.actions import Action, CreateObject, Hold
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.meta import ObjectMeta
from growth.api.node_removal_request import NodeRemovalRequest, NodeRemovalRequestSpec, NodeRemovalRequestStatus
from growth.api.node_request import NodeRequest
from growth.api.phases import RemovalPhase
from growth.api.provider_state import ProviderState
from growth.decide.contract import Decision
from growth.decide.node_requests.carry import NodeRequestsCarry
from tests.decide.node_requests.stage import (
    MINUTE,
    NOW,
    PROVISION,
    SETTINGS,
    SMALL,
    a_cloud,
    a_machine,
    a_node,
    a_pool,
    a_request,
    decided,
    told,
)

ALREADY = NOW - PROVISION.machine_within
"""Since when a request is Provisioning whose time is just over."""
FIRST, SECOND, THIRD = "default-a", "default-b", "default-c"


def late(name: str, *, minutes: int = 0, seconds: float = 0, pool: str = "default") -> NodeRequest:
    """One whose machine is there, and whose time was over so long ago."""
    since = ALREADY - timedelta(minutes=minutes, seconds=seconds)
    return a_request("Provisioning", name=name, since=since, pool=pool)


def machines(*names: str, pool: str = "default", read_at: datetime = NOW, problem: str = "") -> ProviderState:
    return a_cloud(*(a_machine(name, pool=pool) for name in names), read_at=read_at, problem=problem)


def a_removal(name: str, phase: RemovalPhase = "Pending") -> NodeRemovalRequest:
    spec = NodeRemovalRequestSpec("default", name, f"shop://{name}")
    return NodeRemovalRequest(ObjectMeta(name=name, uid=f"removal-{name}"), spec, NodeRemovalRequestStatus(phase))


def waits(name: str) -> str:
    return f"hold {name}: OneByOne"


# In time


def test_a_machine_has_its_time_to_register_to_the_second() -> None:
    nearly = a_request("Provisioning", name=FIRST, since=ALREADY + timedelta(seconds=1))
    decision = decided(a_pool(), nearly, machines(FIRST))
    assert (told(decision.said), decision.requeue_at) == ([], NOW + timedelta(seconds=1))
    assert told(decided(a_pool(), late(FIRST), machines(FIRST)).said) == [f"{FIRST} -> Deprovisioning"]


@pytest.mark.parametrize(
    "cloud",
    [
        pytest.param(machines(FIRST, problem="no answer"), id="it lists it, but does not answer now"),
        pytest.param(machines(problem="no answer"), id="it listed nothing, and does not answer now"),
        pytest.param(machines(FIRST, read_at=NOW - 30 * MINUTE), id="it was asked before the time was over"),
        pytest.param(machines(read_at=NOW - 30 * MINUTE), id="it was asked before, and listed nothing"),
        pytest.param(machines(read_at=NOW + MINUTE), id="it was asked on a clock that was wrong"),
    ],
)
def test_a_provider_that_has_not_answered_since_proves_nothing(cloud: ProviderState) -> None:
    assert told(decided(a_pool(), late(FIRST, minutes=1), cloud).said) == [f"hold {FIRST}: ProviderSilent"]


def test_without_a_machine_it_is_given_up_at_once_and_not_one_by_one() -> None:
    """UC4: there is nothing to remove."""
    said = told(decided(a_pool(), late(FIRST), late(SECOND), machines()).said)
    assert said == [f"{FIRST} -> Unmet", f"{SECOND} -> Unmet"]


# One by one


def test_of_several_the_oldest_goes() -> None:
    said = decided(
        a_pool(), late(FIRST), late(SECOND, minutes=2), late(THIRD, minutes=1), machines(FIRST, SECOND, THIRD)
    ).said
    assert told(said) == [f"{SECOND} -> Deprovisioning", waits(THIRD), waits(FIRST)]


def test_of_those_of_one_age_the_first_by_name_goes() -> None:
    said = decided(a_pool(), late(SECOND), late(FIRST), machines(FIRST, SECOND)).said
    assert told(said) == [f"{FIRST} -> Deprovisioning", waits(SECOND)]


def test_whoever_waits_says_for_whom() -> None:
    said = decided(a_pool(), late(FIRST), late(SECOND), machines(FIRST, SECOND)).said
    (hold,) = [one for one in said if isinstance(one, Hold)]
    assert hold.why == f"its machine never registered; it goes when {FIRST} is gone"


def test_each_pool_has_one_of_its_own() -> None:
    pools, cloud = (a_pool(), a_pool("batch")), a_cloud(a_machine(FIRST), a_machine("batch-a", pool="batch"))
    said = decided(*pools, late(FIRST), late("batch-a", pool="batch"), cloud).said
    assert told(said) == ["batch-a -> Deprovisioning", f"{FIRST} -> Deprovisioning"]


def test_the_next_one_waits_from_the_patch_to_the_machines_end() -> None:
    both = machines(FIRST, SECOND)
    given_up = a_request("Deprovisioning", name=FIRST, failed="NoNode")
    assert told(decided(a_pool(), given_up, late(SECOND), both).said) == [f"remove {FIRST}", waits(SECOND)]
    removals: tuple[RemovalPhase, ...] = ("Pending", "Deprovisioning")
    for phase in removals:
        assert told(decided(a_pool(), a_removal(FIRST, phase), late(SECOND), both).said) == [waits(SECOND)]
    gone = decided(a_pool(), a_removal(FIRST, "Deprovisioning"), late(SECOND), machines(SECOND))
    assert told(gone.said) == [f"{SECOND} -> Deprovisioning"]


def test_a_removal_that_failed_stops_nobody_else() -> None:
    said = decided(a_pool(), a_removal(FIRST, "RemovalFailed"), late(SECOND), machines(FIRST, SECOND)).said
    assert told(said) == [f"{SECOND} -> Deprovisioning"]


def test_a_node_that_is_leaving_for_another_reason_stops_nobody() -> None:
    leaving = a_node(FIRST, is_closed=False)
    said = decided(a_pool(), leaving, a_removal(FIRST), late(SECOND), machines(FIRST, SECOND)).said
    assert told(said) == [f"{SECOND} -> Deprovisioning"]


def test_one_that_registers_while_it_waits_is_used() -> None:
    said = decided(a_pool(), late(FIRST, minutes=1), late(SECOND), a_node(SECOND), machines(FIRST, SECOND)).said
    assert told(said) == [f"{SECOND} -> Ready", f"open {SECOND}", f"{FIRST} -> Deprovisioning"]


# Leaked ones among them


LEAKED = "default-z"
LONG_NOTICED = NodeRequestsCarry({f"shop://{LEAKED}": NOW - SETTINGS.removal.leaked_after - MINUTE})
STRANGE = a_pool(types=(SMALL,))
"""It does not use what the leaked machine is."""


def with_a_leak(*things: object, memory: NodeRequestsCarry = LONG_NOTICED) -> Decision[Any]:
    return decided(STRANGE, *things, memory=memory)


def leaked_beside(*names: str) -> ProviderState:
    return a_cloud(*(a_machine(name) for name in names), a_machine(LEAKED, offering="shop-large-fsn1"))


def told_of_machines(decision: Decision[Any]) -> list[str]:
    """Without what is said on the pool."""
    return [one for one in told(decision.said) if "LeakedMachine" not in one]


def removals_in(decision: Decision[Any]) -> list[Action]:
    return [
        one for one in decision.said if isinstance(one, CreateObject) and one.subject.kind == NODE_REMOVAL_REQUESTS.name
    ]


def test_a_leaked_machine_takes_its_turn_by_its_age() -> None:
    older = with_a_leak(late(FIRST), leaked_beside(FIRST))
    assert told_of_machines(older) == [f"remove {LEAKED}", waits(FIRST)]
    younger = with_a_leak(late(FIRST, minutes=2), leaked_beside(FIRST))
    assert told_of_machines(younger) == [f"{FIRST} -> Deprovisioning", waits(LEAKED)]


def test_a_leaked_machine_waits_for_one_that_is_leaving() -> None:
    decision = with_a_leak(a_removal(FIRST, "Deprovisioning"), leaked_beside(FIRST))
    assert told_of_machines(decision) == [waits(LEAKED)]
    assert removals_in(decision) == []


def test_a_leaked_machine_has_its_grace() -> None:
    noticed = NodeRequestsCarry({f"shop://{LEAKED}": NOW - SETTINGS.removal.leaked_after + MINUTE})
    decision = with_a_leak(late(FIRST), leaked_beside(FIRST), memory=noticed)
    assert told_of_machines(decision) == [f"{FIRST} -> Deprovisioning"]
    assert decision.requeue_at == NOW + MINUTE
