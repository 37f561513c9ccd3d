"""Why a node must stay: asked when it is to be marked, while it is marked, and before its machine is given back."""

from collections.abc import Collection, Mapping
from functools import cached_property

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.machine import Machine, Power
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.pod import Pod
from growth.api.pod_classification import forbids
from growth.api.provider_state import ProviderState
from growth.api.settings.model import ProvisionSettings
from growth.decide.capacity.upcoming_nodes import has_places, is_live
from growth.decide.contract import ClockTrust
from growth.observe.snapshot import Snapshot


class NodeUse:
    """Who uses nodes, or is about to, and which machines are proven to be ours."""

    def __init__(
        self,
        snapshot: Snapshot,
        clock: ClockTrust,
        settings: ProvisionSettings,
        *,
        pending: Mapping[str, Pod],
        retained: Collection[str],
        nominated: Collection[str],
    ) -> None:
        self.snapshot, self.clock, self.settings = snapshot, clock, settings
        self.pending, self.retained = pending, retained
        self.pools = {pool.metadata.name: pool for pool in snapshot.table(NODE_POOLS).values()}
        self.requests = {request.metadata.name: request for request in snapshot.table(NODE_REQUESTS).values()}
        self._nominated = nominated

    @cached_property
    def nominated(self) -> frozenset[str]:
        """Nodes on which the last plan, or the scheduler, expects pending pods."""
        by_scheduler = {pod.status.nominated_node_name for pod in self.snapshot.waiting.values()}
        return frozenset(self._nominated) | by_scheduler

    @cached_property
    def _machines(self) -> tuple[dict[str, tuple[ProviderState, Machine]], dict[str, tuple[ProviderState, Machine]]]:
        found = [(cloud, machine) for cloud in self.snapshot.clouds.values() for machine in cloud.machines]
        return {one[1].provider_id: one for one in found}, {one[1].name: one for one in found}

    def machine(self, provider_id: str, name: str) -> tuple[ProviderState, Machine] | None:
        """Return a machine and its provider: the one of this id, or of this name where no id is known."""
        by_id, by_name = self._machines
        return by_id.get(provider_id) if provider_id else by_name.get(name)


def why_needed(use: NodeUse, node: Node, pool: NodePool) -> str:
    """Why this node must not go; empty if nobody needs it."""
    if why := why_busy(use, node):
        return why
    if not pool.spec.scale_down.enabled:
        return f"scaleDown.enabled is false in pool {pool.metadata.name}"
    return why_awaited(use, node) or why_left_alone(use, node)


def why_busy(use: NodeUse, node: Node) -> str:
    """Who works on it; empty if nobody does."""
    count = use.snapshot.work.get(node.metadata.name, 0)
    if not count:
        return ""
    return f"{count} pods work on it" if count > 1 else "a pod works on it"


def why_awaited(use: NodeUse, node: Node) -> str:
    """Who is about to work on it; empty if nobody is."""
    name = node.metadata.name
    request = use.requests.get(name)
    if request is not None and request.status.phase != "Deprovisioning":
        if name in use.snapshot.closed or is_live(request):
            return "it is being prepared"
        is_awaited = any(uid in use.pending for uid in request.planned_for)
        if is_awaited and has_places(request, use.snapshot, use.clock, use.settings):
            return "pods that it was bought for are on their way"
    if name in use.snapshot.active_moves.coming:
        return "a move needs it"
    if name in use.retained:
        return "a workload that was put back before it came will be tried again"
    return "pods that wait are expected on it" if name in use.nominated else ""


def why_left_alone(use: NodeUse, node: Node) -> str:
    """The wish of a person that this node, or something on it, is not disturbed; empty if there is none."""
    if annotation := forbids(node):
        return f"it bears {annotation}"
    for pod in use.snapshot.pods_by_node.get(node.metadata.name, {}).values():
        if annotation := forbids(pod):
            return f"pod {pod.metadata.namespace}/{pod.metadata.name} on it bears {annotation}"
    return ""


def is_ours(use: NodeUse, node: Node) -> bool:
    """Whether its provider lists the machine now: what nobody can prove to be ours is never touched."""
    found = use.machine(node.spec.provider_id, node.metadata.name)
    return found is not None and not found[0].problem


def is_off(use: NodeUse, node: Node) -> bool:
    """Whether its provider says that the machine has no power, or is about to lose it."""
    found = use.machine(node.spec.provider_id, node.metadata.name)
    return found is not None and found[1].power in (Power.OFF, Power.STOPPING)


def was_ours(use: NodeUse, node: Node) -> bool:
    """Whether its provider listed the machine when it last answered: enough to take back a mark of ours."""
    return use.machine(node.spec.provider_id, node.metadata.name) is not None
