"""What holds for every cluster that could be seen, however unlikely."""

from datetime import datetime
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.actions import (
    Action,
    CreateMachine,
    DeleteObject,
    EditObject,
    Hold,
    Outcome,
    PatchObject,
    RecordEvent,
    Result,
)
from growth.api.machine import Machine
from growth.api.node import Node
from growth.api.node_request import NodeRequest, NodeRequestStatus
from growth.api.phases import REQUEST_MOVES, may_move
from growth.api.status import MAX_EVENTS
from growth.api.taints import STARTING
from growth.decide.contract import Decision
from tests.decide.node_requests.drawing import clusters, done, instants, opened_at, outcomes
from tests.decide.node_requests.stage import NOW, decided, told
from tests.drawing import examples

# More passes than there are steps in the life of a request.
PASSES = 12


def requests_in(things: tuple[object, ...]) -> dict[str, NodeRequest]:
    return {one.metadata.name: one for one in things if isinstance(one, NodeRequest)}


@settings(max_examples=examples(50))
@given(clusters(), outcomes(), st.none() | instants)
def test_phases_only_move_as_the_table_allows(
    things: tuple[object, ...], outcome: Outcome | None, steady_since: datetime | None
) -> None:
    requests = requests_in(things)
    for one in decided(*things, outcome=outcome, steady_since=steady_since).said:
        if isinstance(one, PatchObject) and one.subject.kind == "NodeRequest":
            status = msgspec.convert(one.body["status"], NodeRequestStatus)
            assert may_move(REQUEST_MOVES, requests[one.subject.name].status.phase, status.phase)
            assert len(status.events) <= MAX_EVENTS
            assert one.resource_version is not None


@settings(max_examples=examples(50))
@given(clusters(), outcomes(), st.none() | instants)
def test_a_machine_is_asked_for_only_while_its_request_is_pending_and_has_none(
    things: tuple[object, ...], outcome: Outcome | None, steady_since: datetime | None
) -> None:
    requests = requests_in(things)
    listed: list[Machine] = [
        machine for one in things if (machines := getattr(one, "machines", ())) for machine in machines
    ]
    has = {(one.name, one.pool, one.offering) for one in listed}
    for one in decided(*things, outcome=outcome, steady_since=steady_since).said:
        if isinstance(one, CreateMachine):
            request = requests[one.subject.name]
            assert request.status.phase == "Pending"
            assert request.metadata.deletion_timestamp is None
            assert (one.request.name, one.request.pool, one.request.offering.id) not in has
            assert outcome is None or outcome.result is not Result.DONE or outcome.action.subject != one.subject


@settings(max_examples=examples(50))
@given(clusters(), outcomes(), st.none() | instants)
def test_the_same_sight_leads_to_the_same_words(
    things: tuple[object, ...], outcome: Outcome | None, steady_since: datetime | None
) -> None:
    def look(memory: object = None) -> Decision[Any]:
        return decided(*things, outcome=outcome, steady_since=steady_since, memory=memory)

    first = look()
    assert look() == first
    assert look(first.carry) == first
    assert first.requeue_at is None or first.requeue_at > NOW


@settings(max_examples=examples(50))
@given(clusters(), outcomes(), st.none() | instants)
def test_what_is_opened_is_ours_ready_to_be_opened_and_not_leaving(
    things: tuple[object, ...], outcome: Outcome | None, steady_since: datetime | None
) -> None:
    nodes = {one.metadata.name: one for one in things if isinstance(one, Node)}
    leaving = {one.metadata.name for one in things if type(one).__name__ == "NodeRemovalRequest"}  # type: ignore[attr-defined]
    requests = requests_in(things)
    for one in decided(*things, outcome=outcome, steady_since=steady_since).said:
        if isinstance(one, EditObject) and one.subject.kind == "Node":
            node, request = nodes[one.subject.name], requests.get(one.subject.name)
            taint = node.spec.taints[opened_at(one)]
            assert (taint.key, taint.value) == (STARTING, node.metadata.name)
            assert node.metadata.name not in leaving
            assert request is None or request.status.phase in ("Provisioning", "Ready")
            assert (request is not None and request.status.phase == "Ready") or node.is_ready
        if isinstance(one, DeleteObject):
            request = requests[one.subject.name]
            node = nodes.get(one.subject.name)
            is_closed = node is not None and any(taint.key == STARTING for taint in node.spec.taints)
            assert not (request.status.phase == "Ready" and is_closed)


@settings(max_examples=examples(50))
@given(clusters(), outcomes(), st.none() | instants)
def test_it_comes_to_rest(things: tuple[object, ...], outcome: Outcome | None, steady_since: datetime | None) -> None:
    """What is said is done and seen, and then there is less to say: nothing is wanted for ever that changes nothing."""
    memory: object = None
    wanted: list[Action | Hold] = []
    for _ in range(PASSES):
        decision = decided(*things, outcome=outcome, steady_since=steady_since, memory=memory)
        memory = decision.carry
        wanted = [one for one in decision.said if not isinstance(one, Hold | RecordEvent | CreateMachine)]
        if not wanted:
            return
        things = done(things, decision.said)
    raise AssertionError(f"after {PASSES} passes it still wants: {told(wanted)}")
