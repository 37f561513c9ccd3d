"""What one pass of provision looks at, and what it has said so far."""

from collections.abc import Mapping
from datetime import datetime

from growth.api.actions import Action, Hold
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.machine import Machine
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.offering import Offering
from growth.api.provider_state import cloud_of
from growth.api.references import reference_to
from growth.decide.capacity.node_startup import NodeStartup, awaits_memory
from growth.decide.capacity.offering_catalog import OfferingCatalog, offering_for
from growth.decide.capacity.provider_failures import FailedRequest, failure_of
from growth.decide.context import PassContext
from growth.decide.contract import Inputs
from growth.decide.elapsed import phase_since
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.node_requests.carry import NodeRequestsCarry


class NodeRequestsContext(PassContext[NodeRequestsCarry]):
    """Requests, nodes and machines of one pass."""

    def __init__(self, inputs: Inputs[NodeRequestsCarry, None, None]) -> None:
        super().__init__(inputs)
        snapshot = inputs.snapshot
        self.terms = inputs.settings.provision
        self.removal = inputs.settings.removal
        self.pools = {pool.metadata.name: pool for pool in snapshot.table(NODE_POOLS).values()}
        self.requests = {request.metadata.name: request for request in snapshot.table(NODE_REQUESTS).values()}
        self.catalog = self.facts.get(OfferingCatalog)
        self.cluster = self.facts.get(ClusterState)
        self.terminating = snapshot.terminating_nodes
        """Nodes that somebody wants to be rid of, whatever the removal itself is called."""
        self.arrivals: dict[str, NodeStartup | None] = {}
        """How far nodes are, as far as somebody has asked."""
        self.too_many: dict[str, str] = {}
        """Requests that would pass a limit of their pool, with that limit."""
        self.keys_handed = 0
        self.missing_at: Mapping[str, datetime] = inputs.carry.missing_at
        """By uid of a request, the first list of its provider without its machine, which was listed before."""
        self.noticed: dict[str, datetime] = {}
        """By provider id, since when a machine has neither request nor node."""
        self.missing_now: dict[str, datetime] = {}
        """The same, as this pass knows it."""
        self.unregistered: list[tuple[datetime, str, str, Action]] = []
        """Machines that never registered: since when, whose name and pool, and what would give them up."""
        self._machines = {machine.name: machine for cloud in snapshot.clouds.values() for machine in cloud.machines}

    def hold(self, request: NodeRequest, reason: str, why: str) -> None:
        """Say that nothing is done about a request now."""
        self.said.append(Hold(subject=reference_to(NODE_REQUESTS, request.metadata), why=why, reason=reason))

    def awaits_memory(self, node: Node) -> bool:
        """Whether this node is not given back yet what it was, and closed until then."""
        is_closed = node.metadata.name in self.snapshot.closed
        return is_closed and awaits_memory(node, self.inputs.replica, self.settings)

    @property
    def is_halted(self) -> bool:
        """Whether no provider is asked for anything and nothing given up: the cluster is unhealthy."""
        return self.cluster.is_halted

    def was_never_created(self, request: NodeRequest) -> bool:
        """Whether its provider had no machine in time."""
        unit = self.cluster.request_unit(request.metadata.name)
        return unit is not None and unit.was_never_created

    def phase_since(self, request: NodeRequest) -> datetime:
        """Since when it is in its phase. That was written by our own clock; when it was made, by the API server's."""
        return self.since(phase_since(request, self.now))

    def failure_of(self, request: NodeRequest) -> FailedRequest | None:
        """What a request that was given up teaches."""
        return failure_of(request, self.snapshot.clouds, self.now, self.terms)

    def machine_of(self, request: NodeRequest) -> Machine | None:
        """The request's machine as its provider lists it. One of its name that was bought as something else is not."""
        machine = self._machines.get(request.metadata.name)
        if machine is None or machine.provider_id == request.status.provider_id:
            return machine
        launched, wanted = machine.offering.lower(), request.spec.target_offering.lower()
        is_meant = machine.pool == request.pool and (launched == wanted or launched.startswith(f"{wanted}-"))
        return machine if is_meant else None

    def offering_of(self, request: NodeRequest) -> Offering | None:
        """What the request's machine was bought as, or will be."""
        machine = self.machine_of(request)
        launched = self.catalog.get(machine.offering) if machine is not None else None
        return launched or offering_for(request, self.catalog)

    @property
    def knows_what_is_sold(self) -> bool:
        """Whether every provider has said what it sells, so that what is missing there is not sold."""
        clouds = self.snapshot.clouds.values()
        return bool(clouds) and all(cloud.read_at is not None for cloud in clouds)

    def has_answered(self, request: NodeRequest, since: datetime) -> bool:
        """Whether the request's provider was asked at this instant or later, so that its word holds."""
        cloud = cloud_of(request.spec.target_offering, self.snapshot.clouds)
        return cloud is not None and cloud.has_answered(since, self.now)
