"""Carries a move out: buy, wait until that works, then empty the nodes and let them go. Docs: docs/optimising.md.

    Buying ──all machines work──► Draining ──all nodes are empty──► Done
       └────────── a premise fails ──┴──► Undoing ──► Undone

Everything follows from the move and from what is seen, so whoever starts anew goes on.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

from growth.api.actions import CreateObject, DeleteObject, EvictPod
from growth.api.annotations import TEMPLATE, mark_of
from growth.api.growth_kinds import NODE_MOVES, NODE_REQUESTS
from growth.api.kinds import PODS
from growth.api.node import Node
from growth.api.node_move import NodeMove, Purchase
from growth.api.offering import POOL
from growth.api.pod import Pod
from growth.api.references import reference_by_name, reference_to
from growth.api.taints import has_traces, is_tainted
from growth.decide.consolidation.allowances import why_not_let
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.move import MOVE, into
from growth.decide.consolidation.move_search import anew
from growth.decide.consolidation.move_validation import why_undone, works
from growth.decide.elapsed import is_ahead
from growth.decide.fit.demand import demand_of
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.template_node import TemplateNodes
from growth.decide.solver.node_options import NodeOptions
from growth.decide.solver.planner import plan
from growth.decide.writes.node_patches import marked, unmarked
from growth.decide.writes.node_requests import owned_by
from growth.decide.writes.removal_requests import asked_to_go

# Where its pods would go is a whole plan; a move that is held back need not be planned anew with every event.
_LOOKS_FOR_ROOM_EVERY: Final = timedelta(seconds=5)


def advance(context: ConsolidationContext, move: NodeMove) -> None:
    """Take one move one step further."""
    if move.metadata.deletion_timestamp is not None:
        return
    if move.is_over:
        _forget(context, move)
    elif move.status.phase == "Undoing":
        _undo(context, move)
    elif why := why_undone(context, move):
        context.tell(move, "MoveUndone", why, is_bad=True)
        context.said.append(into(move, "Undoing", context.now, why))
    elif move.status.phase == "Buying":
        _buy(context, move)
    else:
        _drain(context, move)


# Buying


def _buy(context: ConsolidationContext, move: NodeMove) -> None:
    awaited = [one for one in move.spec.buys if not _works(context, one)]
    for one in awaited:
        if one.name not in context.requests and one.name not in context.snapshot.nodes:
            context.said.append(_asked_for(context, move, one))
    if awaited:
        return
    if not (why := why_not_let(context, move) or _why_still_no_room(context, move)):
        context.emptied.update(move.spec.nodes)
        nodes = ", ".join(move.spec.nodes)
        context.tell(move, "Draining", f"all that is bought works: {nodes} are emptied")
        context.said.append(into(move, "Draining", context.now, "its pods are asked to leave"))
    elif context.is_over(context.since(_complete_at(context, move)) + context.settings.consolidate.drain_within):
        # It waits a while for others that go, but what was bought costs money meanwhile.
        context.tell(move, "MoveUndone", why, is_bad=True)
        context.said.append(into(move, "Undoing", context.now, why))


def _complete_at(context: ConsolidationContext, move: NodeMove) -> datetime | None:
    """When the last of what was bought came."""
    came = [move.metadata, *(context.snapshot.nodes[one.name].metadata for one in move.spec.buys)]
    return max((meta.creation_timestamp for meta in came if meta.creation_timestamp is not None), default=None)


def _works(context: ConsolidationContext, launched: Purchase) -> bool:
    """Whether the machine is there, ready, and open to pods."""
    node = context.snapshot.nodes.get(launched.name)
    return node is not None and works(context, node)


def _asked_for(context: ConsolidationContext, move: NodeMove, launched: Purchase) -> CreateObject:
    offering, pool = context.catalog.get(launched.offering), context.pools[launched.pool]
    return CreateObject(
        subject=reference_by_name(NODE_REQUESTS, launched.name),
        why=f"{', '.join(move.spec.nodes)} go once it works ({move.spec.reason})",
        body={
            "metadata": {
                "ownerReferences": [owned_by(pool)],
                "annotations": {MOVE: move.metadata.name, TEMPLATE: mark_of(pool)},
            },
            "spec": {
                "pool": launched.pool,
                "targetOffering": launched.offering,
                "location": offering.location if offering is not None else "",
            },
        },
    )


def _why_still_no_room(context: ConsolidationContext, move: NodeMove) -> str:
    """What was found last, for a moment."""
    looked_at, why = context.crowded.pop(move.metadata.name, (context.now, ""))
    if not why or not is_ahead(looked_at + _LOOKS_FOR_ROOM_EVERY, context.now, _LOOKS_FOR_ROOM_EVERY):
        looked_at, why = context.now, _why_no_room(context, move)
    if why:
        context.crowded[move.metadata.name] = looked_at, why
        context.deadlines.append(looked_at + _LOOKS_FOR_ROOM_EVERY)
    return why


def _why_no_room(context: ConsolidationContext, move: NodeMove) -> str:
    """Who on these nodes would find no room now, beside all that wait and all that leave others; empty if nobody: only
    then are they asked to leave."""
    simulated = SimulatedCluster.of(context.snapshot)
    pods = _who_leaves(context, move.spec.nodes)
    # Also those that are not marked yet: their moves have just come so far.
    emptied = context.snapshot.active_moves.terminating | context.emptied
    others = _who_leaves(context, emptied - set(move.spec.nodes))
    for name in context.terminating | context.snapshot.to_go.keys() | emptied | set(move.spec.nodes):
        if name in simulated.nodes:
            simulated.remove_node(name)
    waiting = demand_of(simulated).pods
    nothing = NodeOptions((), (), (), TemplateNodes(simulated))
    left_out = {one.pod.metadata.uid for one in plan(simulated, [*waiting, *others, *pods], nothing).left_out}
    unplaced = [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods if pod.metadata.uid in left_out]
    return f"there is no room any more for pod {unplaced[0]}" if unplaced else ""


def _who_leaves(context: ConsolidationContext, names: Collection[str]) -> list[Pod]:
    """Who works on these nodes, as it will be made anew. Whoever leaves already has somebody in its place, or wants
    none."""
    nodes = [context.snapshot.nodes[name] for name in sorted(names) if name in context.snapshot.nodes]
    return [anew(pod) for node in nodes for pod in context.workers(node) if pod.metadata.deletion_timestamp is None]


# Draining


def _drain(context: ConsolidationContext, move: NodeMove) -> None:
    """All nodes take no new pods any more, so that nobody who leaves one of them goes to the next; then they are
    emptied, and go."""
    standing = context.standing(move)
    if not standing:
        context.tell(move, "Moved", f"all its nodes go: {move.spec.why}")
        context.said.append(into(move, "Done", context.now, "all its nodes are empty, and go"))
        return
    for node in standing:
        if not is_tainted(node):
            context.said.append(marked(node, context.now, move.spec.why))
    if not all(map(is_tainted, standing)):
        return
    workers = {node.metadata.name: context.workers(node) for node in standing}
    left = sum(map(len, workers.values()))
    for node in standing:
        pods = workers[node.metadata.name]
        context.said += [
            EvictPod(subject=reference_to(PODS, pod.metadata), why=move.spec.why)
            for pod in pods
            if pod.metadata.deletion_timestamp is None
        ]
        if not pods:
            context.said.append(_removal_of(node, move.spec.why))
            pods_left = "1 pod has" if left == 1 else f"{left} pods have"
            others = f"; {pods_left} to leave its other nodes" if left else ""
            context.tell(move, "Emptied", f"node {node.metadata.name} is empty, and goes{others}")


def _removal_of(node: Node, why: str) -> CreateObject:
    return asked_to_go(node.metadata.name, node.metadata.labels.get(POOL, ""), node.spec.provider_id, why)


# Undoing


def _undo(context: ConsolidationContext, move: NodeMove) -> None:
    """Nodes that are still there take pods again; what was bought and is empty goes, unless nothing may go now: then it
    does later, as every empty node."""
    why = f"its move was undone: {move.status.message}"
    marks = [unmarked(node, why) for node in context.standing(move) if has_traces(node)]
    context.said += marks
    launched = [context.snapshot.nodes[one.name] for one in move.spec.buys if _works(context, one)]
    if not context.cluster.is_halted:
        empty = [
            node for node in launched if node.metadata.name not in context.terminating and not context.workers(node)
        ]
        context.said += [_removal_of(node, why) for node in empty]
    if not marks:
        context.said.append(into(move, "Undone", context.now, move.status.message))


def _forget(context: ConsolidationContext, move: NodeMove) -> None:
    """It was there to be looked at for long enough."""
    if context.is_over(context.since(move.status.phase_since) + context.settings.consolidate.kept_for):
        context.said.append(DeleteObject(subject=reference_to(NODE_MOVES, move.metadata), why="it is over"))
