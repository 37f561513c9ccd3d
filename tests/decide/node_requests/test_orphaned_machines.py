"""Machines that nobody knows: adopted if they match, else reported, and never on old news."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from growth.api.actions import CreateObject
from growth.api.provider_state import ProviderState
from growth.decide.contract import Decision
from tests.decide.node_requests.stage import (
    GPU,
    LARGE,
    MINUTE,
    NAME,
    NOW,
    SETTINGS,
    SMALL,
    a_cloud,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    a_request,
    decided,
    told,
)

REMOVAL = SETTINGS.removal
STRANGE = a_machine(offering="shop-tiny-fsn1")
REPORTED = ["hold default: LeakedMachine", "event default: LeakedMachine"]
HOMELESS = a_machine(pool="other")


def seen_twice(*things: object, cloud: Callable[..., ProviderState] | None = None) -> Decision[Any]:
    """Two looks with an answer of the provider between them; ``things`` may hold machines."""
    machines = [one for one in things if isinstance(one, type(STRANGE))]
    others = [one for one in things if one not in machines]
    first = decided(*others, a_cloud(*machines))
    assert told(first.said) == []
    later = (cloud or a_cloud)(*machines, read_at=NOW + MINUTE)
    return decided(*others, later, now=NOW + MINUTE, memory=first.carry)


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((a_pool(), a_machine()), [f"adopt {NAME}"], id="one that matches is adopted"),
        pytest.param((a_pool(), HOMELESS), ["hold other: LeakedMachine", "event other: LeakedMachine"],
                     id="one whose pool does not exist is reported"),
        pytest.param((a_pool(is_going=True), a_machine()), [*REPORTED, f"remove {NAME}"],
                     id="one whose pool is being deleted goes with it"),
        pytest.param((a_pool(), STRANGE), REPORTED,
                     id="one of an offering that nobody sells"),
    ],
)  # fmt: skip
def test_a_machine_that_nobody_knows(things: tuple[object, ...], expected: list[str]) -> None:
    assert told(seen_twice(*things).said) == expected


@pytest.mark.parametrize(
    "thing",
    [
        pytest.param(a_request("Unmet", failed="NoMachine"), id="it has a request"),
        pytest.param(a_node(is_closed=False), id="it has a node"),
        pytest.param(a_removal(), id="it is being removed"),
        pytest.param(a_removal("by-hand", node=NAME), id="by a removal of another name"),
        pytest.param(a_removal("by-hand", provider_id=f"shop://{NAME}"), id="or by one that names the machine itself"),
    ],
)
def test_a_machine_is_known_if(thing: object) -> None:
    cloud = a_cloud(a_machine(), read_at=NOW + MINUTE)
    first = decided(a_pool(), thing, a_cloud(a_machine()))
    assert told(decided(a_pool(), thing, cloud, now=NOW + MINUTE, memory=first.carry).said) == []


def test_a_machine_that_its_pool_would_not_buy_is_reported() -> None:
    decision = seen_twice(a_pool(types=[SMALL]), a_machine(offering=GPU.id))
    assert "its pool 'default' does not use gpu" in decision.said[0].why


def test_an_adopted_machine_gets_a_request_of_its_own_name() -> None:
    (action,) = seen_twice(a_pool(), a_machine(offering=LARGE.id)).said
    assert isinstance(action, CreateObject)
    assert action.body["spec"] == {"pool": "default", "targetOffering": LARGE.id}
    assert action.body["metadata"]["ownerReferences"][0]["uid"] == "pool-default"


def test_a_list_that_is_older_than_a_removal_proves_nothing() -> None:
    """The machine is gone and its removal, too; what the provider said before that still shows it."""
    before = decided(a_pool(), a_removal(), a_cloud(a_machine()))
    after = decided(a_pool(), a_cloud(a_machine()), now=NOW + MINUTE, memory=before.carry)
    assert told(after.said) == []
    again = decided(a_pool(), a_cloud(a_machine()), now=NOW + 2 * MINUTE, memory=after.carry)
    assert told(again.said) == []
    asked = a_cloud(read_at=NOW + 3 * MINUTE)
    assert told(decided(a_pool(), asked, now=NOW + 3 * MINUTE, memory=again.carry).said) == []


def test_a_provider_that_is_silent_says_nothing_about_leaks() -> None:
    def silent(*machines: object, **fields: object) -> ProviderState:
        return a_cloud(*machines, problem="it does not answer", **fields)  # type: ignore[arg-type]

    assert told(seen_twice(a_pool(), a_machine(), cloud=silent).said) == []


def test_a_clock_that_is_set_back_delays_nothing_for_ever() -> None:
    first = decided(a_pool(), a_cloud(a_machine()))
    earlier = NOW - 60 * MINUTE
    second = decided(a_pool(), a_cloud(a_machine(), read_at=earlier), now=earlier, memory=first.carry)
    assert told(second.said) == []
    third = a_cloud(a_machine(offering=SMALL.id), read_at=earlier + MINUTE)
    assert told(decided(a_pool(), third, now=earlier + MINUTE, memory=second.carry).said) == [f"adopt {NAME}"]


def test_one_that_cannot_be_used_is_removed_when_its_grace_is_over() -> None:
    first = seen_twice(a_pool(), STRANGE)
    assert first.requeue_at == NOW + REMOVAL.leaked_after
    ends_at = NOW + REMOVAL.leaked_after
    said = decided(a_pool(), a_cloud(STRANGE, read_at=ends_at), now=ends_at, memory=first.carry).said
    assert told(said) == [*REPORTED, f"remove {NAME}"]
    (create,) = [one for one in said if isinstance(one, CreateObject)]
    assert {**create.body["spec"], "reason": ""} == {
        "pool": "default",
        "nodeName": NAME,
        "providerID": f"shop://{NAME}",
        "reason": "",
    }


def test_a_clock_that_jumps_ends_no_grace() -> None:
    first = seen_twice(a_pool(), STRANGE)
    jumped = NOW + 60 * MINUTE
    said = decided(
        a_pool(),
        a_cloud(STRANGE, read_at=jumped + MINUTE),
        now=jumped + MINUTE,
        memory=first.carry,
        steady_since=jumped,
    )
    assert (told(said.said), said.requeue_at) == (REPORTED, jumped + REMOVAL.leaked_after)


def test_what_a_pool_was_deleted_without_is_left_to_people() -> None:
    orphaned = a_pool(is_going=True)
    spec = msgspec.structs.replace(orphaned.spec, deletion_policy="Orphan")
    assert told(seen_twice(msgspec.structs.replace(orphaned, spec=spec), STRANGE).said) == REPORTED
