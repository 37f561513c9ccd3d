"""What others must know of moves: nodes that are being emptied are nobody's room, and machines that were bought for a
move are no spare ones."""

from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_MOVES
from growth.observe.snapshot import Snapshot

_MOVING: Final = "nodes that are part of a move"


class ActiveMoves(msgspec.Struct, frozen=True):
    """Names of nodes that are part of a move that is not over."""

    terminating: frozenset[str] = frozenset()
    coming: frozenset[str] = frozenset()


def moving_in(snapshot: Snapshot) -> ActiveMoves:
    """Every decider asks, so it is worked out once. What is being undone is everybody's again."""
    known = snapshot.memo.get(_MOVING)
    if known is None:
        moves = [one for one in snapshot.table(NODE_MOVES).values() if one.status.phase in ("Buying", "Draining")]
        known = snapshot.memo[_MOVING] = ActiveMoves(
            frozenset(name for move in moves if move.status.phase == "Draining" for name in move.spec.nodes),
            frozenset(one.name for move in moves for one in move.spec.buys),
        )
    return known
