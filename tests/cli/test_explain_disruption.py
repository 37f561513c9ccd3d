"""What ``growth explain node`` says of moves: which one a node is part of, or why it stays."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from rich.console import Console

from growth.api.annotations import DRAIN
from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_MOVES
from growth.api.meta import ObjectMeta
from growth.api.node_move import NodeMove, NodeMoveSpec, NodeMoveStatus, Purchase
from growth.api.settings.model import Settings
from growth.api.taints import LEAVES, SCALE_DOWN_AT
from growth.cli.explain_disruption import MoveReport, moving_in
from growth.cli.explain_failover import FailoverPhase, NodeReport
from growth.cli.explain_view import view
from growth.observe.cache import ClusterCache
from tests.cli.node_scene import Desk, at_a_desk
from tests.cli.plan_scene import a_node, a_shop
from tests.cli.test_explain import explained
from tests.decide.consolidation.seen import NOW, observed

SETTINGS = Settings()
FREE = "nothing keeps it: it goes when a move of it pays"
NODE, NEW = "default-1f3a", "default-new1"


def a_move(phase: Any, name: str = "move-1", *, age: int = 0, **status: Any) -> NodeMove:  # noqa: ANN401
    born = NOW - timedelta(seconds=age)
    spec = NodeMoveSpec(
        "Cheaper", "a node for 0.1114 an hour: cx43 cost less", (NODE,), (Purchase(NEW, "default", "x"),)
    )
    return NodeMove(
        ObjectMeta(name=name, creation_timestamp=born), spec, NodeMoveStatus(phase=phase, phase_since=born, **status)
    )


def with_moves(world: ClusterCache, *moves: NodeMove) -> ClusterCache:
    world.listeners()[NODE_MOVES]([Change(ChangeType.ADDED, move, None) for move in moves])
    return world


def told(world: ClusterCache, name: str = NODE) -> MoveReport:
    moving = moving_in(world.snapshot(NOW), SETTINGS, name)
    assert moving is not None
    return moving


def shown(moving: MoveReport) -> list[str]:
    console = Console(width=120, highlight=False)
    with console.capture() as captured:
        console.print(view(NodeReport(node=NODE, at=NOW, standing=FailoverPhase.IN_SERVICE, moving=moving), 120))
    return [line.rstrip() for line in captured.get().splitlines()[2:-2]]


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ("default-91aa", "pod shop/cart-91aa-0 on it must stay (and 1 more): it bears karpenter.sh/do-not-disrupt"),
        ("default-e7b8", "pod shop/ledger-e7b8-0 on it must stay: disruption budget ledger allows no disruption now"),
        (NODE, f"{FREE}, and somebody makes it (disruption.mode of pool default is observe)"),
    ],
)
def test_why_a_node_stays(node: str, why: str) -> None:
    moving = told(a_shop(), node)
    assert moving == MoveReport(stays=why, waits_for_money=node == NODE)


def test_a_node_that_is_emptied_is_told_with_its_move_and_what_keeps_it() -> None:
    node = a_node("default-e7b8", "cx23")
    metadata = msgspec.structs.replace(node.metadata, annotations={SCALE_DOWN_AT: "2026-01-01T00:00:00Z"})
    leaving = msgspec.structs.replace(
        node, metadata=metadata, spec=msgspec.structs.replace(node.spec, taints=(LEAVES,))
    )
    spec = NodeMoveSpec("Expired", "it is older than 30d", ("default-e7b8",))
    status = NodeMoveStatus(phase="Draining", phase_since=NOW - timedelta(seconds=40))
    move = NodeMove(ObjectMeta(name="move-2", creation_timestamp=NOW), spec, status)
    moving = told(with_moves(a_shop(leaving), move), "default-e7b8")
    first, second = shown(moving)
    assert first.split(maxsplit=1) == [
        "move",
        "move-2, Draining for 40s: Expired: it is older than 30d; 1 pod to leave it",
    ]
    assert second.strip().endswith(moving.kept_by[0])
    assert moving.kept_by == (
        "pod shop/ledger-e7b8-0 does not leave: disruption budget ledger allows no disruption now",
    )
    assert moving.stays == ""


def test_of_several_moves_the_one_under_way_counts_and_then_the_newest() -> None:
    over = a_move("Undone", "move-a", age=60, message="a machine could not be had")
    older = a_move("Undone", "move-c", age=600, message="long ago")
    assert told(with_moves(a_shop(), over, older, a_move("Buying", "move-b", age=90))).move == "move-b"
    moving = told(with_moves(a_shop(), over, older))
    assert (moving.move, moving.phase) == ("move-a", "Undone")
    assert moving.words.endswith("a machine could not be had")
    assert moving.stays.startswith("nothing keeps it")


def test_a_node_that_was_bought_for_a_move_says_for_which_as_long_as_that_lasts() -> None:
    new = a_node(NEW, "cx43")
    assert told(with_moves(a_shop(new), a_move("Draining")), NEW).words.startswith(
        "it was bought in the place of " + NODE
    )
    assert told(with_moves(a_shop(new), a_move("Done")), NEW).move == ""


def test_a_wish_is_told_and_what_a_person_wants_the_pool_does_not_forbid() -> None:
    node = a_node(NODE, "cpx42")
    metadata = msgspec.structs.replace(node.metadata, annotations={DRAIN: "slow disk"}, creation_timestamp=NOW)
    moving = told(observed(a_shop(), msgspec.structs.replace(node, metadata=metadata)))
    assert (moving.wish, moving.stays) == ("slow disk", "nothing keeps it: it goes when it can be replaced")
    assert shown(moving)[0].split(maxsplit=1) == ["wish", "a person wants it to go: slow disk"]


def test_the_command_reads_what_it_takes() -> None:
    async def tell(desk: Desk) -> None:
        moving = (await explained(desk)).moving
        assert moving is not None
        assert moving.stays == "its pool default does not exist"

    at_a_desk(tell)
