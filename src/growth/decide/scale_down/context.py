"""What one pass of shrink looks at, and what it has said so far."""

from collections.abc import Iterable
from datetime import datetime
from functools import cached_property

import msgspec

from growth.api.actions import Action, Hold, RecordEvent
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.machine import Machine
from growth.api.node import Node
from growth.api.offering import INSTANCE_TYPE, POOL, Offering
from growth.api.provider_state import ProviderState
from growth.api.references import reference_to
from growth.api.settings.model import Settings
from growth.decide.capacity.offering_catalog import as_billed, catalog_in
from growth.decide.capacity.pool_validation import provider_of
from growth.decide.contract import DeciderState
from growth.decide.facts.nominated_nodes import expected_in
from growth.decide.registry.step import cluster_in
from growth.decide.writes.removal_requests import terminating_in
from growth.observe.snapshot import Snapshot


class ScaleDownCarry(msgspec.Struct, frozen=True):
    """What is lost with the process: then it counts anew."""

    empty_since: dict[str, datetime] = {}
    """By uid, since when nodes that are not marked yet are seen to be empty."""
    noticed: dict[str, datetime] = {}
    """By uid, since when removals are known: what providers said before tells nothing about them."""
    evicted: dict[str, datetime] = {}
    """By uid of their node, when pods that may come back there were last asked to leave it."""


class ScaleDownContext:
    """One snapshot with what all parts of the pass ask of it; ``said`` and ``deadlines`` are what comes of it."""

    def __init__(self, snapshot: Snapshot, state: DeciderState, settings: Settings, carry: ScaleDownCarry) -> None:
        self.snapshot, self.state, self.settings, self.carry = snapshot, state, settings, carry
        self.now = snapshot.now
        self.pools = {pool.metadata.name: pool for pool in snapshot.table(NODE_POOLS).values()}
        self.requests = {request.metadata.name: request for request in snapshot.table(NODE_REQUESTS).values()}
        self.removals = [removal for _, removal in sorted(snapshot.table(NODE_REMOVAL_REQUESTS).items())]
        self.terminating = terminating_in(snapshot)
        self.cluster = cluster_in(snapshot, state, settings)
        self.said: list[Action | Hold] = []
        self.deadlines: list[datetime] = []
        self.empty_since: dict[str, datetime] = {}
        self.noticed: dict[str, datetime] = {}
        self.evicted: dict[str, datetime] = {}
        self.grew_at: dict[str, datetime] = {}
        """By pool, when it last got or asked for a machine, as far as that was looked up (``scale_up``)."""

    @cached_property
    def expected(self) -> frozenset[str]:
        """Nodes on which the last plan expects pods that still wait."""
        nominated = {pod.status.nominated_node_name for pod in self.snapshot.waiting.values()}
        return expected_in(self.snapshot) | nominated

    @cached_property
    def _machines(self) -> tuple[dict[str, tuple[ProviderState, Machine]], dict[str, tuple[ProviderState, Machine]]]:
        found = [(cloud, machine) for cloud in self.snapshot.clouds.values() for machine in cloud.machines]
        return {one[1].provider_id: one for one in found}, {one[1].name: one for one in found}

    def machine(self, provider_id: str, name: str) -> tuple[ProviderState, Machine] | None:
        """A machine and whose it is: the one of this id, or of this name where no id is known."""
        by_id, by_name = self._machines
        return by_id.get(provider_id) if provider_id else by_name.get(name)

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

    def since(self, written: datetime | None) -> datetime:
        """The instant from which a deadline counts that begins with what was written."""
        return self.state.since(written, self.now)

    def remind(self, when: datetime) -> None:
        """Look again at this instant."""
        self.deadlines.append(when)

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
        return catalog_in(self.snapshot, self.settings.provision).get(machine[1].offering) if machine else None

    def tell(self, node: Node, reason: str, why: str) -> None:
        """Let people know what becomes of a node."""
        subject = reference_to(NODES, node.metadata)
        self.said.append(RecordEvent(subject=subject, why=why, reason=reason, action="ScalingDown"))

    def remembering(self) -> ScaleDownCarry:
        """What to be reminded of in the next pass."""
        return ScaleDownCarry(self.empty_since, self.noticed, self.evicted)


def _has_answered(cloud: ProviderState, since: datetime | None, now: datetime) -> bool:
    if cloud.problem or cloud.read_at is None:
        return False
    return since is None or since < cloud.read_at <= now
