"""What one pass over the moves looks at, and what it has said so far."""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property

from growth.api.actions import RecordEvent
from growth.api.disruption import Reason
from growth.api.growth_kinds import NODE_MOVES
from growth.api.node import Node
from growth.api.node_move import NodeMove
from growth.api.node_pool import NodePool
from growth.api.pod import Pod
from growth.api.pod_classification import is_work
from growth.api.references import reference_to
from growth.decide.capacity.disruptability import NodeUse
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.consolidation.carry import ConsolidationCarry
from growth.decide.consolidation.forced_moves import ForcedMovePlan
from growth.decide.consolidation.move_search import MoveAdvice
from growth.decide.consolidation.problem import ForcedDisruption
from growth.decide.context import PassContext
from growth.decide.contract import Inputs
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.kept_nodes import RetainedNodes
from growth.decide.facts.pending_pods import PendingPods
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.policy.disruption_budgets import Allowance


class ConsolidationContext(PassContext[ConsolidationCarry]):
    """Moves, pools and nodes of one pass."""

    def __init__(self, inputs: Inputs[ConsolidationCarry, MoveAdvice | ForcedMovePlan, None]) -> None:
        super().__init__(inputs)
        snapshot = inputs.snapshot
        self.carry = inputs.carry
        """What the next pass must know, as far as steps have decided."""
        self.disruptions: list[ForcedDisruption] = []
        """Nodes that must go, the most urgent first."""
        self.compute: Callable[[], MoveAdvice | ForcedMovePlan] | None = None
        self.is_computing, self.result = inputs.is_computing, inputs.result
        self.moves: list[NodeMove] = [move for _, move in sorted(snapshot.table(NODE_MOVES).items())]
        self.terminating = snapshot.terminating_nodes
        self.cluster = self.facts.get(ClusterState)
        self.pending = self.facts.get(PendingPods)
        self.replacements = self.facts.get(ReplacementPods)
        self.use = NodeUse(
            snapshot,
            inputs.clock,
            inputs.settings.provision,
            pending=self.pending.all,
            retained=self.facts.get(RetainedNodes).names,
            nominated=(),
        )
        """Who uses which node."""
        self.pools, self.requests = self.use.pools, self.use.requests
        self.emptied: set[str] = set()
        """Nodes that begin to be emptied in this pass: budgets count them at once."""
        self.allowances: dict[tuple[str, Reason, int], Allowance] = {}
        """By pool, reason and how many begin to be emptied in this pass, what budgets let go."""
        self.crowded: dict[str, tuple[datetime, str]] = {}
        """By move, when it was looked whether its pods find room, and who would not."""

    @cached_property
    def optimized_pools(self) -> list[NodePool]:
        """Pools whose nodes may be moved, or for which savings are reported."""
        return [pool for _, pool in sorted(self.pools.items()) if pool.spec.disruption.mode != "off"]

    @cached_property
    def catalog(self) -> OfferingCatalog:
        """What may be launched."""
        return self.facts.get(OfferingCatalog)

    def standing(self, move: NodeMove) -> list[Node]:
        """The nodes of a move that are there and not on their way out yet."""
        nodes = self.snapshot.nodes
        return [nodes[name] for name in move.spec.nodes if name in nodes and name not in self.terminating]

    def workers(self, node: Node) -> list[Pod]:
        """The pods that keep a node, the least important first; those that leave already included."""
        pods = filter(is_work, self.snapshot.pods_by_node.get(node.metadata.name, {}).values())
        return sorted(pods, key=lambda one: (one.spec.priority, one.metadata.namespace, one.metadata.name))

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
