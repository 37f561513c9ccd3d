"""Indexes of whole tables: few objects, many readers.

They are derived when they are read, and again only after the table has changed.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from growth.api.change import ObjectT
from growth.api.node_move import NodeMove
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.storage import VolumeAttachment
from growth.observe.table import Table

IndexT = TypeVar("IndexT")


class TableIndex(Generic[ObjectT, IndexT]):
    """What a function makes of a table."""

    def __init__(self, table: Table[ObjectT], derive: Callable[[Table[ObjectT]], IndexT]) -> None:
        self._table, self._derive = table, derive
        self._observed = table.observed
        self._value = derive(table)

    @property
    def value(self) -> IndexT:
        """The index of the table as it is now."""
        if self._observed != self._table.observed:
            self._observed = self._table.observed
            self._value = self._derive(self._table)
        return self._value


class ActiveMoves(msgspec.Struct, frozen=True):
    """Names of the nodes of moves that are not over. The nodes of a move that is rolled back are free again."""

    terminating: frozenset[str] = frozenset()
    coming: frozenset[str] = frozenset()


def active_moves(moves: Table[NodeMove]) -> ActiveMoves:
    """Return the nodes that are drained, and those that were launched instead."""
    active = [one for one in moves.values() if one.status.phase in ("Buying", "Draining")]
    return ActiveMoves(
        frozenset(name for move in active if move.status.phase == "Draining" for name in move.spec.nodes),
        frozenset(one.name for move in active for one in move.spec.buys),
    )


def terminating_nodes(removals: Table[NodeRemovalRequest]) -> frozenset[str]:
    """Return the names of nodes with a NodeRemovalRequest. The request may have another name than its node."""
    return frozenset(removal.node_name for removal in removals.values())


def attachments_by_node(attachments: Table[VolumeAttachment]) -> Mapping[str, list[VolumeAttachment]]:
    """Group the attachments by the name of their node."""
    found: dict[str, list[VolumeAttachment]] = defaultdict(list)
    for one in attachments.values():
        found[one.spec.node_name].append(one)
    return dict(found)
