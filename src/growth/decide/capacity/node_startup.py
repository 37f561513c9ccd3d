"""Is a node that registered the one that was planned?

Nodes that are not given back yet what they were: none of them is to be used before that.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.machine import MachineRequest
from growth.api.node import Node
from growth.api.node_memory import is_marked
from growth.api.node_pool import NodePool
from growth.api.offering import left_of
from growth.api.quantity import nano_value
from growth.api.settings.model import Settings
from growth.api.taints import STARTING
from growth.api.tolerations import BLOCKING_EFFECTS
from growth.decide.contract import CapabilityName, Replica
from growth.decide.fit.template_node import is_starting_taint

# The capability that gives nodes back what they were.
_MEMORY: Final = CapabilityName("memory")


class StartupStep(StrEnum):
    """How far a node is."""

    NOT_READY = "not ready"
    UNLABELLED = "labels are missing"
    INCOMPLETE = "planned resources are missing"
    STARTING = "others still prepare it"
    ARRIVED = "it is what was planned"


class NodeStartup(msgspec.Struct, frozen=True):
    """How far a node is, and what it lacks of what was planned."""

    step: StartupStep
    labels: dict[str, str] = {}
    """Those that it should have and has not."""
    resources: tuple[str, ...] = ()
    """Extended resources that were planned for and are not there yet."""


def arrival_of(node: Node, request: MachineRequest, pool: NodePool) -> NodeStartup:
    """How far the node of this request is."""
    labels = {name: value for name, value in request.node_labels.items() if node.metadata.labels.get(name) != value}
    if labels:
        return NodeStartup(StartupStep.UNLABELLED, labels)
    if not node.is_ready:
        return NodeStartup(StartupStep.NOT_READY)
    missing = missing_devices(node, request)
    if missing:
        return NodeStartup(StartupStep.INCOMPLETE, resources=missing)
    others = [
        taint
        for taint in node.spec.taints
        if taint.key != STARTING and taint.effect in BLOCKING_EFFECTS and is_starting_taint(taint, pool)
    ]
    return NodeStartup(StartupStep.STARTING) if others else NodeStartup(StartupStep.ARRIVED)


def missing_devices(node: Node, request: MachineRequest) -> tuple[str, ...]:
    """Extended resources (GPUs, say) that come with a plug-in of their own, after the node is ready."""
    if not any("/" in name for name in request.offering.resources):
        return ()  # as most have none, and this is asked of every node that comes
    return tuple(
        name
        for name, amount in sorted(request.allocatable.items())
        if "/" in name and nano_value(node.status.allocatable.get(name, "0")) < nano_value(amount)
    )


def shortfall(node: Node, promised: Mapping[str, str]) -> dict[str, str]:
    """By resource, how much less a node has for pods than was promised."""
    less = left_of(promised, node.status.allocatable)
    return {name: amount for name, amount in less.items() if nano_value(amount) > 0}


def awaits_memory(node: Node, replica: Replica, settings: Settings) -> bool:
    """Whether this node may yet turn out to be one that was here before; memory writes its marker either way.

    Not where memory is off, or not at work in this process: then nobody would write it.
    """
    return settings.memory.mode != "off" and _MEMORY in replica.enabled and not is_marked(node)
