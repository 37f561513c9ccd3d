"""What a removal means: which machine, which Node object, and whether the machine was ours at all."""

from growth.api.machine import Machine
from growth.api.node import Node
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.offering import POOL
from growth.api.provider_state import Cloud
from growth.api.taints import scale_down_at
from growth.decide.shrink.scene import Scene


def machine_of(scene: Scene, removal: NodeRemovalRequest) -> tuple[Cloud, Machine] | None:
    """The removal's machine as its provider lists it; whoever names none means the one behind the node."""
    node = scene.snapshot.nodes.get(removal.node_name)
    provider_id = removal.spec.provider_id or (node.spec.provider_id if node is not None else "")
    return scene.machine(provider_id, removal.node_name)


def node_of(scene: Scene, removal: NodeRemovalRequest) -> Node | None:
    """The removal's node; one of its name on another machine is not."""
    node = scene.snapshot.nodes.get(removal.node_name)
    if node is None:
        return None
    theirs, ours = node.spec.provider_id, removal.spec.provider_id
    return None if theirs and ours and theirs != ours else node


def was_removed_by_us(removal: NodeRemovalRequest, node: Node) -> bool:
    """Whether the machine that is gone was one of ours: we asked for its end, or marked its node to do so, or gave up a
    machine of this id that never became ready. Anybody may write a removal for any node, and that proves nothing."""
    if POOL not in node.metadata.labels:
        return False
    is_given_up = not node.is_ready and bool(removal.spec.provider_id)
    return removal.status.removal_attempt > 0 or scale_down_at(node) is not None or is_given_up
