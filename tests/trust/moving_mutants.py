"""Deliberate defects of moves: each would empty nodes too soon, for too long, or against somebody's wish."""

from typing import Any, Final

from growth.observe.table_index import ActiveMoves
from tests.trust.mutant import Mutant

_HERE: Final = "growth.decide.consolidation"


def _always(*_: object) -> bool:
    return True


def _no_reason(*_: object) -> str:
    return ""


def _as_many_as_they_like(_: object, pools: Any) -> dict[str, int]:  # noqa: ANN401 - pools of any kind
    return {pool.metadata.name: 100 for pool in pools}


def _nobody(_: object) -> ActiveMoves:
    return ActiveMoves()


def _mutant(name: str, story: str = "", **changes: object) -> Mutant:
    """Those without a story would be noticed only after rare mishaps: there tests are asked."""
    dotted = {f"{_HERE}.{one.replace('__', '.')}": new for one, new in changes.items()}
    return Mutant(f"moves: {name}", dotted, story, "" if story else "tests/decide/consolidation/test_move_execution.py")


MOVING_MUTANTS: Final = (
    _mutant(
        "nodes are emptied before what is bought works",
        "goes back to what is cheaper",
        move_execution___works=_always,
        move_execution___why_no_room=_no_reason,
    ),
    _mutant("nobody looks whether there is room", move_execution___why_no_room=_no_reason),
    _mutant(
        "who does not leave is waited for for ever", "lets nobody go", move_validation___who_does_not_leave=_no_reason
    ),
    _mutant("who finds no place is not heard", "finds no place", move_validation___who_wants_a_place=_no_reason),
    _mutant(
        "who must not be disturbed is",
        "disturbed is not moved",
        candidates__forbids=_no_reason,
        move_validation__forbids=_no_reason,
    ),
    _mutant(
        "a pool's budgets count for nothing",
        "budget of a pool",
        saving_round__at_once_in=_as_many_as_they_like,
        move_execution__why_not_let=_no_reason,
    ),
    _mutant("what was bought may break", move_validation___what_broke=_no_reason),
    Mutant(
        "moves: nodes of a move are for everybody",
        {
            "growth.observe.snapshot.Snapshot.active_moves": property(_nobody),
        },
        "finds no place",
    ),
)
