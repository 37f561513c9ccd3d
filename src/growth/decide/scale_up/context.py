"""Everything that one pass looks at: the pools, what may be bought, what is coming, and what plans have said."""

from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Final

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest
from growth.api.out_of_service import out_of_service_taint
from growth.api.settings.model import Settings
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.node_startup import awaits_memory
from growth.decide.capacity.offering_catalog import catalog_in
from growth.decide.capacity.pool_inventory import PoolMachine, holdings, just_launched
from growth.decide.capacity.pool_validation import usable
from growth.decide.capacity.retry_fingerprint import RetryFingerprint, circumstances_of, is_limited
from growth.decide.capacity.upcoming_nodes import hand_over_ends, has_places
from growth.decide.contract import DeciderState
from growth.decide.facts.cluster_state import NodeState
from growth.decide.facts.gangs import gangs_in
from growth.decide.facts.pending_pods import displaced_in, virtual_pods_in, waiting_in
from growth.decide.registry.step import cluster_in
from growth.decide.scale_up.plan import ScaleUpPlan
from growth.decide.scale_up.pod_results import PodResult
from growth.decide.writes.removal_requests import terminating_in
from growth.observe.snapshot import Snapshot
from growth.observe.table import Table

_NOT_COMING: Final = frozenset({NodeState.NEVER_CREATED, NodeState.NEVER_REGISTERED, NodeState.FAILED_TO_START})
"""Whose pods need other places, although nobody has given these requests up yet."""


class ScaleUpContext:
    """One instant. ``pools`` are all that there are, ``usable`` those for which machines may be bought now."""

    def __init__(self, snapshot: Snapshot, state: DeciderState, settings: Settings, plan: ScaleUpPlan) -> None:
        self.snapshot, self.state, self.settings, self.plan = snapshot, state, settings, plan
        self.now: datetime = snapshot.now
        self.pools: list[NodePool] = [pool for _, pool in sorted(snapshot.table(NODE_POOLS).items())]
        self.cluster = cluster_in(snapshot, state, settings)
        closed = self.cluster.closed_pools
        self.usable = tuple(
            pool for pool in self.pools if usable(pool, snapshot.clouds) and pool.metadata.name not in closed
        )
        self.requests: Table[NodeRequest] = snapshot.table(NODE_REQUESTS)
        self.catalog = catalog_in(snapshot, settings.provision)
        self.terminating = terminating_in(snapshot)
        """Nodes that somebody wants to be rid of."""
        self.closed = self.cluster.closed_offerings | self.catalog.closed
        """Pools and offerings that this pool must not buy."""
        self.waiting = waiting_in(snapshot)
        """All who want a place."""
        self.virtual_pods = virtual_pods_in(snapshot)
        """Of those, the ones that are not there yet."""
        self.gangs = gangs_in(snapshot)
        """Pods that start together."""
        self.displaced = displaced_in(snapshot)
        self.dead = {one.node for one in self.displaced.values()} | {
            name for name, node in snapshot.out_of_service.items() if out_of_service_taint(node) is not None
        }
        """Nodes that are out of service: they are no room, whatever was planned before."""
        self.verdicts: Mapping[str, PodResult] = {}

    @cached_property
    def held(self) -> list[PoolMachine]:
        """All machines of all pools."""
        return holdings(self.snapshot, self.catalog, just_launched(self.snapshot, self.state))

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
        return has_places(request, self.snapshot, self.state, self.settings.provision)

    def _is_kept_closed(self, request: NodeRequest) -> bool:
        """Whether its node is ready and not opened, because what it was is not given back to it in time."""
        node = self.snapshot.closed.get(request.metadata.name)
        if node is None or request.status.phase != "Ready" or self.now < self.hand_over_ends(request):
            return False
        return awaits_memory(node, self.state, self.settings)

    def is_coming(self, request: NodeRequest) -> bool:
        """Whether a node may still come of it in time."""
        unit = self.cluster.request_unit(request.metadata.name)
        return unit is None or unit.state not in _NOT_COMING

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
        return hand_over_ends(request, self.now, self.state, self.settings.provision)
