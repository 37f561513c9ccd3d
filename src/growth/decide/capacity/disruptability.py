"""Why a node must stay: asked when it is to be marked, while it is marked, and before its machine is given back."""

from growth.api.machine import Power
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.pod_classification import forbids
from growth.decide.capacity.upcoming_nodes import has_places, is_live
from growth.decide.consolidation.active_moves import moving_in
from growth.decide.facts.pending_pods import waiting_in
from growth.decide.queue.retained_nodes import awaited_in
from growth.decide.scale_down.context import ScaleDownContext


def why_needed(context: ScaleDownContext, node: Node, pool: NodePool) -> str:
    """Why this node must not go; empty if nobody needs it."""
    if why := why_busy(context, node):
        return why
    if not pool.spec.scale_down.enabled:
        return f"scaleDown.enabled is false in pool {pool.metadata.name}"
    return why_awaited(context, node) or why_left_alone(context, node)


def why_busy(context: ScaleDownContext, node: Node) -> str:
    """Who works on it; empty if nobody does."""
    count = context.snapshot.work.get(node.metadata.name, 0)
    if not count:
        return ""
    return f"{count} pods work on it" if count > 1 else "a pod works on it"


def why_awaited(context: ScaleDownContext, node: Node) -> str:
    """Who is about to work on it; empty if nobody is."""
    name = node.metadata.name
    request = context.requests.get(name)
    if request is not None and request.status.phase != "Deprovisioning":
        if name in context.snapshot.closed or is_live(request):
            return "it is being prepared"
        provision = context.settings.provision
        is_awaited = any(uid in waiting_in(context.snapshot) for uid in request.planned_for)
        if is_awaited and has_places(request, context.snapshot, context.state, provision):
            return "pods that it was bought for are on their way"
    if name in moving_in(context.snapshot).coming:
        return "a move needs it"
    if name in awaited_in(context.snapshot):
        return "a workload that was put back before it came will be tried again"
    return "pods that wait are expected on it" if name in context.expected else ""


def why_left_alone(context: ScaleDownContext, node: Node) -> str:
    """The wish of a person that this node, or something on it, is not disturbed; empty if there is none."""
    if annotation := forbids(node):
        return f"it bears {annotation}"
    for pod in context.snapshot.pods_by_node.get(node.metadata.name, {}).values():
        if annotation := forbids(pod):
            return f"pod {pod.metadata.namespace}/{pod.metadata.name} on it bears {annotation}"
    return ""


def is_ours(context: ScaleDownContext, node: Node) -> bool:
    """Whether its provider lists the machine now: what nobody can prove to be ours is never touched."""
    found = context.machine(node.spec.provider_id, node.metadata.name)
    return found is not None and not found[0].problem


def is_off(context: ScaleDownContext, node: Node) -> bool:
    """Whether its provider says that the machine has no power, or is about to lose it."""
    found = context.machine(node.spec.provider_id, node.metadata.name)
    return found is not None and found[1].power in (Power.OFF, Power.STOPPING)


def was_ours(context: ScaleDownContext, node: Node) -> bool:
    """Whether its provider listed the machine when it last answered: enough to take back a mark of ours."""
    return context.machine(node.spec.provider_id, node.metadata.name) is not None
