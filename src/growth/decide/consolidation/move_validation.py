"""Why a move cannot go on: what it was decided on does not hold any more."""

from datetime import timedelta
from typing import Final

from growth.api.annotations import DRAIN
from growth.api.node import Node
from growth.api.node_move import NodeMove
from growth.api.pod import Pod
from growth.api.pod_classification import forbids
from growth.api.taints import scale_down_at
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.pod_movability import is_safe
from growth.decide.fit.demand import why_not

PLACE_WITHIN: Final = timedelta(seconds=10)
"""A pod that a scheduler refused, and that has no place after so long, wants one of the nodes that go."""


def why_undone(context: ConsolidationContext, move: NodeMove) -> str:
    """What has failed, as a sentence; empty if it may go on."""
    if context.cluster.is_halted:
        return f"the cluster is unhealthy: {context.cluster.health.alarm}"
    return (
        _why_not_bought(context, move)
        or _what_broke(context, move)
        or _why_left_alone(context, move)
        or _who_wants_a_place(context, move)
        or _who_does_not_leave(context, move)
    )


def _why_not_bought(context: ConsolidationContext, move: NodeMove) -> str:
    if move.status.phase != "Buying":
        return ""
    for one in move.spec.buys:
        request = context.requests.get(one.name)
        if request is not None and request.status.phase in ("Unmet", "Deprovisioning"):
            return f"{one.offering} could not be had for {one.name}"
        if request is None and context.catalog.get(one.offering) is None:
            return f"nobody sells {one.offering} any more"
        if one.pool not in context.pools or context.pools[one.pool].metadata.deletion_timestamp is not None:
            return f"pool {one.pool} is gone"
    return ""


def _what_broke(context: ConsolidationContext, move: NodeMove) -> str:
    """Who is asked to leave goes to what was bought: if that does not work, nobody is asked."""
    if move.status.phase != "Draining" or not context.standing(move):
        return ""
    for one in move.spec.buys:
        node = context.snapshot.nodes.get(one.name)
        if node is None or not works(context, node):
            return f"{one.name}, which was bought for it, does not work"
    return ""


def works(context: ConsolidationContext, node: Node) -> bool:
    """Whether a node is ready, and open to pods."""
    return node.is_ready and node.metadata.name not in context.snapshot.closed


def _why_left_alone(context: ConsolidationContext, move: NodeMove) -> str:
    """Somebody wants that a node, or a pod on it, is not disturbed; or whoever wanted it to go took that back."""
    for node in context.standing(move):
        if move.spec.reason == "Requested" and DRAIN not in node.metadata.annotations:
            return f"nobody wants node {node.metadata.name} to go any more"
        if annotation := forbids(node):
            return f"node {node.metadata.name} bears {annotation}"
        for pod in context.workers(node):
            if pod.metadata.deletion_timestamp is not None:
                continue
            if annotation := forbids(pod):
                return f"pod {_shown(pod)} on node {node.metadata.name} bears {annotation}"
            if pod.metadata.controller is None and not is_safe(pod):
                return f"nobody would make pod {_shown(pod)} on node {node.metadata.name} anew"
    return ""


def _who_wants_a_place(context: ConsolidationContext, move: NodeMove) -> str:
    """Somebody who came after the move was decided finds no place: it was not reckoned with, or is one of those that
    were asked to leave."""
    decided_at = move.metadata.creation_timestamp
    for pod in context.snapshot.refused.values():
        born, refused = pod.metadata.creation_timestamp, pod.condition("PodScheduled")
        if decided_at is None or born is None or born < decided_at or why_not(pod) is not None:
            continue
        since = refused.last_transition_time if refused is not None else None
        if context.is_over((since or born) + PLACE_WITHIN):
            return f"pod {_shown(pod)} finds no place"
    return ""


def _who_does_not_leave(context: ConsolidationContext, move: NodeMove) -> str:
    """Its budget does not let it go, or it takes too long to end."""
    if move.status.phase != "Draining":
        return ""
    for node in context.standing(move):
        asked_at, pods = scale_down_at(node), context.workers(node)
        if asked_at is None or not pods:
            continue
        patience = max((pod.spec.termination_grace_period_seconds for pod in pods), default=0)
        # Whoever ends as slowly as it said is not late.
        if context.is_over(
            context.since(asked_at) + context.settings.consolidate.drain_within + timedelta(seconds=patience)
        ):
            return f"pod {_shown(pods[0])} does not leave node {node.metadata.name}"
    return ""


def _shown(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
