"""What never may come of a move is put together on purpose, and found."""

from typing import Any

import msgspec
import pytest

from growth.api.change import ChangeType
from growth.api.growth_kinds import NODE_MOVES
from growth.api.kinds import NODES, PODS, Kind
from growth.api.meta import ObjectMeta
from growth.api.node_move import NodeMove, NodeMoveSpec, NodeMoveStatus, Purchase
from growth.api.offering import OFFERING
from growth.api.phases import MovePhase
from tests.decide.consolidation.seen import a_pod
from tests.decide.marketplace import NOW, a_node
from tests.trust.chaos.moves import Moves, moved_twice, unpaid
from tests.trust.deeds import Deed, Deeds, Place
from tests.trust.picture import Step


def a_move(phase: MovePhase, offering: str = "kwok-small-fsn1", name: str = "first") -> NodeMove:
    spec = NodeMoveSpec(nodes=("a",), buys=(Purchase("b", "default", offering),))
    return NodeMove(ObjectMeta(name=name, uid=name), spec, NodeMoveStatus(phase=phase))


def of(offering: str) -> Any:  # noqa: ANN401 - a node
    node = a_node("a")
    labels = {**node.metadata.labels, OFFERING: offering}
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=labels))


def steps(*things: tuple[Kind[Any], Any]) -> list[Step]:
    """One after the other, each beside what it was before."""
    known: dict[tuple[Kind[Any], str], Any] = {}
    found: list[Step] = []
    for version, (kind, now) in enumerate(things, 1):
        before = known.get((kind, now.metadata.name))
        found.append(Step(version, kind, ChangeType.MODIFIED if before else ChangeType.ADDED, before, now))
        known[kind, now.metadata.name] = now
    return found


def leaving(name: str) -> Any:  # noqa: ANN401 - a pod
    pod = a_pod(name, node="a")
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=NOW))


def evicted(*names: str) -> Deeds:
    deeds = Deeds()
    for name in names:
        uid = a_pod(name, node="a").metadata.uid
        deeds.add(Deed("evict pods", "", "growth", Place("pods", "default", name), uid, 201, 0, 0.0))
    return deeds


@pytest.mark.parametrize(("price", "found"), [("kwok-small-fsn1", 0), ("kwok-large-fsn1", 1), ("kwok-medium-fsn1", 1)])
def test_a_move_for_money_that_costs_more_is_found(price: str, found: int) -> None:
    told = list(unpaid(steps((NODES, of("kwok-medium-fsn1")), (NODE_MOVES, a_move("Buying", price)))))
    assert len(told) == found


def test_who_came_in_the_place_of_somebody_evicted_must_not_be_evicted_by_the_same_move() -> None:
    told = steps(
        (PODS, a_pod("one", node="a")),
        (NODE_MOVES, a_move("Draining")),
        (PODS, leaving("one")),
        (PODS, a_pod("two", node="a")),
        (PODS, leaving("two")),
    )
    assert list(moved_twice(told, evicted("one", "two"))) == [
        "the pod two came when a move had begun, and the same move evicted it"
    ]
    assert list(moved_twice(told, evicted("one"))) == []


def test_who_is_evicted_twice_is_found() -> None:
    (told,) = moved_twice([], evicted("one", "one", "two"))
    assert told.endswith("was evicted 2 times")


def test_moves_are_counted_by_their_ends() -> None:
    told = steps(
        *((NODE_MOVES, a_move(phase, name="first")) for phase in ("Buying", "Draining", "Done")),
        (NODE_MOVES, a_move("Undone", name="second")),
        (NODE_MOVES, a_move("Buying", name="third")),
    )
    assert Moves.of(told) == Moves(done=1, undone=1, deleted=1)
