"""The event about a node that is unready while its machine is not off: what is known, and each way out with its case.

Two capabilities see such a node: failover as soon as the node is silent, shrink once it is unready for long. Either may
run without the other, or in another process. Both record this one event, so that it stays one: same object, reason,
action and note.
"""

from typing import Final

from growth.api.actions import RecordEvent
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.references import reference_to

UNREACHABLE_REASON: Final = "Unreachable"
"""The event's reason, and that of the holds beside it."""


def unreachable_event(node: Node, pool: NodePool | None) -> RecordEvent:
    """The same for the same node and pool, whichever capability sees it."""
    name = node.metadata.name
    ways = [
        "It is unready and its machine is not off: the network or its system is broken, and its pods may be alive.",
        "Repair it, and nothing is lost.",
        f"If its pods must run elsewhere now, or its disks must be kept: growth node out-of-service {name} --fence",
        "(for all nodes: failover.fence) powers the machine off and then moves pods and volumes.",
        *_removal(pool),
    ]
    return RecordEvent(
        subject=reference_to(NODES, node.metadata),
        why=" ".join(ways),
        type="Warning",
        reason=UNREACHABLE_REASON,
        action="HealthChecking",
    )


def _removal(pool: NodePool | None) -> list[str]:
    if pool is None or not pool.spec.scale_down.enabled:
        return []
    name, stated = pool.metadata.name, pool.spec.scale_down
    if stated.remove_unreachable:
        return [
            f"Pool {name} deletes the machine, with its disks, after {stated.unready_after} (scaleDown.unreadyAfter)."
        ]
    return [
        f"If any such machine may be deleted with its disks: scaleDown.removeUnreachable in pool {name} does so after",
        f"{stated.unready_after} (scaleDown.unreadyAfter).",
    ]
