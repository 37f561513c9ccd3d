"""What one pass over the moves looks at, and what it has said so far."""

from datetime import datetime
from functools import cached_property

from growth.api.actions import Action, Hold, RecordEvent
from growth.api.disruption import Reason
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REQUESTS
from growth.api.node import Node
from growth.api.node_move import NodeMove
from growth.api.node_pool import NodePool
from growth.api.pod import Pod
from growth.api.pod_classification import is_work
from growth.api.references import reference_to
from growth.api.settings.model import Settings
from growth.decide.capacity.offering_catalog import OfferingCatalog, catalog_in
from growth.decide.contract import DeciderState
from growth.decide.policy.budgets import Allowance
from growth.decide.registry.step import cluster_in
from growth.decide.writes.removal_requests import terminating_in
from growth.observe.snapshot import Snapshot


class ConsolidationContext:
    """One snapshot; ``said`` and ``deadlines`` are what comes of it."""

    def __init__(self, snapshot: Snapshot, state: DeciderState, settings: Settings) -> None:
        self.snapshot, self.state, self.settings = snapshot, state, settings
        self.now: datetime = snapshot.now
        self.moves: list[NodeMove] = [move for _, move in sorted(snapshot.table(NODE_MOVES).items())]
        self.requests = {request.metadata.name: request for request in snapshot.table(NODE_REQUESTS).values()}
        self.pools: dict[str, NodePool] = {one.metadata.name: one for one in snapshot.table(NODE_POOLS).values()}
        self.terminating = terminating_in(snapshot)
        self.cluster = cluster_in(snapshot, state, settings)
        self.said: list[Action | Hold] = []
        self.deadlines: list[datetime] = []
        self.emptied: set[str] = set()
        """Nodes that begin to be emptied in this pass: budgets count them at once."""
        self.allowances: dict[tuple[str, Reason, int], Allowance] = {}
        """By pool, reason and how many begin to be emptied in this pass, what budgets let go."""
        self.crowded: dict[str, tuple[datetime, str]] = {}
        """By move, when it was looked whether its pods find room, and who would not."""

    @cached_property
    def catalog(self) -> OfferingCatalog:
        """What may be bought."""
        return catalog_in(self.snapshot, self.settings.provision)

    def standing(self, move: NodeMove) -> list[Node]:
        """The nodes of a move that are there and not on their way out yet."""
        nodes = self.snapshot.nodes
        return [nodes[name] for name in move.spec.nodes if name in nodes and name not in self.terminating]

    def workers(self, node: Node) -> list[Pod]:
        """The pods that keep a node, the least important first; those that leave already included."""
        pods = filter(is_work, self.snapshot.pods_by_node.get(node.metadata.name, {}).values())
        return sorted(pods, key=lambda one: (one.spec.priority, one.metadata.namespace, one.metadata.name))

    def since(self, written: datetime | None) -> datetime:
        """The instant from which a deadline counts that begins with what was written."""
        return self.state.since(written, self.now)

    def is_over(self, when: datetime) -> bool:
        """Whether this instant has come; else we look again then."""
        if self.now >= when:
            return True
        self.deadlines.append(when)
        return False

    def tell(self, move: NodeMove, reason: str, why: str, *, is_bad: bool = False) -> None:
        """Let people know."""
        kind = "Warning" if is_bad else "Normal"
        subject = reference_to(NODE_MOVES, move.metadata)
        self.said.append(RecordEvent(subject=subject, why=why, type=kind, reason=reason, action="Moving"))
