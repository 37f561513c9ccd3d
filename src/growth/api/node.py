"""Nodes and the Leases by which they say that they live."""

import msgspec

from growth.api.meta import Condition, FrozenValue, ObjectMeta
from growth.api.tolerations import Taint


class NodeSpec(FrozenValue, frozen=True):
    """Which machine this is and whether the scheduler may use it."""

    provider_id: str = msgspec.field(name="providerID", default="")
    unschedulable: bool = False
    taints: tuple[Taint, ...] = ()


class NodeSystemInfo(FrozenValue, frozen=True):
    """What tells one boot of a machine from the next."""

    boot_id: str = msgspec.field(name="bootID", default="")


class AttachedVolume(FrozenValue, frozen=True):
    """A volume that the control plane believes to hang on this node."""

    name: str


class NodeStatus(FrozenValue, frozen=True):
    """What the node offers and how it is."""

    capacity: dict[str, str] = {}
    allocatable: dict[str, str] = {}
    conditions: tuple[Condition, ...] = ()
    node_info: NodeSystemInfo = NodeSystemInfo()
    volumes_in_use: tuple[str, ...] = ()
    volumes_attached: tuple[AttachedVolume, ...] = ()
    declared_features: tuple[str, ...] = ()


class Node(FrozenValue, frozen=True):
    """One node."""

    metadata: ObjectMeta
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()

    @property
    def is_ready(self) -> bool:
        """Whether the kubelet says, and the control plane still believes, that it can run pods."""
        for condition in self.status.conditions:  # asked of every node in every pass, and any() takes twice as long
            if condition.type == "Ready":
                return condition.status == "True"
        return False
