"""What one pass of shrink looks at, and what it has said so far."""

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property

from growth.api.actions import RecordEvent
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import NODES
from growth.api.machine import Machine
from growth.api.node import Node
from growth.api.offering import INSTANCE_TYPE, POOL, Offering
from growth.api.provider_state import ProviderState
from growth.api.references import reference_to
from growth.decide.capacity.disruptability import NodeUse
from growth.decide.capacity.offering_catalog import OfferingCatalog, as_billed
from growth.decide.capacity.pool_validation import provider_of
from growth.decide.context import PassContext
from growth.decide.contract import Inputs
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.kept_nodes import NominatedNodes, RetainedNodes
from growth.decide.facts.pending_pods import PendingPods
from growth.decide.scale_down.carry import ScaleDownCarry


class ScaleDownContext(PassContext[ScaleDownCarry]):
    """Pools, nodes and removals of one pass."""

    def __init__(self, inputs: Inputs[ScaleDownCarry, None, None]) -> None:
        super().__init__(inputs)
        snapshot, self.carry = inputs.snapshot, inputs.carry
        self.use = NodeUse(
            snapshot,
            inputs.clock,
            inputs.settings.provision,
            pending=self.facts.get(PendingPods).all,
            retained=self.facts.get(RetainedNodes).names,
            nominated=self.facts.get(NominatedNodes).names,
        )
        self.pools, self.requests = self.use.pools, self.use.requests
        self.removals = [removal for _, removal in sorted(snapshot.table(NODE_REMOVAL_REQUESTS).items())]
        self.terminating = snapshot.terminating_nodes
        self.cluster = self.facts.get(ClusterState)
        self.catalog = self.facts.get(OfferingCatalog)
        self.empty_since: dict[str, datetime] = {}
        self.noticed: dict[str, datetime] = {}
        self.evicted: dict[str, datetime] = {}
        self.grew_at: dict[str, datetime] = {}
        """By pool, when it last got or asked for a machine, as far as that was looked up (``scale_up``)."""

    def machine(self, provider_id: str, name: str) -> tuple[ProviderState, Machine] | None:
        """Return a machine and its provider."""
        return self.use.machine(provider_id, name)

    @cached_property
    def nodes_of_pools(self) -> dict[str, list[Node]]:
        """By pool, the nodes that bear its label."""
        return {name: self.snapshot.makes.of_pool(name) for name in self.pools}

    @cached_property
    def idle_nodes_of_pools(self) -> dict[str, list[Node]]:
        """Of those, the ones on which nothing works, and the ones that bear a mark. Most do neither, and thousands need
        not be looked at in every pass."""
        snapshot = self.snapshot
        names = (snapshot.nodes.keys() - snapshot.work.keys()) | snapshot.to_go.keys()
        return self._by_pool(snapshot.nodes[name] for name in sorted(names))

    def _by_pool(self, nodes: Iterable[Node]) -> dict[str, list[Node]]:
        found: dict[str, list[Node]] = {name: [] for name in self.pools}
        for node in nodes:
            pool = node.metadata.labels.get(POOL)
            if pool in found:
                found[pool].append(node)
        return found

    def is_silent(self, pool: str, since: datetime | None = None) -> bool:
        """Whether those who might have a machine of this pool have not answered (after this instant)."""
        known = self.pools.get(pool)
        provider = provider_of(known, self.snapshot.clouds) if known is not None else ""
        asked = [self.snapshot.clouds[provider]] if provider else list(self.snapshot.clouds.values())
        return not asked or not all(_has_answered(cloud, since, self.now) for cloud in asked)

    def price(self, node: Node) -> float:
        """What a node costs, as far as one knows."""
        offering = self._offering(node)
        pool = self.pools.get(node.metadata.labels.get(POOL, ""))
        return as_billed(offering, pool).price_per_hour if offering is not None else 0.0

    def server_type(self, node: Node) -> str:
        """What type it was bought as; what its label says if nobody sells that any more."""
        offering = self._offering(node)
        return offering.server_type if offering is not None else node.metadata.labels.get(INSTANCE_TYPE, "")

    def _offering(self, node: Node) -> Offering | None:
        machine = self.machine(node.spec.provider_id, node.metadata.name)
        return self.catalog.get(machine[1].offering) if machine else None

    def tell(self, node: Node, reason: str, why: str) -> None:
        """Let people know what becomes of a node."""
        subject = reference_to(NODES, node.metadata)
        self.said.append(RecordEvent(subject=subject, why=why, reason=reason, action="ScalingDown"))

    def next_carry(self) -> ScaleDownCarry:
        """What to be reminded of in the next pass."""
        return ScaleDownCarry(self.empty_since, self.noticed, self.evicted)


def _has_answered(cloud: ProviderState, since: datetime | None, now: datetime) -> bool:
    if cloud.problem or cloud.read_at is None:
        return False
    return since is None or since < cloud.read_at <= now
