"""Transactions have their effect, one after the other for each node, in the order of their versions.

| transaction | what is there | effect |
|---|---|---|
| deleted | no memory | it becomes the memory |
| deleted | a memory of this version or a later one | none: it was dealt with, or comes too late |
| deleted | a memory of the same life, or the node had been given back its memory | it becomes the memory |
| deleted | a memory of an earlier life that the node had not been given back | none: that memory is worth more |
| added | that node is gone, or bears the marker | none |
| added | that node without the marker | it is given back what is remembered, and gets the marker |

A transaction goes once its effect is seen, or there is none.
"""

from growth.api.action import Given
from growth.api.memory import MARKER, Memento, is_marked, with_removed
from growth.api.memory_objects import MEMORIES, Remembered, Transaction
from growth.api.node import Node
from growth.api.references import reference_by_name
from growth.decide.memory.policy import template_of
from growth.decide.memory.scene import Looking


def process(look: Looking, transaction: Transaction) -> None:
    """Let the first transaction of a node have its effect, or finish it."""
    if transaction.type == "deleted":
        _deleted(look, transaction)
    else:
        _added(look, transaction)


def _deleted(look: Looking, transaction: Transaction) -> None:
    memory, memento = look.page.memory, transaction.memento
    if not is_news(memory, memento):
        look.finish(transaction, f"node {look.page.name} is remembered as it should be")
        return
    earlier = memory.memento if memory is not None and is_heir(memento, memory) else None
    look.remember(
        with_removed(memento, (earlier,), memento.removed),
        f"node {look.page.name} left with {len(memento.labels)} labels",
        is_final=True,
    )


def is_news(memory: Remembered | None, memento: Memento) -> bool:
    """Whether this is to become the memory."""
    if memory is None:
        return True
    known = memory.memento
    if memento.uid == known.uid and not memory.is_final:
        return memento.version >= known.version  # the last look at a node may be all that is known of its end
    if memento.version <= known.version:
        return False
    return memento.uid == known.uid or memento.is_marked


def is_heir(memento: Memento, memory: Remembered) -> bool:
    """Whether a node had what this memory says, so that what it lacks was taken away from it."""
    known = memory.memento
    return memento.uid == known.uid or memento.labels.get(MARKER) == known.marker


def _added(look: Looking, transaction: Transaction) -> None:
    node, uid = look.page.node, transaction.memento.uid
    if node is None or node.metadata.uid != uid:
        # Only who has heard of everything up to there knows that it is gone and not just unheard of.
        if look.scene.snapshot.past.nodes_version >= transaction.version:
            look.finish(transaction, f"node {look.page.name} is gone again")
        return
    if is_marked(node):
        look.finish(transaction, f"node {look.page.name} has its marker")
        return
    memory, given = look.page.memory, _given(look.page.name, look.page.memory, look)
    if memory is not None and not memory.claimed_by:
        _restore(look, node, memory.memento, (given,), "it is what it was when it left")
        return
    _take_over(look, node, given)


def _take_over(look: Looking, node: Node, own: Given) -> None:
    """What its predecessor was, if it has one and nobody else took that."""
    name = look.follows = look.scene.predecessor_of(look.page.name)
    memory = look.scene.page(name).memory if name else None
    claimant = f"{node.metadata.name}/{node.metadata.uid}"
    if memory is None or memory.claimed_by not in ("", claimant):
        what = f"what node {name} was went to {memory.claimed_by}" if memory is not None else "nothing is remembered"
        _restore(look, node, None, (own,), what)
    elif not memory.claimed_by:
        look.claim(memory, claimant, f"node {node.metadata.name} takes the place of node {name}")
    else:
        given = (own, _given(name, memory, look))
        _restore(look, node, memory.memento, given, f"it takes the place of node {name}")


def _restore(look: Looking, node: Node, memento: Memento | None, given: tuple[Given, ...], why: str) -> None:
    body = look.policy.restored(node, memento, template_of(node, look.scene.snapshot))
    look.change_node(node, body, f"give it its memory back: {why}", given)


def _given(name: str, memory: Remembered | None, look: Looking) -> Given:
    """That nothing was remembered since: the stream of memories may lag behind that of transactions."""
    subject = reference_by_name(MEMORIES, name, look.scene.settings.namespace)
    return Given(subject, memory.metadata.resource_version if memory is not None else None)
