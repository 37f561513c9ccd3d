"""Pools that are deleted: their nodes are emptied, in order, and go (``Drain``), or stay as they are (``Orphan``).

All nodes are marked at once, so that nobody who is asked to leave one of them moves to the next. Then pods are asked to
leave: through the eviction API, which minds disruption budgets, and from so many nodes at a time as the pool allows.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from growth.api.actions import EvictPod, held_and_told
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import NODES, PODS
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.pod import Pod
from growth.api.pod_classification import forbids, is_work
from growth.api.references import reference_to
from growth.api.taints import LEAVES, has_traces, scale_down_at
from growth.api.tolerations import untolerated
from growth.decide.capacity.disruptability import is_ours
from growth.decide.policy.pool_terms import max_unavailable
from growth.decide.scale_down.context import ScaleDownContext
from growth.decide.scale_down.empty_nodes import removal_of
from growth.decide.writes.node_patches import marked, unmarked

# Pods that tolerate the mark may move back in: they are asked to leave no more often than this.
_COMES_BACK: Final = timedelta(minutes=1)


def drain(scene: ScaleDownContext, pool: NodePool, nodes: Iterable[Node]) -> None:
    """What becomes of the nodes of a pool that is being deleted."""
    ours = sorted((node for node in nodes if is_ours(scene, node)), key=lambda one: one.metadata.name)
    standing = [node for node in ours if node.metadata.name not in scene.leaving]
    if pool.spec.deletion_policy == "Orphan":
        scene.said += [
            unmarked(node, "its pool is deleted and leaves it alone") for node in standing if has_traces(node)
        ]
        return
    name, busy = pool.metadata.name, list[Node]()
    for node in standing:
        if annotation := forbids(node):
            _leave_alone(scene, node, f"pool {name} is deleted, but the node bears {annotation}")
        elif scale_down_at(node) is None:
            scene.said.append(marked(node, scene.now, f"pool {name} is being deleted"))
        elif scene.snapshot.work.get(node.metadata.name):
            busy.append(node)
        else:
            scene.said.append(removal_of(scene, node, name, f"pool {name} is being deleted"))
    allowed = max_unavailable(pool, len(ours))
    if busy and not allowed:
        why = "it is being deleted, and disruption.maxUnavailable allows no node to be emptied"
        subject = reference_to(NODE_POOLS, pool.metadata)
        scene.said += held_and_told(subject, reason="DoNotDisrupt", why=why, action="Draining")
    for node in sorted(busy, key=lambda one: _ease(scene, one))[:allowed]:
        _evict(scene, node, name)


def _ease(scene: ScaleDownContext, node: Node) -> tuple[bool, int, str]:
    """Those that are being emptied go on, then those with the fewest pods."""
    is_begun = any(pod.metadata.deletion_timestamp is not None for pod in _workers(scene, node))
    return not is_begun, scene.snapshot.work.get(node.metadata.name, 0), node.metadata.name


def _evict(scene: ScaleDownContext, node: Node, pool: str) -> None:
    is_too_soon = _is_too_soon(scene, node)
    for pod in _workers(scene, node):
        if annotation := forbids(pod):
            shown = f"pod {pod.metadata.namespace}/{pod.metadata.name} on it bears {annotation}"
            _leave_alone(scene, node, f"pool {pool} is deleted, but {shown}")
        elif pod.metadata.deletion_timestamp is not None:
            continue
        elif _may_come_back(pod) and is_too_soon:
            shown = f"pod {pod.metadata.namespace}/{pod.metadata.name} tolerates {LEAVES} and may come back to it"
            _leave_alone(scene, node, f"pool {pool} is deleted, but {shown}")
        else:
            if _may_come_back(pod):
                scene.evicted[node.metadata.uid] = scene.now
            scene.said.append(EvictPod(subject=reference_to(PODS, pod.metadata), why=f"pool {pool} is being deleted"))


def _may_come_back(pod: Pod) -> bool:
    """Whether the mark does not keep it off the node: its controller may put it there again at once, and for ever."""
    return untolerated((LEAVES,), pod.spec.tolerations) is None


def _is_too_soon(scene: ScaleDownContext, node: Node) -> bool:
    """Whether those who may come back were asked to leave just now."""
    uid = node.metadata.uid
    asked_at = scene.memory.evicted.get(uid)
    if asked_at is None or not asked_at <= scene.now < asked_at + _COMES_BACK:
        return False
    scene.evicted[uid] = asked_at
    scene.remind(asked_at + _COMES_BACK)
    return True


def _workers(scene: ScaleDownContext, node: Node) -> list[Pod]:
    pods = filter(is_work, scene.snapshot.pods_by_node.get(node.metadata.name, {}).values())
    return sorted(pods, key=lambda one: (one.metadata.namespace, one.metadata.name))


def _leave_alone(scene: ScaleDownContext, node: Node, why: str) -> None:
    subject = reference_to(NODES, node.metadata)
    scene.said += held_and_told(subject, reason="DoNotDisrupt", why=why, action="Draining")
