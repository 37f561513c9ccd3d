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
from growth.decide.consolidation.active_moves import moving_in
from growth.decide.consolidation.allowances import why_not_let
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.move import MOVE, into
from growth.decide.consolidation.move_search import anew
from growth.decide.consolidation.move_validation import why_undone, works
from growth.decide.elapsed import is_ahead
from growth.decide.fit.demand import demand_of
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.template_node import TemplateNodes
from growth.decide.scale_up.launches import owned_by
from growth.decide.solver.node_options import NodeOptions
from growth.decide.solver.planner import plan
from growth.decide.writes.node_patches import marked, unmarked
from growth.decide.writes.removal_requests import asked_to_go

# Where its pods would go is a whole plan; a move that is held back need not be planned anew with every event.
_LOOKS_FOR_ROOM_EVERY: Final = timedelta(seconds=5)


def carry(scene: ConsolidationContext, move: NodeMove) -> None:
    """The next step of one move."""
    if move.metadata.deletion_timestamp is not None:
        return
    if move.is_over:
        _forget(scene, move)
    elif move.status.phase == "Undoing":
        _undo(scene, move)
    elif why := why_undone(scene, move):
        scene.tell(move, "MoveUndone", why, is_bad=True)
        scene.said.append(into(move, "Undoing", scene.now, why))
    elif move.status.phase == "Buying":
        _buy(scene, move)
    else:
        _drain(scene, move)


# Buying


def _buy(scene: ConsolidationContext, move: NodeMove) -> None:
    awaited = [one for one in move.spec.buys if not _works(scene, one)]
    for one in awaited:
        if one.name not in scene.requests and one.name not in scene.snapshot.nodes:
            scene.said.append(_asked_for(scene, move, one))
    if awaited:
        return
    if not (why := why_not_let(scene, move) or _why_still_no_room(scene, move)):
        scene.emptied.update(move.spec.nodes)
        nodes = ", ".join(move.spec.nodes)
        scene.tell(move, "Draining", f"all that is bought works: {nodes} are emptied")
        scene.said.append(into(move, "Draining", scene.now, "its pods are asked to leave"))
    elif scene.is_over(scene.since(_complete_at(scene, move)) + scene.settings.consolidate.drain_within):
        # It waits a while for others that go, but what was bought costs money meanwhile.
        scene.tell(move, "MoveUndone", why, is_bad=True)
        scene.said.append(into(move, "Undoing", scene.now, why))


def _complete_at(scene: ConsolidationContext, move: NodeMove) -> datetime | None:
    """When the last of what was bought came."""
    came = [move.metadata, *(scene.snapshot.nodes[one.name].metadata for one in move.spec.buys)]
    return max((meta.creation_timestamp for meta in came if meta.creation_timestamp is not None), default=None)


def _works(scene: ConsolidationContext, bought: Purchase) -> bool:
    """Whether the machine is there, ready, and open to pods."""
    node = scene.snapshot.nodes.get(bought.name)
    return node is not None and works(scene, node)


def _asked_for(scene: ConsolidationContext, move: NodeMove, bought: Purchase) -> CreateObject:
    offering, pool = scene.shop.get(bought.offering), scene.pools[bought.pool]
    return CreateObject(
        subject=reference_by_name(NODE_REQUESTS, bought.name),
        why=f"{', '.join(move.spec.nodes)} go once it works ({move.spec.reason})",
        body={
            "metadata": {
                "ownerReferences": [owned_by(pool)],
                "annotations": {MOVE: move.metadata.name, TEMPLATE: mark_of(pool)},
            },
            "spec": {
                "pool": bought.pool,
                "targetOffering": bought.offering,
                "location": offering.location if offering is not None else "",
            },
        },
    )


def _why_still_no_room(scene: ConsolidationContext, move: NodeMove) -> str:
    """What was found last, for a moment."""
    looked_at, why = scene.crowded.pop(move.metadata.name, (scene.now, ""))
    if not why or not is_ahead(looked_at + _LOOKS_FOR_ROOM_EVERY, scene.now, _LOOKS_FOR_ROOM_EVERY):
        looked_at, why = scene.now, _why_no_room(scene, move)
    if why:
        scene.crowded[move.metadata.name] = looked_at, why
        scene.deadlines.append(looked_at + _LOOKS_FOR_ROOM_EVERY)
    return why


def _why_no_room(scene: ConsolidationContext, move: NodeMove) -> str:
    """Who on these nodes would find no room now, beside all that wait and all that leave others; empty if nobody: only
    then are they asked to leave."""
    stage = SimulatedCluster.of(scene.snapshot)
    pods = _who_leaves(scene, move.spec.nodes)
    # Also those that are not marked yet: their moves have just come so far.
    emptied = moving_in(scene.snapshot).going | scene.emptied
    others = _who_leaves(scene, emptied - set(move.spec.nodes))
    for name in scene.leaving | scene.snapshot.to_go.keys() | emptied | set(move.spec.nodes):
        if name in stage.nodes:
            stage.remove_node(name)
    waiting = demand_of(stage).pods
    nothing = NodeOptions((), (), (), TemplateNodes(stage))
    left_out = {one.pod.metadata.uid for one in plan(stage, [*waiting, *others, *pods], nothing).left_out}
    homeless = [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in pods if pod.metadata.uid in left_out]
    return f"there is no room any more for pod {homeless[0]}" if homeless else ""


def _who_leaves(scene: ConsolidationContext, names: Collection[str]) -> list[Pod]:
    """Who works on these nodes, as it will be made anew. Whoever leaves already has somebody in its place, or wants
    none."""
    nodes = [scene.snapshot.nodes[name] for name in sorted(names) if name in scene.snapshot.nodes]
    return [anew(pod) for node in nodes for pod in scene.workers(node) if pod.metadata.deletion_timestamp is None]


# Draining


def _drain(scene: ConsolidationContext, move: NodeMove) -> None:
    """All nodes take no new pods any more, so that nobody who leaves one of them goes to the next; then they are
    emptied, and go."""
    standing = scene.standing(move)
    if not standing:
        scene.tell(move, "Moved", f"all its nodes go: {move.spec.why}")
        scene.said.append(into(move, "Done", scene.now, "all its nodes are empty, and go"))
        return
    for node in standing:
        if not is_tainted(node):
            scene.said.append(marked(node, scene.now, move.spec.why))
    if not all(map(is_tainted, standing)):
        return
    workers = {node.metadata.name: scene.workers(node) for node in standing}
    left = sum(map(len, workers.values()))
    for node in standing:
        pods = workers[node.metadata.name]
        scene.said += [
            EvictPod(subject=reference_to(PODS, pod.metadata), why=move.spec.why)
            for pod in pods
            if pod.metadata.deletion_timestamp is None
        ]
        if not pods:
            scene.said.append(_removal_of(node, move.spec.why))
            pods_left = "1 pod has" if left == 1 else f"{left} pods have"
            others = f"; {pods_left} to leave its other nodes" if left else ""
            scene.tell(move, "Emptied", f"node {node.metadata.name} is empty, and goes{others}")


def _removal_of(node: Node, why: str) -> CreateObject:
    return asked_to_go(node.metadata.name, node.metadata.labels.get(POOL, ""), node.spec.provider_id, why)


# Undoing


def _undo(scene: ConsolidationContext, move: NodeMove) -> None:
    """Nodes that are still there take pods again; what was bought and is empty goes, unless nothing may go now: then it
    does later, as every empty node."""
    why = f"its move was undone: {move.status.message}"
    marks = [unmarked(node, why) for node in scene.standing(move) if has_traces(node)]
    scene.said += marks
    bought = [scene.snapshot.nodes[one.name] for one in move.spec.buys if _works(scene, one)]
    if not scene.cluster.is_halted:
        empty = [node for node in bought if node.metadata.name not in scene.leaving and not scene.workers(node)]
        scene.said += [_removal_of(node, why) for node in empty]
    if not marks:
        scene.said.append(into(move, "Undone", scene.now, move.status.message))


def _forget(scene: ConsolidationContext, move: NodeMove) -> None:
    """It was there to be looked at for long enough."""
    if scene.is_over(scene.since(move.status.phase_since) + scene.settings.consolidate.kept_for):
        scene.said.append(DeleteObject(subject=reference_to(NODE_MOVES, move.metadata), why="it is over"))
