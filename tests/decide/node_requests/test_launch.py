"""The seed's "For each NodeRequest in state Pending", and what each error of a provider means for one."""

from typing import Any

import msgspec
import pytest

from growth.api.actions import CreateMachine, Result
from growth.api.machine import request_for
from growth.api.node_request import FORESEES
from growth.api.status import MAX_EVENTS
from growth.decide.capacity.provider_failures import ANYTHING_ELSE, SAID_BY_PROVIDERS
from tests.decide.node_requests.stage import (
    LARGE,
    MINUTE,
    NAME,
    NOW,
    PROVISION,
    SMALL,
    a_cloud,
    a_machine,
    a_pool,
    a_request,
    an_event,
    an_outcome,
    decided,
    status_written,
    told,
)

NEW = a_request(since=None)
STAMP = "2026-03-01T09:00:00Z"


def names(status: dict[str, Any]) -> list[tuple[str, str]]:
    return [(event["name"], event.get("reason", "")) for event in status["events"]]


def test_step_1_1_the_node_is_requested_from_the_provider() -> None:
    (action,) = decided(a_pool(), NEW, a_cloud()).said
    assert isinstance(action, CreateMachine)
    assert (action.subject.uid, action.provider) == (NEW.metadata.uid, "shop")
    assert action.request == request_for(NAME, a_pool(), SMALL, uid=NEW.metadata.uid)


def test_step_1_2_the_provider_accepts_and_the_request_is_provisioning_with_a_prospective_node() -> None:
    outcome = an_outcome(NEW, Result.DONE, machine=a_machine())
    assert status_written(a_pool(), NEW, a_cloud(), outcome=outcome) == {
        "phase": "Provisioning",
        "phaseSince": STAMP,
        "providerID": f"shop://{NAME}",
        "conditions": [
            {
                "type": "Met",
                "status": "True",
                "reason": "Accepted",
                "message": f"machine {NAME}/1",
                "lastTransitionTime": STAMP,
            }
        ],
        "events": [{"at": STAMP, "name": "nodeRequested"}],
    }


def test_request_that_names_its_pool_by_its_owner_gets_a_machine_of_that_pool() -> None:
    (action,) = decided(a_pool("web"), a_request(since=None, pool="", owners=["web"]), a_cloud()).said
    assert isinstance(action, CreateMachine)
    assert action.request == request_for(NAME, a_pool("web"), SMALL, uid=NEW.metadata.uid)


@pytest.mark.parametrize(
    ("pool", "owners"),
    [("", []), ("", ["default", "web"]), ("default", ["web"])],
    ids=["no pool", "two pools", "another pool than its owner"],
)
def test_request_launches_nothing_when_its_pool_is_unclear(pool: str, owners: list[str]) -> None:
    request = a_request(since=None, pool=pool, owners=owners)
    status = status_written(a_pool(), a_pool("web"), request, a_cloud())
    (met,) = status["conditions"]
    assert (status["phase"], met["status"], met["reason"]) == ("Unmet", "False", "PoolUnclear")
    assert met["message"] == request.pool_problem
    assert names(status) == [("nodeRequestFailed", f"PoolUnclear: {request.pool_problem}")]


def test_that_a_machine_is_larger_than_it_had_to_be_stands_in_its_history() -> None:
    larger = msgspec.structs.replace(
        NEW, metadata=msgspec.structs.replace(NEW.metadata, annotations={FORESEES: "true"})
    )
    status = status_written(a_pool(), larger, a_cloud(a_machine()))
    assert names(status) == [("nodeRequested", "with room for those who follow: more and more is wanted")]


def test_step_1_3_without_capacity_the_request_is_unmet() -> None:
    outcome = an_outcome(NEW, Result.REFUSED, error="OutOfStock", message="sold out")
    assert status_written(a_pool(), NEW, a_cloud(), outcome=outcome) == {
        "phase": "Unmet",
        "phaseSince": STAMP,
        "providerID": "",
        "conditions": [
            {
                "type": "Met",
                "status": "False",
                "reason": "OutOfStock",
                "message": "sold out",
                "lastTransitionTime": STAMP,
            }
        ],
        "events": [
            {"at": STAMP, "name": "nodeRequested"},
            {"at": STAMP, "name": "nodeRequestFailed", "reason": "OutOfStock: sold out"},
        ],
    }


@pytest.mark.parametrize("row", SAID_BY_PROVIDERS, ids=lambda row: f"{row.error} leads to {row.phase}")
def test_each_error_means_what_the_table_says(row: Any) -> None:  # noqa: ANN401
    error = "TimeoutError" if row.error == ANYTHING_ELSE else row.error
    result = Result.FAILED if error in ("Unavailable", "TimeoutError") else Result.REFUSED
    outcome = an_outcome(NEW, result, error=error)
    said = decided(a_pool(), NEW, a_cloud(), outcome=outcome).said
    asked_again = ["buy default-1"] if row.phase == "Pending" else []
    assert told(said) == [f"{NAME} -> {row.phase}", *asked_again]
    status = status_written(a_pool(), NEW, a_cloud(), outcome=outcome)
    assert names(status) == [("nodeRequested", ""), ("nodeRequestFailed", f"{error}: oh")]


@pytest.mark.parametrize(
    ("events", "is_noted_again"),
    [
        pytest.param((), True, id="trouble that nobody noted is noted"),
        pytest.param(
            (an_event("nodeRequestFailed", "Unavailable: request 4711"),), False, id="the same trouble is not"
        ),
        pytest.param((an_event("nodeRequestFailed", "RateLimited: slow"),), True, id="other trouble is noted"),
    ],
)
def test_trouble_that_may_pass_is_noted_once(events: Any, is_noted_again: bool) -> None:  # noqa: ANN401, FBT001
    request = a_request(events=events)
    outcome = an_outcome(request, Result.FAILED, error="Unavailable", message="request 4712")
    noted = [f"{NAME} -> Pending"] if is_noted_again else []
    assert told(decided(a_pool(), request, a_cloud(), outcome=outcome).said) == [*noted, f"buy {NAME}"]


def test_the_history_is_bounded_and_keeps_the_newest() -> None:
    request = a_request(events=[an_event("nodeRequestFailed", f"Trouble{number}: oh") for number in range(MAX_EVENTS)])
    outcome = an_outcome(request, Result.FAILED, error="Unavailable")
    status = status_written(a_pool(), request, a_cloud(), outcome=outcome)
    assert len(status["events"]) == MAX_EVENTS
    assert names(status)[-2:] == [("nodeRequested", ""), ("nodeRequestFailed", "Unavailable: oh")]


def test_trouble_does_not_begin_the_phase_anew() -> None:
    request = a_request(since=NOW - 3 * MINUTE)
    outcome = an_outcome(request, Result.FAILED, error="Unavailable")
    assert status_written(a_pool(), request, a_cloud(), outcome=outcome)["phaseSince"] == "2026-03-01T08:57:00Z"


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((NEW, a_cloud(a_machine())), [f"{NAME} -> Provisioning"],
                     id="a machine that is in the list was bought before a crash: it is used"),
        pytest.param((NEW, a_cloud(a_machine(), problem="silent")), [f"{NAME} -> Provisioning"],
                     id="what a provider said before it fell silent still proves that there is a machine"),
        pytest.param((NEW, a_cloud(a_machine(offering=LARGE.id))), [f"buy {NAME}"],
                     id="a machine of its name that was bought as something else is not its own"),
        pytest.param((NEW, a_cloud(a_machine(pool="other"))), [f"buy {NAME}"],
                     id="nor is one of another pool"),
        pytest.param((a_request(since=None, offering="shop-small"), a_cloud(a_machine())), [f"{NAME} -> Provisioning"],
                     id="a request that leaves the location open takes the machine that it got"),
        pytest.param((a_request(since=None, offering="shop-small"), a_cloud()), [f"buy {NAME}"],
                     id="and is bought where it is sold"),
        pytest.param((NEW, a_cloud(read_at=None, offerings=(), problem="not asked yet")),
                     [f"hold {NAME}: ProviderSilent"],
                     id="before a provider has said what it sells, nothing is concluded"),
        pytest.param((NEW,), [f"hold {NAME}: ProviderSilent"], id="nor without any provider"),
        pytest.param((a_request(since=None, offering="shop-tiny-fsn1"), a_cloud()), [f"{NAME} -> Unmet"],
                     id="what no provider sells is Unmet"),
        pytest.param((a_request(since=None, is_going=True), a_cloud()), [],
                     id="a request that is being deleted is left alone"),
    ],
)  # fmt: skip
def test_what_is_done_about_a_new_request(things: tuple[object, ...], expected: list[str]) -> None:
    assert told(decided(a_pool(), *things).said) == expected


@pytest.mark.parametrize(
    ("things", "expected"),
    [
        pytest.param((a_pool(is_going=True), NEW, a_cloud()), [f"{NAME} -> Unmet"], id="nothing is bought for it"),
        pytest.param((NEW, a_cloud()), [f"{NAME} -> Unmet"], id="nor for one that is gone"),
        pytest.param((a_pool(is_going=True), NEW, a_cloud(a_machine())), [f"{NAME} -> Provisioning"],
                     id="but a machine that was bought already is not forgotten"),
    ],
)  # fmt: skip
def test_a_pool_that_goes(things: tuple[object, ...], expected: list[str]) -> None:
    assert told(decided(*things).said) == expected


def test_an_unknown_offering_is_named() -> None:
    status = status_written(a_pool(), a_request(since=None, offering="shop-tiny-fsn1"), a_cloud())
    assert status["conditions"][0]["message"] == (
        "spec.targetOffering is 'shop-tiny-fsn1', which no enabled provider sells"
    )


OVER = NOW - PROVISION.machine_within


@pytest.mark.parametrize(
    ("since", "read_at", "steady_since", "expected"),
    [
        pytest.param(OVER, NOW, None, [f"{NAME} -> Unmet"], id="trouble for too long ends it"),
        pytest.param(OVER + MINUTE, NOW, None, [f"buy {NAME}"], id="a minute less does not"),
        pytest.param(OVER, NOW - MINUTE, None, [f"buy {NAME}"], id="nor if the provider's list is older than that"),
        pytest.param(OVER, NOW + MINUTE, None, [f"buy {NAME}"], id="nor if its list is from a clock that was set back"),
        pytest.param(OVER, NOW, NOW - MINUTE, [f"buy {NAME}"], id="nor if our clock jumped a minute ago"),
        pytest.param(NOW + MINUTE, NOW, None, [f"buy {NAME}"], id="nor if it began on a clock that was ahead"),
    ],
)  # fmt: skip
def test_when_trouble_has_lasted_too_long(since: Any, read_at: Any, steady_since: Any, expected: list[str]) -> None:  # noqa: ANN401
    request = a_request(since=since, events=[an_event("nodeRequestFailed", "Unavailable: oh")])
    outcome = an_outcome(request, Result.FAILED, error="Unavailable")
    cloud = a_cloud(read_at=read_at)
    assert told(decided(a_pool(), request, cloud, outcome=outcome, steady_since=steady_since).said) == expected


def test_a_provider_that_is_silent_ends_nothing() -> None:
    request = a_request(since=OVER, events=[an_event("nodeRequestFailed", "Unavailable: oh")])
    outcome = an_outcome(request, Result.FAILED, error="Unavailable")
    said = decided(a_pool(), request, a_cloud(problem="it does not answer"), outcome=outcome).said
    assert told(said) == [f"buy {NAME}"]


def test_a_request_that_nobody_asked_about_is_not_given_up_however_old_it_is() -> None:
    """Nobody led for an hour; or the API server's clock is an hour behind ours."""
    said = decided(a_pool(), NEW, a_cloud(read_at=NOW + 60 * MINUTE), now=NOW + 60 * MINUTE).said
    assert told(said) == [f"buy {NAME}"]


def test_it_wakes_when_the_time_for_trouble_is_over() -> None:
    request = a_request(since=NOW - MINUTE, events=[an_event("nodeRequestFailed", "Unavailable: oh")])
    assert decided(a_pool(), request, a_cloud()).requeue_at == NOW - MINUTE + PROVISION.machine_within
