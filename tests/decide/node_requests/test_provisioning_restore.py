"""No node of ours is opened before it was given back what it was, and none is given up because that takes long."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import RecordEvent
from growth.api.node_memory import MARKER
from growth.api.settings.model import MemorySettings
from growth.decide.contract import Decision
from tests.decide.node_requests.stage import (
    MINUTE,
    NAME,
    NOW,
    PROVISION,
    SETTINGS,
    a_cloud,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_request,
    decided,
    told,
)

ONE = a_pod("one")
A_MOMENT_AGO = NOW - timedelta(seconds=1)
UNMARKED, MARKED = a_node(born=A_MOMENT_AGO), a_node(labels={MARKER: "0"}, born=A_MOMENT_AGO)
OFF = msgspec.structs.replace(SETTINGS, memory=MemorySettings(mode="off"))
LATE = NOW - PROVISION.machine_within - PROVISION.ready_within


def remembering(*things: object, **circumstances: Any) -> Decision[Any]:  # noqa: ANN401
    """What provision decides where memory runs beside it."""
    stated: dict[str, Any] = {"companions": ["memory"], **circumstances}
    return decided(a_pool(), a_cloud(a_machine()), *things, **stated)


@pytest.mark.parametrize("hands_keys", [True, False])
def test_a_new_node_waits_for_its_marker(hands_keys: bool) -> None:  # noqa: FBT001
    """And its request with it: the time that its pods have to get there begins when they can."""
    request = a_request("Provisioning", planned_for=[ONE], hands_keys=hands_keys)
    assert told(remembering(request, ONE, UNMARKED).said) == [f"hold {NAME}: MemoryNotBack"]
    follows = f"key one: {NAME}" if hands_keys else f"open {NAME}"
    assert told(remembering(request, ONE, MARKED).said) == [f"{NAME} -> Ready", follows]


def test_so_does_one_that_comes_back_and_has_no_request_any_more() -> None:
    assert told(remembering(UNMARKED).said) == [f"hold {NAME}: MemoryNotBack"]
    assert told(remembering(MARKED).said) == [f"open {NAME}"]


@pytest.mark.parametrize(
    "circumstances",
    [pytest.param({"settings": OFF}, id="where memory is off"), pytest.param({"companions": ["grow"]}, id="or absent")],
)
def test_nobody_waits(circumstances: dict[str, Any]) -> None:
    assert told(remembering(UNMARKED, **circumstances).said) == [f"open {NAME}"]


def test_a_node_that_is_open_does_not_keep_its_request_waiting() -> None:
    node = a_node(is_closed=False)
    assert told(remembering(a_request("Provisioning"), node).said) == [f"{NAME} -> Ready"]


def test_a_machine_is_not_given_up_because_memory_takes_long() -> None:
    """Its request is, as far as its machine goes, Ready in the end; the node stays closed."""
    decision = remembering(a_request("Provisioning", since=LATE), UNMARKED)
    assert told(decision.said) == [f"{NAME} -> Ready", f"hold {NAME}: MemoryNotBack"]


def test_nor_is_it_opened_when_its_pods_had_their_time() -> None:
    request = a_request("Ready", since=NOW - PROVISION.hand_over, planned_for=[ONE], hands_keys=True)
    assert told(remembering(request, ONE, UNMARKED).said) == [f"hold {NAME}: MemoryNotBack"]


def test_people_are_told_if_it_takes_long_and_not_before() -> None:
    decision = remembering(UNMARKED)
    assert decision.requeue_at == A_MOMENT_AGO + MINUTE
    late = remembering(UNMARKED, now=A_MOMENT_AGO + MINUTE)
    assert told(late.said) == [f"hold {NAME}: MemoryNotBack", f"event {NAME}: MemoryNotBack"]
    event = late.said[-1]
    assert isinstance(event, RecordEvent)
    assert event.type == "Warning"
    assert event.why == (
        "what it was is not given back to it yet, so it is not opened; "
        f"growth memory show {NAME} says what is remembered of it"
    )
