"""Our own kinds: what people write is read whole, and what we write is taken whole."""

from datetime import UTC, datetime
from typing import get_args

import msgspec
import pytest

from growth.api.meta import ObjectMeta
from growth.api.node_pool import NodeCounts, NodePool, NodePoolStatus, ServerType
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import HANDS_KEYS, PLANNED_FOR, WAKES, NodeRequest, NodeRequestSpec
from growth.api.phases import REMOVAL_MOVES, REQUEST_MOVES, RemovalPhase, RequestPhase, may_move, move_rule
from growth.api.status import MAX_EVENTS, StatusEvent, with_events

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_the_seeds_pool_is_read_with_every_default() -> None:
    text = b"""{"metadata": {"name": "default"}, "spec": {"serverTypes": [
        {"name": "CAX11", "max": 10}, {"name": "CAX21", "min": 1, "max": 5}, {"name": "CAX31", "max": 1}]}}"""
    pool = msgspec.json.decode(text, type=NodePool)
    assert pool.spec.server_types == (
        ServerType("CAX11", 0, 10),
        ServerType("CAX21", 1, 5),
        ServerType("CAX31", 0, 1),
    )
    assert pool.spec.scale_down.empty_after == "10m"
    assert pool.spec.deletion_policy == "Drain"
    assert pool.status == NodePoolStatus()


def test_limits_may_be_numbers_or_texts() -> None:
    text = b"""{"metadata": {}, "spec": {"limits": {"cpu": 64, "memory": "256Gi", "nodes": 5, "costPerHour": "1.5"}}}"""
    limits = msgspec.json.decode(text, type=NodePool).spec.limits
    assert (limits.cpu, limits.memory, limits.nodes, limits.cost_per_hour) == (64, "256Gi", 5, "1.5")


def test_a_status_is_written_whole_so_that_a_count_can_return_to_zero() -> None:
    written = msgspec.to_builtins(NodePoolStatus(NodeCounts(ready=1)))
    zeros = dict.fromkeys(("coming", "starting", "unready", "failed", "missing", "leaving", "stuck"), 0)
    assert written["nodes"] == {**zeros, "ready": 1}
    assert written["costPerHour"] == ""
    assert msgspec.to_builtins(NodePoolStatus())["nodes"] is None


def test_a_removal_without_a_node_name_means_the_node_of_its_own_name() -> None:
    removal = msgspec.json.decode(b'{"metadata": {"name": "default-1"}}', type=NodeRemovalRequest)
    assert removal.node_name == "default-1"
    assert removal.status.phase == "Pending"


def test_a_machine_is_spelled_as_kubernetes_spells_it() -> None:
    text = b'{"metadata": {}, "spec": {"pool": "a"}, "status": {"providerID": "kwok://1"}}'
    assert msgspec.json.decode(text, type=NodeRequest).status.provider_id == "kwok://1"


def test_a_request_tells_whom_it_is_for_and_how_they_get_in() -> None:
    annotations = {PLANNED_FOR: "uid-1,uid-2", WAKES: "uid-2", HANDS_KEYS: "true"}
    request = NodeRequest(ObjectMeta("default-1", annotations=annotations), NodeRequestSpec("default"))
    assert (request.planned_for, request.wakes, request.hands_keys) == (("uid-1", "uid-2"), ("uid-2",), True)
    bare = NodeRequest(ObjectMeta("default-1"), NodeRequestSpec("default"))
    assert (bare.planned_for, bare.wakes, bare.hands_keys) == ((), (), False)


def test_a_history_forgets_its_oldest_events() -> None:
    events: tuple[StatusEvent, ...] = ()
    for number in range(MAX_EVENTS + 5):
        events = with_events(events, NOON, [(f"event-{number}", "")])
    assert len(events) == MAX_EVENTS
    assert (events[0].name, events[-1].name) == ("event-5", f"event-{MAX_EVENTS + 4}")


def test_the_tables_of_phases_know_every_phase_and_no_other() -> None:
    assert set(REQUEST_MOVES) == set(get_args(RequestPhase))
    assert set(REMOVAL_MOVES) == set(get_args(RemovalPhase))
    for moves in (REQUEST_MOVES, REMOVAL_MOVES):
        assert {phase for after in moves.values() for phase in after} <= set(moves)


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("Pending", "Provisioning", True),
        ("Pending", "Unmet", True),
        ("Pending", "Ready", False),
        ("Provisioning", "Ready", True),
        ("Provisioning", "Deprovisioning", True),
        ("Ready", "Pending", False),
        ("Unmet", "Provisioning", False),
        ("Ready", "Ready", True),
    ],
)
def test_a_request_moves_only_forward(before: RequestPhase, after: RequestPhase, *, allowed: bool) -> None:
    assert may_move(REQUEST_MOVES, before, after) is allowed


def test_the_server_gets_the_same_table_as_a_rule() -> None:
    assert move_rule(REMOVAL_MOVES).rule == (
        "self == oldSelf || (oldSelf == 'Pending' && self in ['Deprovisioning'])"
        " || (oldSelf == 'Deprovisioning' && self in ['RemovalFailed'])"
        " || (oldSelf == 'RemovalFailed' && self in ['Pending'])"
    )
    assert move_rule(REMOVAL_MOVES).message == (
        "a phase only moves from Pending to Deprovisioning; Deprovisioning to RemovalFailed; RemovalFailed to Pending"
    )
