"""Pools that are deleted: their nodes are emptied, in order, and go (``Drain``), or stay as they are (``Orphan``).

All nodes are marked at once, so that nobody who is asked to leave one of them moves to the next. Then pods are asked to
leave: through the eviction API, which minds disruption budgets, and from so many nodes at a time as the pool allows.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from growth.api.actions import EvictPod, held_and_reported
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


def drain(context: ScaleDownContext, pool: NodePool, nodes: Iterable[Node]) -> None:
    """What becomes of the nodes of a pool that is being deleted."""
    ours = sorted((node for node in nodes if is_ours(context.use, node)), key=lambda one: one.metadata.name)
    standing = [node for node in ours if node.metadata.name not in context.terminating]
    if pool.spec.deletion_policy == "Orphan":
        context.said += [
            unmarked(node, "its pool is deleted and leaves it alone") for node in standing if has_traces(node)
        ]
        return
    name, busy = pool.metadata.name, list[Node]()
    for node in standing:
        if annotation := forbids(node):
            _leave_alone(context, node, f"pool {name} is deleted, but the node bears {annotation}")
        elif scale_down_at(node) is None:
            context.said.append(marked(node, context.now, f"pool {name} is being deleted"))
        elif context.snapshot.work.get(node.metadata.name):
            busy.append(node)
        else:
            context.said.append(removal_of(context, node, name, f"pool {name} is being deleted"))
    allowed = max_unavailable(pool, len(ours))
    if busy and not allowed:
        why = "it is being deleted, and disruption.maxUnavailable allows no node to be emptied"
        subject = reference_to(NODE_POOLS, pool.metadata)
        context.said += held_and_reported(subject, reason="DoNotDisrupt", why=why, action="Draining")
    for node in sorted(busy, key=lambda one: _ease(context, one))[:allowed]:
        _evict(context, node, name)


def _ease(context: ScaleDownContext, node: Node) -> tuple[bool, int, str]:
    """Those that are being emptied go on, then those with the fewest pods."""
    is_begun = any(pod.metadata.deletion_timestamp is not None for pod in _workers(context, node))
    return not is_begun, context.snapshot.work.get(node.metadata.name, 0), node.metadata.name


def _evict(context: ScaleDownContext, node: Node, pool: str) -> None:
    is_too_soon = _is_too_soon(context, node)
    for pod in _workers(context, node):
        if annotation := forbids(pod):
            shown = f"pod {pod.metadata.namespace}/{pod.metadata.name} on it bears {annotation}"
            _leave_alone(context, node, f"pool {pool} is deleted, but {shown}")
        elif pod.metadata.deletion_timestamp is not None:
            continue
        elif _may_come_back(pod) and is_too_soon:
            shown = f"pod {pod.metadata.namespace}/{pod.metadata.name} tolerates {LEAVES} and may come back to it"
            _leave_alone(context, node, f"pool {pool} is deleted, but {shown}")
        else:
            if _may_come_back(pod):
                context.evicted[node.metadata.uid] = context.now
            context.said.append(EvictPod(subject=reference_to(PODS, pod.metadata), why=f"pool {pool} is being deleted"))


def _may_come_back(pod: Pod) -> bool:
    """Whether the mark does not keep it off the node: its controller may put it there again at once, and for ever."""
    return untolerated((LEAVES,), pod.spec.tolerations) is None


def _is_too_soon(context: ScaleDownContext, node: Node) -> bool:
    """Whether those who may come back were asked to leave just now."""
    uid = node.metadata.uid
    asked_at = context.carry.evicted.get(uid)
    if asked_at is None or not asked_at <= context.now < asked_at + _COMES_BACK:
        return False
    context.evicted[uid] = asked_at
    context.remind(asked_at + _COMES_BACK)
    return True


def _workers(context: ScaleDownContext, node: Node) -> list[Pod]:
    pods = filter(is_work, context.snapshot.pods_by_node.get(node.metadata.name, {}).values())
    return sorted(pods, key=lambda one: (one.metadata.namespace, one.metadata.name))


def _leave_alone(context: ScaleDownContext, node: Node, why: str) -> None:
    subject = reference_to(NODES, node.metadata)
    context.said += held_and_reported(subject, reason="DoNotDisrupt", why=why, action="Draining")
