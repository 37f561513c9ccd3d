"""What must hold of moves (NodeMove): the audit's own words for it, asked about each step and at the end."""

from collections.abc import Iterator
from typing import Final

from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_move import NodeMove
from growth.api.offering import POOL
from growth.api.taints import STARTING
from tests.trust.deeds import Deeds
from tests.trust.picture import Picture, Step

SCALE_DOWN: Final = "growth.dev/scale-down"
OVER: Final = ("Done", "Undone")
# What changed so few changes ago did so in the same moment: nobody had heard of it.
_STILL_TRAVELS: Final = 10


def drained_too_soon(step: Step, picture: Picture, _: Deeds) -> Iterator[str]:
    """Nodes are emptied only when all machines that replace them work: there, Ready, and open to pods."""
    move: NodeMove = step.now
    if step.is_end or move.status.phase != "Draining":
        return
    if step.before is not None and step.before.status.phase == "Draining":
        return
    for one in move.spec.buys:
        node = picture.nodes.get(one.name)
        if node is None or (not _works(node) and not _just_changed(node.metadata, step)):
            yield f"{', '.join(move.spec.nodes)} are to be emptied, and {one.name} does not work"


def emptied_without_a_move(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """Growth marks a node with work only if it is part of a move that is at it, its pool is deleted, or it goes because
    it was unready for long."""
    node: Node = step.now
    if step.is_end or step.before is None or not is_marked(node) or is_marked(step.before):
        return
    if not node.is_ready or node.metadata.name in picture.removals:
        return
    if not deeds.making("nodes", step.version) or is_pool_going(picture, node) or is_drained(step, picture, node):
        return
    # Somebody may be sent there in the same moment.
    names = [pod.metadata.name for pod in picture.work_on(node.metadata.name) if not _just_changed(pod.metadata, step)]
    if names:
        yield f"{node.metadata.name} was marked, and no move is at it, while {', '.join(names)} worked on it"


def too_many_at_once(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """Of no pool more nodes are part of moves than its ``disruption.maxUnavailable`` allows."""
    move: NodeMove = step.now
    if not step.is_new or not deeds.creations("nodemoves", step.meta.name, step.version):
        return
    going = {name for one in picture.moves.values() if one.status.phase not in OVER for name in one.spec.nodes}
    for pool in sorted({_pool_of(picture, name) for name in move.spec.nodes} - {""}):
        nodes = [name for name in picture.nodes if _pool_of(picture, name) == pool]
        # Thinking takes time: what it has said since then may not have been heard of.
        said = picture.specs_since(pool, step.version - _STILL_TRAVELS)
        allowed = max((_number_of(spec.disruption.max_unavailable, len(nodes)) for spec in said), default=0)
        if len(mine := sorted(going.intersection(nodes))) > allowed:
            yield f"{', '.join(mine)} of {pool} are part of moves, and {allowed} may be"


def moves_left(picture: Picture) -> Iterator[str]:
    """A move comes to its end, and whom it leaves behind bears no mark of it."""
    for name, move in sorted(picture.moves.items()):
        if move.status.phase not in OVER:
            yield f"the NodeMove {name} is still {move.status.phase}"
            continue
        for node in move.spec.nodes:
            if node in picture.nodes and is_marked(picture.nodes[node]) and picture.work_on(node):
                yield f"the move {name} is {move.status.phase}, and {node} bears its mark"


def is_drained(step: Step, picture: Picture, node: Node) -> bool:
    """Whether a move empties it at this step, or did in the same moment."""
    mine = [move for move in picture.moves.values() if node.metadata.name in move.spec.nodes]
    return any(
        one.status.phase == "Draining" or (one.status.phase != "Buying" and _just_changed(one.metadata, step))
        for one in mine
    )


def must_go(picture: Picture, node: str) -> bool:
    """Whether a move lets it go for another reason than money. Another one of its type is bought first if its pool
    wants so many, unless limits or stock do not let it; whether they do, only the decider's own tests ask."""
    return any(node in move.spec.nodes and move.spec.reason != "Cheaper" for move in picture.moves.values())


def is_pool_going(picture: Picture, node: Node) -> bool:
    """Whether its pool is deleted, or gone."""
    pool = picture.pools.get(node.metadata.labels.get(POOL, ""))
    return pool is None or pool.metadata.deletion_timestamp is not None


def is_marked(node: Node) -> bool:
    """Whether a node bears the taint of those that nobody needs."""
    return any(taint.key == SCALE_DOWN for taint in node.spec.taints)


def _works(node: Node) -> bool:
    return node.is_ready and not any(taint.key == STARTING for taint in node.spec.taints)


def _just_changed(meta: ObjectMeta, step: Step) -> bool:
    return step.version - meta.resource_version <= _STILL_TRAVELS


def _pool_of(picture: Picture, name: str) -> str:
    node = picture.nodes.get(name)
    return node.metadata.labels.get(POOL, "") if node is not None else ""


def _number_of(stated: int | str, nodes: int) -> int:
    """A number, or a share of so many nodes, rounded up."""
    text = str(stated)
    return -(-nodes * int(text[:-1]) // 100) if text.endswith("%") else int(text)
