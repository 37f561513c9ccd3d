"""A move, step by step: bought first, drained then, undone as soon as a premise fails."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
import pytest

from growth.api.actions import CreateObject, EvictPod, PatchObject, RecordEvent
from growth.api.annotations import TEMPLATE, mark_of
from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_MOVES
from growth.api.meta import ObjectMeta
from growth.api.node_move import NodeMove, NodeMoveSpec, NodeMoveStatus, Purchase
from growth.api.phases import MovePhase
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.move import MOVE, made
from growth.decide.consolidation.move_execution import advance
from growth.decide.consolidation.move_validation import PLACE_WITHIN
from growth.observe.table import Table
from growth.observe.table_index import TableIndex, active_moves
from tests.decide import marketplace as market
from tests.decide.consolidation.seen import a_context
from tests.decide.scale_down.stage import (
    ANOTHER,
    HOUR,
    MINUTE,
    NAME,
    NOW,
    SECOND,
    SETTINGS,
    a_cloud,
    a_daemon,
    a_machine,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    a_snapshot,
    told,
)

NEW = "default-3"
BUYS = (Purchase(NEW, "default", market.SMALL),)
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}
REFUSED = {
    "phase": "Pending",
    "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "lastTransitionTime": NOW.isoformat()}
    ],
}
TERMS = SETTINGS.consolidate


def a_move(
    phase: MovePhase = "Buying",
    *,
    nodes: Sequence[str] = (NAME,),
    buys: Sequence[Purchase] = BUYS,
    since: datetime = NOW - MINUTE,
    message: str = "",
) -> NodeMove:
    meta = ObjectMeta(name="move-1", uid="move", resource_version=7, creation_timestamp=since)
    spec = NodeMoveSpec(why="it is cheaper", nodes=tuple(nodes), buys=tuple(buys))
    return NodeMove(meta, spec, NodeMoveStatus(phase, since, message))


def a_worker(name: str = "web", *, node: str = NAME, **fields: Any) -> Any:  # noqa: ANN401
    return a_pod(name, node=node, owner=OWNER, **{"requests": {"cpu": "1"}, **fields})


def carried(
    move: NodeMove,
    *things: object,
    now: datetime = NOW,
    other: NodeMove | None = None,
    before: ConsolidationContext | None = None,
) -> ConsolidationContext:
    """What is said of a move when this is seen, another one is under way, and this was found before."""
    machines = [a_machine(name) for name in (NAME, ANOTHER, NEW)]
    snapshot = a_snapshot(a_pool(), a_cloud(*machines), *things, now=now)
    table: Table[NodeMove] = Table()
    table.hear([Change(ChangeType.ADDED, one, None) for one in (move, other) if one is not None])
    snapshot = msgspec.structs.replace(
        snapshot, tables={**snapshot.tables, NODE_MOVES: table}, moves=TableIndex(table, active_moves)
    )
    scene = a_context(snapshot)
    scene.crowded.update(before.crowded if before is not None else {})
    advance(scene, move)
    return scene


def said(move: NodeMove, *things: object, now: datetime = NOW) -> list[str]:
    return told(carried(move, *things, now=now).said)


def why(scene: ConsolidationContext) -> str:
    (patch,) = [one for one in scene.said if isinstance(one, PatchObject) and one.subresource]
    return patch.body["status"]["message"]


# Buying


def test_first_the_machines_are_asked_for() -> None:
    scene = carried(a_move(), a_node(), a_worker())
    (asked,) = scene.said
    assert isinstance(asked, CreateObject)
    assert (asked.subject.kind, asked.subject.name) == ("NodeRequest", NEW)
    assert asked.body["spec"] == {"pool": "default", "targetOffering": market.SMALL, "location": "fsn1"}
    assert asked.body["metadata"]["annotations"] == {MOVE: "move-1", TEMPLATE: mark_of(a_pool())}


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param([a_request(NEW)], id="asked for"),
        pytest.param([a_request(NEW, "Provisioning"), a_node(NEW, ready=False)], id="not ready"),
        pytest.param([a_request(NEW, "Provisioning"), a_node(NEW, is_closed=True)], id="not open"),
    ],
)
def test_nothing_is_touched_before_they_work(seen: list[object]) -> None:
    assert said(a_move(), a_node(), a_worker(), *seen) == []


def test_then_the_nodes_are_drained() -> None:
    assert said(a_move(), a_node(), a_worker(), a_node(NEW)) == ["move-1 -> Draining"]


def test_a_move_into_free_room_buys_nothing() -> None:
    assert said(a_move(buys=()), a_node(), a_worker(), a_node(ANOTHER)) == ["move-1 -> Draining"]


def test_nobody_is_asked_to_leave_for_whom_there_is_no_room() -> None:
    """Somebody else was faster."""
    full = a_worker("other", node=NEW, requests={"cpu": market.PROMISED["cpu"]})
    assert said(a_move(), a_node(), a_worker(), a_node(NEW), full) == []


def test_room_is_looked_for_again_after_a_while_and_not_at_once() -> None:
    """It is a whole plan, and in a large cluster something happens all the time."""
    full, seen = a_worker("other", node=NEW, requests={"cpu": market.PROMISED["cpu"]}), (a_node(), a_worker())
    crowded = carried(a_move(), *seen, a_node(NEW), full)
    assert min(crowded.deadlines) == NOW + 5 * SECOND
    soon = carried(a_move(), *seen, a_node(NEW), now=NOW + 4 * SECOND, before=crowded)
    assert told(soon.said) == []
    later = carried(a_move(), *seen, a_node(NEW), now=NOW + 5 * SECOND, before=soon)
    assert told(later.said) == ["move-1 -> Draining"]
    assert later.crowded == {}


def test_two_moves_do_not_count_on_the_same_room() -> None:
    large = {"cpu": "1500m"}
    other = msgspec.structs.replace(
        a_move("Draining", nodes=(ANOTHER,), buys=()), metadata=ObjectMeta(name="move-2", uid="other")
    )
    seen = (a_node(), a_worker(requests=large), a_node(NEW), a_node(ANOTHER, at=NOW, pool="other"))
    assert told(carried(a_move(buys=()), *seen, other=other).said) == ["move-1 -> Draining"]
    leaves = a_worker("db", node=ANOTHER, requests=large)
    assert told(carried(a_move(buys=()), *seen, leaves, other=other).said) == []


# Draining


def test_all_nodes_are_marked_before_anybody_is_asked_to_leave() -> None:
    move = a_move("Draining", nodes=(NAME, ANOTHER))
    seen = [a_node(NEW), a_worker(), a_worker("db", node=ANOTHER)]
    marks = [f"mark {NAME} for 2026-03-01T09:00:00Z", f"mark {ANOTHER} for 2026-03-01T09:00:00Z"]
    assert said(move, a_node(), a_node(ANOTHER), *seen) == marks
    assert said(move, a_node(at=NOW), a_node(ANOTHER), *seen) == marks[1:]
    assert said(move, a_node(at=NOW), a_node(ANOTHER, at=NOW), *seen) == ["evict web", "evict db"]


def test_the_least_important_go_first_and_who_leaves_is_left_alone() -> None:
    pods = [a_worker("a", priority=10), a_worker("b"), a_worker("c", terminating=True), a_daemon()]
    scene = carried(a_move("Draining"), a_node(at=NOW), a_node(NEW), *pods)
    assert [one.subject.name for one in scene.said if isinstance(one, EvictPod)] == ["b", "a"]


def test_an_empty_node_goes() -> None:
    assert said(a_move("Draining"), a_node(at=NOW), a_node(NEW), a_daemon()) == [f"remove {NAME}"]


def test_it_is_told_how_far_it_is() -> None:
    move = a_move("Draining", nodes=(NAME, ANOTHER))
    scene = carried(move, a_node(at=NOW), a_node(ANOTHER, at=NOW), a_node(NEW), a_worker(node=ANOTHER))
    events = [one.why for one in scene.said if isinstance(one, RecordEvent)]
    assert events == [f"node {NAME} is empty, and goes; 1 pod has to leave its other nodes"]


@pytest.mark.parametrize("seen", [[a_node(at=NOW), a_removal()], []], ids=["on its way out", "gone"])
def test_it_is_done_when_all_nodes_go(seen: list[object]) -> None:
    assert said(a_move("Draining"), a_node(NEW), *seen) == ["move-1 -> Done"]


# Undoing


def undone(move: NodeMove, *things: object, now: datetime = NOW) -> str:
    """Why it is undone; empty if it is not."""
    scene = carried(move, *things, now=now)
    return why(scene) if told(scene.said) == ["move-1 -> Undoing"] else ""


def test_a_machine_that_cannot_be_had_ends_it() -> None:
    failed = market.a_failed_request(NEW)
    assert undone(a_move(), a_node(), a_worker(), failed) == f"{market.SMALL} could not be had for {NEW}"


@pytest.mark.parametrize("phase", ["Buying", "Draining"])
def test_whoever_finds_no_place_since_ends_it(phase: MovePhase) -> None:
    pod = a_pod("new", node="", requests={"cpu": "1"}, status=REFUSED)
    seen = (a_node(at=NOW if phase == "Draining" else None), a_node(NEW), a_worker(), pod)
    move = a_move(phase, since=NOW - 1000 * HOUR)
    assert undone(move, *seen, now=NOW + PLACE_WITHIN - SECOND) == ""
    assert undone(move, *seen, now=NOW + PLACE_WITHIN) == "pod default/new finds no place"


def test_whoever_waited_before_does_not() -> None:
    """It has no place whether the move is made or not."""
    pod = a_pod("old", node="", requests={"cpu": "64"}, status=REFUSED)
    move = a_move(since=NOW + MINUTE)
    assert said(move, a_node(), a_node(NEW), a_worker(), pod, now=NOW + HOUR) == ["move-1 -> Draining"]


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        ([a_node(annotations={"growth.dev/do-not-disrupt": "true"})], "node default-1 bears growth.dev/do-not-disrupt"),
        (
            [a_node(), a_worker(annotations={"karpenter.sh/do-not-disrupt": "true"})],
            "pod default/web on node default-1 bears karpenter.sh/do-not-disrupt",
        ),
        ([a_node(), a_pod("bare")], "nobody would make pod default/bare on node default-1 anew"),
    ],
)
def test_a_wish_ends_it(seen: list[object], words: str) -> None:
    assert undone(a_move(), *seen, a_node(NEW)) == words


def test_who_does_not_leave_in_time_ends_it() -> None:
    move, seen = a_move("Draining", since=NOW - HOUR), (a_node(at=NOW), a_node(NEW), a_worker())
    late = NOW + TERMS.drain_within + 30 * SECOND
    assert undone(move, *seen, now=late - SECOND) == ""
    assert undone(move, *seen, now=late) == "pod default/web does not leave node default-1"


def test_it_does_not_wait_for_room_for_ever() -> None:
    full = a_worker("other", node=NEW, requests={"cpu": market.PROMISED["cpu"]})
    move, seen = a_move(since=NOW - 1000 * HOUR), (a_node(), a_worker(), a_node(NEW, born=NOW - MINUTE), full)
    late = NOW - MINUTE + TERMS.drain_within
    assert undone(move, *seen, now=late - SECOND) == ""
    assert undone(move, *seen, now=late) == "there is no room any more for pod default/web"


@pytest.mark.parametrize("seen", [[a_node(NEW, ready=False)], []], ids=["silent", "gone"])
def test_nobody_is_asked_to_leave_for_a_machine_that_does_not_work(seen: list[object]) -> None:
    words = f"{NEW}, which was bought for it, does not work"
    assert undone(a_move("Draining"), a_node(at=NOW), a_worker(), a_node(ANOTHER), *seen) == words


def test_nodes_take_pods_again_and_what_is_not_needed_goes() -> None:
    move = a_move("Undoing", nodes=(NAME, ANOTHER), message="somebody came")
    assert said(move, a_node(at=NOW), a_node(ANOTHER), a_worker(), a_node(NEW)) == [f"unmark {NAME}", f"remove {NEW}"]
    assert said(move, a_node(), a_node(ANOTHER), a_node(NEW), a_worker(node=NEW)) == ["move-1 -> Undone"]


def test_in_an_outage_nothing_goes_not_even_what_is_not_needed() -> None:
    """It does later, as every empty node."""
    silent = [a_node(f"default-{number}", ready=False) for number in range(10, 20)]
    seen = (a_node(at=NOW), a_worker(), a_node(NEW), *silent)
    assert undone(a_move("Draining"), *seen).startswith("the cluster is unhealthy")
    assert said(a_move("Undoing", message="somebody came"), *seen) == [f"unmark {NAME}"]


def test_a_node_that_is_on_its_way_out_is_not_called_back() -> None:
    move = a_move("Undoing", message="somebody came")
    assert said(move, a_node(at=NOW), a_removal(), a_node(NEW), a_worker(node=NEW)) == ["move-1 -> Undone"]


# Over


@pytest.mark.parametrize("phase", ["Done", "Undone"])
def test_it_is_kept_for_a_while(phase: MovePhase) -> None:
    move = a_move(phase, since=NOW)
    assert said(move, now=NOW + TERMS.kept_for - SECOND) == []
    assert said(move, now=NOW + TERMS.kept_for) == ["delete NodeMove move-1"]


def test_two_leaders_decide_on_the_same_move() -> None:
    one, other = NodeMoveSpec(nodes=("a", "b"), buys=BUYS), NodeMoveSpec(nodes=("b", "a"), buys=BUYS)
    assert made(one).subject == made(other).subject
    assert made(one).subject != made(NodeMoveSpec(nodes=("a",), buys=BUYS)).subject
