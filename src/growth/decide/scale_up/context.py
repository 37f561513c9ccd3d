"""Everything that one pass looks at: the pools, what may be bought, what is coming, and what plans have said."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.node_startup import awaits_memory
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.capacity.pool_inventory import PoolMachine, holdings, just_launched
from growth.decide.capacity.provisioning_options import provisioning_options
from growth.decide.capacity.retry_fingerprint import RetryFingerprint, circumstances_of, is_limited
from growth.decide.capacity.upcoming_nodes import hand_over_ends, has_places
from growth.decide.context import PassContext
from growth.decide.contract import Inputs
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.gangs import PendingGangs
from growth.decide.facts.pending_pods import PendingPods
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.scale_up.carry import ScaleUpCarry
from growth.decide.scale_up.plan import ScaleUpPlan
from growth.decide.scale_up.pod_results import PodResult
from growth.observe.table import Table


class ScaleUpContext(PassContext[ScaleUpCarry]):
    """Pools, offerings and pending pods of one pass."""

    def __init__(self, inputs: Inputs[ScaleUpCarry, ScaleUpPlan, None]) -> None:
        super().__init__(inputs)
        snapshot = inputs.snapshot
        self.carry = inputs.carry
        """What the next pass must know, as far as steps have decided."""
        self.compute: Callable[[], ScaleUpPlan] | None = None
        self.is_computing = inputs.is_computing
        self.cluster = self.facts.get(ClusterState)
        self.catalog = self.facts.get(OfferingCatalog)
        self.replacements = self.facts.get(ReplacementPods)
        self.options = provisioning_options(snapshot, self.cluster, self.catalog, self.replacements)
        self.pools: Sequence[NodePool] = self.options.pools
        self.usable = self.options.usable
        """Pools for which machines may be launched now."""
        self.requests: Table[NodeRequest] = snapshot.table(NODE_REQUESTS)
        self.terminating = self.options.terminating
        self.closed = self.options.closed
        """Pools and offerings that this pool must not launch."""
        pending = self.facts.get(PendingPods)
        self.waiting = pending.all
        """All who want a place."""
        self.virtual_pods = pending.virtual
        """Of those, the ones that are not there yet."""
        self.gangs = self.facts.get(PendingGangs).gangs
        """Pods that start together."""
        self.dead = self.options.dead
        """Nodes that are out of service: they are no capacity, whatever was planned before."""
        self.verdicts: Mapping[str, PodResult] = {}
        """What plans have said of pods that still wait."""

    @property
    def plan(self) -> ScaleUpPlan:
        """The last plan."""
        return self.carry.plan

    @cached_property
    def held(self) -> list[PoolMachine]:
        """All machines of all pools."""
        return holdings(self.snapshot, self.catalog, just_launched(self.snapshot, self.outcomes))

    @cached_property
    def circumstances(self) -> RetryFingerprint:
        """What a plan depends on beside the pods."""
        held = self.held if any(map(is_limited, self.usable)) else ()
        return circumstances_of(self.usable, self.catalog, held, self.closed)

    def request(self, name: str) -> NodeRequest | None:
        """The request of this name, if it is seen."""
        return self.requests.get(("", name))

    def has_places(self, request: NodeRequest) -> bool:
        """Whether the pods that it was bought for still have their places on it."""
        if request.metadata.name in self.dead or self._is_hopeless(request) or self._is_kept_closed(request):
            return False
        return has_places(request, self.snapshot, self.clock, self.settings.provision)

    def _is_kept_closed(self, request: NodeRequest) -> bool:
        """Whether its node is ready and not opened, because what it was is not given back to it in time."""
        node = self.snapshot.closed.get(request.metadata.name)
        if node is None or request.status.phase != "Ready" or self.now < self.hand_over_ends(request):
            return False
        return awaits_memory(node, self.inputs.replica, self.settings)

    def is_coming(self, request: NodeRequest) -> bool:
        """Whether a node may still come of it in time. If not, its pods need other places before it is given up."""
        unit = self.cluster.request_unit(request.metadata.name)
        return unit is None or not unit.is_lost

    def _is_hopeless(self, request: NodeRequest) -> bool:
        """Whether nothing will come of it, and that is a lesson already: else the same would be bought for its pods."""
        if self.is_coming(request):
            return False
        pool, offering = request.pool, request.spec.target_offering
        offered = self.catalog.offered.get(offering)
        is_open = offered is not None and offered.access is Availability.OPEN
        return not is_open or pool in self.cluster.closed_pools or (pool, offering) in self.closed

    def hand_over_ends(self, request: NodeRequest) -> datetime:
        """When these pods should be there, now that the machine is ready."""
        return hand_over_ends(request, self.clock, self.settings.provision)
