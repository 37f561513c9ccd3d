"""A Snapshot: the World at one instant, read-only, for one synchronous step."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from growth.api.change import ObjectT
from growth.api.decoding import Unreadable
from growth.api.kinds import Kind
from growth.api.node import Node
from growth.api.node_move import NodeMove
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.storage import VolumeAttachment
from growth.observe.free_capacity import FreeCapacity
from growth.observe.journal import ChangeJournal
from growth.observe.lease_heartbeats import KueueLeases, NodeHeartbeats
from growth.observe.node_history import NodeHistory
from growth.observe.nodes_by_template import NodesByTemplate
from growth.observe.owned_pods import OwnedPodCounts, UnreadyPods
from growth.observe.pod_equivalence import PodFamilies, PodShapes
from growth.observe.table import Table
from growth.observe.table_index import ActiveMoves, TableIndex


class Snapshot(msgspec.Struct, frozen=True):
    """What deciders see. It is a view, not a copy: valid until the next ``await``, and not a moment longer."""

    now: datetime
    nodes: Mapping[str, Node]
    pods_by_node: Mapping[str, Mapping[str, Pod]]
    waiting: Mapping[str, Pod]
    room: FreeCapacity
    shapes: PodShapes
    families: PodFamilies
    tables: Mapping[Kind[Any], Table[Any]]
    refused: Mapping[str, Pod]
    """Of those that wait, the ones that a scheduler tried and found no place for."""
    untried: Mapping[str, Pod]
    """Of those that wait, the ones that no scheduler has said anything about."""
    marked: Mapping[str, Pod]
    """Pods, wherever they are, on which a back-off is written."""
    makes: NodesByTemplate
    """All nodes, by what they were made from."""
    closed: Mapping[str, Node]
    """Nodes that carry the start-up taint."""
    to_go: Mapping[str, Node]
    """Nodes that bear the mark of scale-down, whole or not."""
    out_of_service: Mapping[str, Node]
    """Nodes that bear the out-of-service taint, whoever set it, or our note of why we did."""
    lingering: Mapping[str, Pod]
    """Pods that have ended and are being deleted, and that something (a finalizer) still keeps."""
    unready: UnreadyPods
    """Pods that are not ready, by whom they were made for; empty where there is no queue."""
    offspring: OwnedPodCounts
    """How many pods there are of whom; empty where there is no queue."""
    heartbeats: NodeHeartbeats
    """Which node gave its last sign of life when."""
    past: NodeHistory
    """What is known about each name that a node ever had; empty where nobody remembers."""
    work: Mapping[str, int]
    """How many pods work on which node (``api.pod_classification``); a node that is not in it is empty."""
    clouds: Mapping[str, ProviderState]
    """What the providers that are open said last."""
    journal: ChangeJournal
    """What has changed about which node, request or removal, by the node's name."""
    nodes_heard: int
    """How many nodes have come so far that nobody asked for: a number that tells whether one came since."""
    arrivals: int
    """How many pods have begun to wait so far."""
    kueue_leases: KueueLeases
    """Whether a Kueue is alive; empty where nobody keeps a queue."""
    unreadable: Mapping[Kind[Any], Mapping[str, Unreadable]]
    """What is there and cannot be read, of kinds of which that is no reason to stop, by uid."""
    unread: Mapping[Kind[Any], str]
    """Kinds that nobody waited for and that are not read yet, with what the server says instead, if anything."""
    removals: TableIndex[NodeRemovalRequest, frozenset[str]]
    moves: TableIndex[NodeMove, ActiveMoves]
    attachments: TableIndex[VolumeAttachment, Mapping[str, list[VolumeAttachment]]]

    @property
    def terminating_nodes(self) -> frozenset[str]:
        """Names of nodes with a NodeRemovalRequest."""
        return self.removals.value

    @property
    def active_moves(self) -> ActiveMoves:
        """Nodes that a move drains or has launched."""
        return self.moves.value

    @property
    def attachments_by_node(self) -> Mapping[str, list[VolumeAttachment]]:
        """Attached volumes, by the name of the node."""
        return self.attachments.value

    def table(self, kind: Kind[ObjectT]) -> Table[ObjectT]:
        """All objects of a kind that has no better index, by namespace and name."""
        return self.tables[kind]

    @property
    def pod_count(self) -> int:
        """Pods that hold or want room: all but the finished ones."""
        return len(self.waiting) + sum(map(len, self.pods_by_node.values()))
