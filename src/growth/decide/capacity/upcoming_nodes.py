"""Machines that are on their way, and the pods that have a place on one.

A request counts until its node is there and open: then the node speaks for itself. Which pods a machine was bought for
is written on its request, so that later plans, and a process that was just started, leave them their places.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.api.settings.model import ProvisionSettings
from growth.decide.contract import ClockTrust
from growth.decide.elapsed import phase_since
from growth.decide.fit.daemonset_pods import DaemonSets
from growth.decide.fit.node_resources import has_room
from growth.decide.fit.predicates import fit
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.template_node import TemplateNodes, settled
from growth.observe.snapshot import Snapshot


class UpcomingNode(msgspec.Struct, frozen=True):
    """A request and what will come of it."""

    name: str
    pool: NodePool
    offering: Offering
    """As it is believed to be."""
    planned_for: tuple[str, ...]
    hands_keys: bool


def is_live(request: NodeRequest) -> bool:
    """Whether a machine is still expected of it."""
    return request.status.phase in ("Pending", "Provisioning")


def has_places(request: NodeRequest, snapshot: Snapshot, clock: ClockTrust, settings: ProvisionSettings) -> bool:
    """Whether the pods that it was bought for still have their places: until they had the time to get there.

    On a probe nothing has a place before it works.
    """
    if is_live(request):
        return not request.is_probe
    name = request.metadata.name
    if request.status.phase != "Ready" or name not in snapshot.nodes:
        return False
    return name in snapshot.closed or snapshot.now < hand_over_ends(request, clock, settings)


def hand_over_ends(request: NodeRequest, clock: ClockTrust, settings: ProvisionSettings) -> datetime:
    """When the pods that a machine was bought for should be there, now that it is ready."""
    return clock.age_start(phase_since(request, clock.now)) + settings.hand_over


def still_fitting(request: NodeRequest, snapshot: Snapshot, waiting: Mapping[str, Pod]) -> list[str]:
    """Of the pods that a machine was bought for and that still wait, those for which its node has room."""
    name = request.metadata.name
    free = snapshot.room.free(name)
    found: list[str] = []
    for uid in request.planned_for:
        pod = waiting.get(uid)
        if pod is None:
            continue
        asked = snapshot.shapes.requests_of(pod.spec)
        if has_room(free, asked):
            found.append(uid)
            free = {resource: amount - asked.get(resource, 0) for resource, amount in free.items()}
    return found


def enter(simulated: SimulatedCluster, coming: Iterable[UpcomingNode], maker: TemplateNodes) -> None:
    """Put machines that are coming on the stage as the nodes that they will be, daemons and all."""
    daemons = DaemonSets.of(simulated)
    for one in coming:
        new = maker.make(one.name, one.pool, one.offering)
        node = simulated.nodes.get(one.name)
        if node is None:
            new.enter(simulated)
            continue
        # What a kubelet says before it is ready may be less than it will have.
        simulated.change_node(settled(node, one.pool) if node.is_ready else new.node)
        for pod in daemons.missing_on(simulated.node_info(one.name)):
            simulated.place(pod, one.name)


def seat(
    simulated: SimulatedCluster, pods: Iterable[Pod], places: Mapping[str, Sequence[str]]
) -> tuple[dict[str, str], list[Pod]]:
    """Give pods the places that they have; gives who sits where, and those whose place is lost.

    A pod may be written on two machines: on one that is open, where another pod was faster, and on the one that was
    planned for it since.
    """
    seated: dict[str, str] = {}
    lost: list[Pod] = []
    for pod in pods:
        uid = pod.metadata.uid
        candidates = (node for node in places.get(uid, ()) if node in simulated.nodes and _fits(simulated, pod, node))
        node = next(candidates, None)
        if node is None:
            lost.append(pod)
        else:
            simulated.place(pod, node)
            seated[uid] = node
    return seated, lost


def _fits(simulated: SimulatedCluster, pod: Pod, node: str) -> bool:
    """Whether a pod that was planned for a machine still fits there.

    Thousands may have to be asked in every plan. Most ask for nothing but room, and the rest was true when they were
    planned and is about the machine itself.
    """
    spec = pod.spec
    has_rules = spec.affinity or spec.topology_spread_constraints or spec.volumes or spec.resource_claims
    if has_rules or simulated.has_repellents or any(port.host_port for one in spec.containers for port in one.ports):
        return fit(simulated, pod, node) is None
    return has_room(simulated.node_info(node).free, simulated.requests(pod))
