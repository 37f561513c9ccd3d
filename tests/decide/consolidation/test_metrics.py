"""What is measured of moves to cheaper nodes, as it is shown."""

import msgspec
from prometheus_client import CollectorRegistry

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_MOVES
from growth.api.meta import ObjectMeta
from growth.api.node_move import NodeMove, NodeMoveSpec, NodeMoveStatus
from growth.api.phases import MovePhase
from growth.decide.consolidation.carry import ConsolidationCarry
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.decider import next_carry
from growth.decide.consolidation.metrics import measured
from growth.decide.consolidation.move import Move
from growth.decide.consolidation.move_search import MoveAdvice
from growth.observe.snapshot import Snapshot
from growth.observe.table import Table
from growth.run.metrics import CapabilityMetrics
from tests.decide.passes import Given
from tests.decide.queue.test_metrics import samples
from tests.decide.scale_down.stage import NAME, NOW, SETTINGS, a_node, a_pool, a_snapshot

SAVES = 'growth_savings_per_hour{pool="default"}'
ADVICE = MoveAdvice(3.0, 1.5, 1.5, 1.5, (Move((NAME,), (), (), 2.0, 0.5),))
NOTHING = MoveAdvice(1.5, 1.5, 1.5, 1.5)
OPTIMIZED = a_pool(disruption={"mode": "act"})


def a_move(phase: MovePhase = "Buying") -> NodeMove:
    spec = NodeMoveSpec(reason="Expired", nodes=(NAME,))
    return NodeMove(ObjectMeta(name="move-1", uid="move"), spec, NodeMoveStatus(phase))


def seen(*moves: NodeMove, pools: tuple[object, ...] = (OPTIMIZED,)) -> Snapshot:
    snapshot = a_snapshot(*pools, a_node(), now=NOW)
    table: Table[NodeMove] = Table()
    table.hear([Change(ChangeType.ADDED, move, None) for move in moves])
    return msgspec.structs.replace(snapshot, tables={**snapshot.tables, NODE_MOVES: table})


class Shown:
    """The metrics of moves after some passes; ``advice`` is what the last one came to."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._metrics = CapabilityMetrics(self._registry)
        self._carry = ConsolidationCarry()

    def after(self, snapshot: Snapshot, advice: MoveAdvice | None = None) -> dict[str, float]:
        context = ConsolidationContext(Given(carry=self._carry).inputs(snapshot, SETTINGS))
        if advice is not None:
            context.carry = msgspec.structs.replace(self._carry, advice=advice, asked_about=("default",))
        carry = next_carry(context)
        self._metrics.apply("consolidate", measured(context, carry))
        self._carry = carry
        return self.now()

    def end(self) -> dict[str, float]:
        """The term of this leader ends."""
        self._metrics.clear("consolidate")
        self._carry = ConsolidationCarry()
        return self.now()

    def now(self) -> dict[str, float]:
        names = ("growth_moves", "growth_savings")
        return {
            name: figure
            for name, figure in samples(self._registry).items()
            if name.startswith(names) and "created" not in name
        }


def test_a_move_is_active_until_it_is_over_and_then_counted_once() -> None:
    shown, ended = Shown(), 'growth_moves_total{reason="Expired",result="Done"}'
    assert shown.after(seen(a_move()))["growth_moves_active"] == 1
    assert shown.after(seen(a_move("Draining"))) == {"growth_moves_active": 1}
    assert shown.after(seen(a_move("Done"))) == {"growth_moves_active": 0, ended: 1}
    assert shown.after(seen(a_move("Done")))[ended] == 1
    assert shown.after(seen())[ended] == 1, "it is forgotten, not moved again"


def test_a_move_that_is_undone_and_one_that_somebody_deletes_can_be_told_apart() -> None:
    undone, deleted = Shown(), Shown()
    for shown in (undone, deleted):
        shown.after(seen(a_move("Draining")))
    assert undone.after(seen(a_move("Undone")))['growth_moves_total{reason="Expired",result="Undone"}'] == 1
    assert deleted.after(seen())['growth_moves_total{reason="Expired",result="Deleted"}'] == 1


def test_what_was_over_before_anybody_looked_is_not_counted() -> None:
    assert Shown().after(seen(a_move("Done"))) == {"growth_moves_active": 0}


def test_what_the_advised_moves_save_is_shown_by_pool_until_the_next_advice() -> None:
    shown = Shown()
    assert shown.after(seen(), ADVICE)[SAVES] == 1.5
    assert shown.after(seen(), ADVICE)[SAVES] == 1.5
    assert shown.after(seen())[SAVES] == 1.5
    assert shown.after(seen(), NOTHING)[SAVES] == 0, "nothing to save is said, so none can be told from unknown"


def test_a_pool_that_is_gone_and_one_that_is_not_optimised_any_more_are_not_shown() -> None:
    gone, off = Shown(), Shown()
    assert SAVES in gone.after(seen(), ADVICE)
    assert SAVES not in gone.after(seen(pools=()), ADVICE)
    assert SAVES in off.after(seen(), ADVICE)
    assert SAVES not in off.after(seen(pools=(a_pool(disruption={"mode": "off"}),)))


def test_who_does_not_lead_shows_none_and_counts_nothing_that_ends_elsewhere() -> None:
    shown = Shown()
    shown.after(seen(a_move()), ADVICE)
    assert shown.end() == {"growth_moves_active": 0}
    assert shown.after(seen(a_move("Done")), ADVICE) == {"growth_moves_active": 0, SAVES: 1.5}
