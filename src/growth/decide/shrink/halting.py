"""What is left of scale-down in an unhealthy cluster: nothing goes, and nobody is on the way out any more.

Marks are taken off, and with them the time that has passed: empty nodes that work are the room that pods of broken ones
need, and when all is well again the wait begins anew.
"""

from typing import Final

from growth.api.actions import Hold
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import NODES
from growth.api.offering import POOL
from growth.api.references import reference_to
from growth.decide.capacity.disruptability import was_ours
from growth.decide.shrink.removing import note_answer
from growth.decide.shrink.scene import Scene
from growth.decide.writes.node_patches import unmarked

_REASON: Final = "ClusterUnhealthy"


def halt(scene: Scene) -> None:
    """What there is to do, and to say."""
    for removal in scene.removals:
        note_answer(scene, removal)
        subject = reference_to(NODE_REMOVAL_REQUESTS, removal.metadata)
        scene.said.append(Hold(subject=subject, why="nothing is removed in an unhealthy cluster", reason=_REASON))
    for name, node in sorted(scene.snapshot.to_go.items()):
        pool = scene.pools.get(node.metadata.labels.get(POOL, ""))
        if pool is None or name in scene.leaving or not was_ours(scene, node):
            continue
        if pool.metadata.deletion_timestamp is not None:
            why = "nothing is removed in an unhealthy cluster"
            scene.said.append(Hold(subject=reference_to(NODES, node.metadata), why=why, reason=_REASON))
            continue
        why = "it stays: the cluster is unhealthy"
        scene.said.append(unmarked(node, why))
        scene.tell(node, "ScaleDownCancelled", why)
