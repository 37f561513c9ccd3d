"""A node as it will really be once it is bought and has started.

Labels of the offering and of the pool, the pool's taints for good (start-up taints go away, so they are not there),
what is left of the machine after the system took its share, the DaemonSet pods that will sit on it, and the volume
limits of its siblings, since a machine of the same kind runs the same drivers.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

from growth.api.kinds import CSI_NODES
from growth.api.machine import reserved_by
from growth.api.meta import Condition, ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus
from growth.api.node_pool import NodePool
from growth.api.offering import HOSTNAME, INSTANCE_TYPE, OFFERING, POOL, Offering, left_of, with_more
from growth.api.pod import Pod
from growth.api.storage import CsiNode
from growth.api.taints import STARTING
from growth.api.tolerations import Taint
from growth.decide.fit.daemonset_pods import DaemonSets
from growth.decide.fit.simulated_cluster import SimulatedCluster

# What the control plane puts on a node that has yet to start, and takes away itself.
_STARTING_KEYS: Final = frozenset(
    {
        STARTING,
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
        "node.kubernetes.io/network-unavailable",
        "node.cloudprovider.kubernetes.io/uninitialized",
    }
)


class TemplateNode(msgspec.Struct, frozen=True):
    """A node to be bought, with what will be on it: ``stage.add_node(new.node, new.daemon_pods, ...)``."""

    node: Node
    daemon_pods: tuple[Pod, ...]
    csi_node: CsiNode | None = None

    def enter(self, simulated: SimulatedCluster) -> None:
        """Put it on a stage."""
        simulated.add_node(self.node, self.daemon_pods, csi_node=self.csi_node)


class TemplateNodes:
    """Makes such nodes for one cluster; what nodes of one kind have in common is worked out once."""

    def __init__(self, simulated: SimulatedCluster) -> None:
        self._daemons = DaemonSets.of(simulated)
        self._siblings = _drivers_by_type(simulated)

    def make(self, name: str, pool: NodePool, offering: Offering) -> TemplateNode:
        """The node of this name, from this offering in this pool."""
        node = node_from(name, pool, offering)
        labels = node.metadata.labels
        csi_node = self._siblings.get((OFFERING, labels[OFFERING])) or self._siblings.get(
            (INSTANCE_TYPE, labels[INSTANCE_TYPE])
        )
        return TemplateNode(node, self._daemons.pods_for(node), csi_node)


def node_from(name: str, pool: NodePool, offering: Offering) -> Node:
    """The bare node: nothing on it but what pool and offering say."""
    labels = {
        **pool.spec.labels,
        **offering.node_labels,
        HOSTNAME: name,
        POOL: pool.metadata.name,
        OFFERING: offering.id,
    }
    return Node(
        ObjectMeta(name=name, uid=f"planned/{name}", labels=labels),
        NodeSpec(taints=pool.spec.taints),
        NodeStatus(
            capacity=dict(offering.resources),
            allocatable=allocatable_from(offering, pool),
            conditions=(Condition("Ready", "True"),),
        ),
    )


def allocatable_from(offering: Offering, pool: NodePool) -> dict[str, str]:
    """What pods may use: the machine's resources less what the system keeps; the pool knows best how much that is."""
    more = offering.beyond.get(pool.spec.machine.image)
    resources = with_more(offering.resources, more) if more else offering.resources
    return left_of(resources, {**offering.reserved, **reserved_by(pool.spec.machine.reserved)})


def is_starting_taint(taint: Taint, pool: NodePool | None = None) -> bool:
    """Whether a taint goes away by itself once the node has started."""
    startup = pool.spec.startup_taints if pool is not None else ()
    return taint.key in _STARTING_KEYS or any(
        (taint.key, taint.effect) == (known.key, known.effect) for known in startup
    )


def settled(node: Node, pool: NodePool | None = None) -> Node:
    """A node that is still starting, as it will be when it has started."""
    taints = tuple(taint for taint in node.spec.taints if not is_starting_taint(taint, pool))
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=taints))


def _drivers_by_type(simulated: SimulatedCluster) -> Mapping[tuple[str, str], CsiNode]:
    """The drivers of one living node of each kind, the one whose name comes first."""
    found: dict[tuple[str, str], CsiNode] = {}
    for csi_node in sorted(simulated.all(CSI_NODES), key=lambda known: known.metadata.name):
        node = simulated.nodes.get(csi_node.metadata.name)
        if node is None or not csi_node.spec.drivers:
            continue
        for key in (OFFERING, INSTANCE_TYPE):
            value = node.metadata.labels.get(key)
            if value is not None:
                found.setdefault((key, value), csi_node)
    return found
