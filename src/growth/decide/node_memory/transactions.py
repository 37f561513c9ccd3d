"""Transactions have their effect, one after the other for each node, in the order of their versions.

| transaction | what is there | effect |
|---|---|---|
| deleted | no memory | it becomes the memory, unless it had yet to be given what its predecessor was |
| deleted | a memory of this version or a later one | none: it was dealt with, or comes too late |
| deleted | the same, of a node that had not been given anything yet | it becomes the memory: that one lacked it |
| deleted | a memory of the same life, or the node had been given back its memory | it becomes the memory |
| deleted | a memory of an earlier life that the node had not been given back | none: that memory is worth more |
| added | that node is gone, or bears the marker | none |
| added | that node without the marker | it is given back what is remembered, and gets the marker |
| added | the same, and another one took over what is remembered | it gets the marker, and an Event tells why |
| added | the same, and nothing is remembered of it | it takes over what its predecessor was (``succession``) |

A transaction goes once its effect is seen, or there is none.
"""

from growth.api.node import Node
from growth.api.node_memory import MARKER, NodeContents, NodeRecord, Transaction, is_marked, is_too_large, with_removed
from growth.decide.node_memory.claims import RecordClaim, claim_on, claimed_for, lift, must_wait
from growth.decide.node_memory.context import PagePass
from growth.decide.node_memory.restore_write import restore, unchanged
from growth.decide.node_memory.succession import awaits_another, take_over
from growth.decide.node_memory.transaction_log import LAG


def process(page_pass: PagePass, transaction: Transaction) -> None:
    """Let the first transaction of a node have its effect, or finish it."""
    if transaction.type == "deleted":
        _deleted(page_pass, transaction)
    else:
        _added(page_pass, transaction)


def _deleted(page_pass: PagePass, transaction: Transaction) -> None:
    record, memento = page_pass.page.record, transaction.memento
    if not is_news(record, memento):
        page_pass.finish(transaction, f"node {page_pass.page.name} is remembered as it should be")
        return
    if record is None and awaits_another(page_pass, memento):
        page_pass.finish(transaction, f"node {page_pass.page.name} had not been given what its predecessor was")
        return
    if must_wait(page_pass, memento.uid):
        return
    memento = with_removed(memento, (earlier(page_pass, memento),), memento.removed)
    if is_too_large(memento):
        page_pass.warn_of_size(memento)
        page_pass.finish(transaction, f"node {page_pass.page.name} left with more than a ConfigMap holds")
        return
    page_pass.remember(memento, f"node {page_pass.page.name} left with {len(memento.labels)} labels", is_final=True)


def is_news(record: NodeRecord | None, memento: NodeContents) -> bool:
    """Whether this is to become the memory."""
    if record is None:
        return True
    known = record.memento
    if memento.uid == known.uid and not record.is_final:
        return memento.version >= known.version  # the last look at a node may be all that is known of its end
    if memento.version <= known.version:
        # Of a node that had not been given anything yet it is remembered what it was only if nothing else is known.
        return record.is_final and memento.uid != known.uid and not known.is_marked
    return memento.uid == known.uid or memento.is_marked


def is_heir(memento: NodeContents, record: NodeRecord) -> bool:
    """Whether a node had what this memory says, so that what it lacks was taken away from it."""
    known = record.memento
    return memento.uid == known.uid or memento.labels.get(MARKER) == known.marker


def earlier(page_pass: PagePass, memento: NodeContents) -> NodeContents | None:
    """What this node was before, in this life, or was given at the beginning of it, also by its predecessor."""
    for name in (page_pass.page.name, page_pass.context.predecessor_of(page_pass.page.name)):
        record = page_pass.context.page(name).record
        if record is not None and is_heir(memento, record):
            return record.memento
    return None


def _added(page_pass: PagePass, transaction: Transaction) -> None:
    node, uid = page_pass.page.node, transaction.memento.uid
    if node is None or node.metadata.uid != uid:
        # A replica that has heard of everything up to there knows that the node is gone and not just unheard of. Where
        # no node changes any more, no replica has: then after a while. Until then a replica whose own stream of nodes
        # is silent loses the shard's Lease, which is not renewed meanwhile, to one that sees the node.
        until_others_took_over = page_pass.context.lease_duration + 2 * LAG
        nodes_version = page_pass.context.snapshot.past.nodes_version
        if nodes_version >= transaction.version or page_pass.has_been("unheard", until_others_took_over):
            page_pass.finish(transaction, f"node {page_pass.page.name} is gone again")
        else:
            page_pass.unheard = transaction.version
        return
    if is_marked(node):
        page_pass.finish(transaction, f"node {page_pass.page.name} has its marker")
        return
    record = page_pass.page.record
    if record is None:
        take_over(page_pass, node)
    elif record.claimed_by:
        _disinherit(page_pass, node, record)
    else:
        given = (unchanged(page_pass, page_pass.page.name, record),)
        restore(page_pass, node, record.memento, given, "it is what it was when it left")


def _disinherit(page_pass: PagePass, node: Node, record: NodeRecord) -> None:
    """A predecessor comes back: what it was is another one's now."""
    standing = claim_on(page_pass, record)
    if standing is RecordClaim.VOID:
        lift(page_pass, record)
    elif standing is not RecordClaim.UNSURE:
        why = f"what it was went to node {claimed_for(record)}, which took its place: it is given nothing"
        page_pass.tell("MemoryClaimed", why)
        restore(page_pass, node, None, (unchanged(page_pass, page_pass.page.name, record),), why)
