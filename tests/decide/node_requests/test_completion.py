"""The seed's steps 3 and 4: requests that are Ready, Unmet or Deprovisioning, and how they go."""

from datetime import datetime, timedelta

import pytest

from growth.api.actions import CreateObject, DeleteObject
from growth.api.settings.model import ProvisionSettings, Settings
from tests.decide.node_requests.stage import (
    LARGE,
    MINUTE,
    NAME,
    NOW,
    PROVISION,
    SMALL,
    a_cloud,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    decided,
    left_alone,
    told,
)

OPEN = a_node(is_closed=False)
OLD = NOW - PROVISION.keep_ready


@pytest.mark.parametrize(
    ("since", "node", "steady_since", "expected"),
    [
        pytest.param(OLD, OPEN, None, [f"delete {NAME}"], id="its time is over"),
        pytest.param(OLD + MINUTE, OPEN, None, [], id="it is still looked at"),
        pytest.param(OLD, OPEN, NOW - MINUTE, [], id="the clock jumped: nobody knows how old it is"),
        pytest.param(NOW + MINUTE, OPEN, None, [], id="it is from a clock that was ahead"),
    ],
)
def test_step_3_a_ready_request_is_deleted_when_its_time_is_over(
    since: datetime, node: object, steady_since: datetime | None, expected: list[str]
) -> None:
    request = a_request("Ready", since=since)
    assert told(decided(a_pool(), request, a_cloud(a_machine()), node, steady_since=steady_since).said) == expected


def test_a_ready_request_stays_while_its_node_is_closed() -> None:
    """It knows for whom the node was bought; the node is opened first."""
    said = decided(a_pool(), a_request("Ready", since=OLD), a_cloud(a_machine()), a_node()).said
    assert told(said) == [f"open {NAME}"]


def test_a_ready_request_stays_while_its_pods_have_their_places() -> None:
    short = Settings(provision=ProvisionSettings(keep_ready=timedelta(0)))
    things = (a_pool(), a_cloud(a_machine()), OPEN)
    young, old = a_request("Ready", since=NOW - MINUTE / 2), a_request("Ready", since=NOW - MINUTE)
    assert told(decided(young, *things, settings=short).said) == []
    assert told(decided(old, *things, settings=short).said) == [f"delete {NAME}"]


def test_a_ready_request_whose_node_is_gone_goes_in_time() -> None:
    said = decided(a_pool(), a_request("Ready", since=OLD), a_cloud()).said
    assert told(said) == [f"delete {NAME}"]


UNMET = a_request("Unmet", failed="OutOfStock")
NO_QUOTA = a_request("Unmet", failed="QuotaExceeded")
NOTED = left_alone(until=NOW + MINUTE)
OVER = left_alone(until=NOW)


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((a_pool(), UNMET), [], id="nobody has learnt from it yet: it stays"),
        pytest.param((a_pool(learnt=[left_alone(LARGE.id, until=NOW)]), UNMET), [],
                     id="what was learnt about another offering is not about this one"),
        pytest.param((a_pool(learnt=[NOTED]), UNMET), [], id="it is noted, and its offering is left alone: it stays"),
        pytest.param((a_pool(learnt=[OVER]), UNMET), [f"delete {NAME}"], id="its offering may be tried again: it goes"),
        pytest.param((UNMET,), [f"delete {NAME}"], id="its pool is gone: it goes"),
        pytest.param((a_pool(is_going=True), a_request("Unmet", failed="PoolGone")), [f"delete {NAME}"],
                     id="a pool that went teaches nothing: it goes"),
        pytest.param((a_pool(learnt=[left_alone("shop", until=NOW + MINUTE)]), NO_QUOTA),
                     [], id="what holds for all that a provider sells is noted under its name"),
        pytest.param((a_pool(learnt=[left_alone("shop", until=NOW)]), NO_QUOTA),
                     [f"delete {NAME}"], id="and ends there"),
    ],
)  # fmt: skip
def test_step_3_an_unmet_request_is_deleted_when_it_is_noted_and_its_time_is_over(
    things: tuple[object, ...], expected: list[str]
) -> None:
    assert told(decided(*things, a_cloud()).said) == expected


def test_unmet_request_stays_to_be_read_when_its_pool_is_unclear() -> None:
    fresh = a_request("Unmet", failed="PoolUnclear", pool="")
    assert told(decided(a_pool(), fresh, a_cloud()).said) == []
    read = a_request("Unmet", failed="PoolUnclear", pool="", since=NOW - PROVISION.unmet_at_most)
    assert told(decided(a_pool(), read, a_cloud()).said) == [f"delete {NAME}"]


def test_an_unmet_request_wakes_when_its_offering_may_be_tried_again() -> None:
    assert decided(a_pool(learnt=[NOTED]), UNMET, a_cloud()).requeue_at == NOW + MINUTE


def test_an_end_that_is_farther_away_than_any_could_be_is_a_mistake_of_a_clock() -> None:
    far = left_alone(until=NOW + timedelta(days=365))
    wake_at = decided(a_pool(learnt=[far]), UNMET, a_cloud()).requeue_at
    assert wake_at == NOW - MINUTE + PROVISION.unmet_at_most


GIVEN_UP = a_request("Deprovisioning", failed="NoNode")
COUNTED = a_pool(counted=[GIVEN_UP.metadata.uid])


def test_step_4_a_deprovisioning_request_creates_a_removal() -> None:
    (action,) = decided(a_pool(), GIVEN_UP, a_cloud(a_machine())).said
    assert isinstance(action, CreateObject)
    assert (action.subject.kind, action.subject.name) == ("NodeRemovalRequest", NAME)
    assert action.body == {
        "spec": {"pool": "default", "nodeName": NAME, "providerID": f"shop://{NAME}", "reason": "it was NoNode"}
    }


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((COUNTED, a_removal()), [f"delete {NAME}"], id="it is deleted once that is seen"),
        pytest.param((a_pool(), a_removal()), [], id="not before its pool has learnt from it"),
        pytest.param((a_removal(),), [f"delete {NAME}"], id="unless the pool is gone"),
        pytest.param((COUNTED, a_removal("by-hand", node=NAME)), [f"delete {NAME}"],
                     id="a removal that a person made for the same node will do"),
        pytest.param((COUNTED, a_removal("by-hand")), [f"remove {NAME}"],
                     id="one for another node will not"),
    ],
)  # fmt: skip
def test_step_4_the_request_is_removed(things: tuple[object, ...], expected: list[str]) -> None:
    assert told(decided(*things, GIVEN_UP, a_cloud(a_machine())).said) == expected


def test_a_node_that_works_after_all_is_not_asked_to_be_removed_again_and_again() -> None:
    pod = a_pod(node=NAME)
    noted = COUNTED
    assert told(decided(noted, GIVEN_UP, a_cloud(a_machine()), OPEN, pod).said) == [f"delete {NAME}"]
    assert told(decided(a_pool(), GIVEN_UP, a_cloud(a_machine()), OPEN, pod).said) == []
    never_ready = a_node(ready=False)
    assert told(decided(noted, GIVEN_UP, a_cloud(a_machine()), never_ready, pod).said) == [f"remove {NAME}"]


def test_a_request_of_which_nothing_is_left_asks_for_no_second_removal() -> None:
    after = a_cloud(read_at=NOW)
    noted, gave_up_at = COUNTED, NOW - MINUTE
    given_up = a_request("Deprovisioning", failed="NoNode", since=gave_up_at)
    assert told(decided(noted, given_up, after).said) == [f"delete {NAME}"]
    assert told(decided(a_pool(), given_up, after).said) == []
    assert told(decided(noted, given_up, a_cloud(read_at=gave_up_at)).said) == [f"remove {NAME}"]


def test_only_the_very_request_is_deleted() -> None:
    (action,) = decided(a_pool(learnt=[OVER]), UNMET, a_cloud()).said
    assert isinstance(action, DeleteObject)
    assert action.subject.uid == UNMET.metadata.uid


def test_a_node_that_is_given_up_is_never_opened() -> None:
    pod = a_pod()
    request = a_request("Deprovisioning", failed="NeverReady", planned_for=[pod], offering=SMALL.id)
    assert told(decided(a_pool(), request, a_cloud(a_machine()), a_node(), pod).said) == [f"remove {NAME}"]
