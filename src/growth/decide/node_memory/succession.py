"""A machine that takes another one's place is given what that one was: first it claims that, then it is given it.

Its own memory comes first. It is given nothing if its predecessor works again, or if another one was faster.
"""

from growth.api.node import Node
from growth.api.node_memory import NodeContents, NodeRecord
from growth.decide.node_memory.claims import RecordClaim, claim_on, claimant, claimed_for, is_lost, lift
from growth.decide.node_memory.context import PagePass
from growth.decide.node_memory.restore_write import restore, unchanged
from growth.observe.node_history import NodePage


def take_over(page_pass: PagePass, node: Node) -> None:
    """Give a node of which nothing is remembered what its predecessor was, if it has one."""
    name = page_pass.context.predecessor_of(node.metadata.name)
    if not name:
        _give(page_pass, node, None, None, "nothing is remembered")
        return
    page_pass.follows = name
    page = page_pass.context.page(name)
    if page.problem:
        words = f"it takes the place of node {name}: {page.problem}; mend it, or drop it with: growth memory forget"
        page_pass.warn("MemoryUnreadable", f"{words} {name}")
    elif _is_being_written(page, node):
        return
    elif page.record is None:
        _give(page_pass, node, page, None, f"nothing is remembered of node {name}, whose place it takes")
    elif page.node is not None and not is_lost(page_pass, page.node) and not _is_another_life(page, page.record, node):
        _give(page_pass, node, page, None, f"node {name}, whose place it was to take, is there itself")
    else:
        _claim(page_pass, node, page, page.record)


def _is_being_written(page: NodePage, node: Node) -> bool:
    """Whether what the predecessor was when it left is yet to be written down. Of another life than the one that this
    node has claimed nothing is, until it was given that."""
    terminating = {*page.departed, *(one.memento.uid for one in page.transactions)}
    record = page.record
    return record.memento.uid in terminating if record is not None and _is_claimed(record, node) else bool(terminating)


def _is_another_life(page: NodePage, record: NodeRecord, node: Node) -> bool:
    """Whether this node claimed what the predecessor was before that one came back."""
    return _is_claimed(record, node) and page.uid != record.memento.uid


def _is_claimed(record: NodeRecord, node: Node) -> bool:
    return record.claimed_by == claimant(node)


def _claim(page_pass: PagePass, node: Node, page: NodePage, record: NodeRecord) -> None:
    if _is_claimed(record, node):
        _give(page_pass, node, page, record.memento, f"it takes the place of node {page.name}")
        return
    # An earlier life of this node may have claimed it and left before it was given it.
    standing = RecordClaim.NONE if claimed_for(record) == node.metadata.name else claim_on(page_pass, record)
    if standing is RecordClaim.NONE:
        page_pass.claim(record, claimant(node), f"node {node.metadata.name} takes the place of node {page.name}")
    elif standing is RecordClaim.VOID:
        lift(page_pass, record)
    elif standing is not RecordClaim.UNSURE:
        _give(page_pass, node, page, None, f"what node {page.name} was went to {claimed_for(record)}")


def _give(
    page_pass: PagePass, node: Node, predecessor: NodePage | None, memento: NodeContents | None, why: str
) -> None:
    given = [unchanged(page_pass, node.metadata.name, page_pass.page.record)]
    if predecessor is not None:
        given.append(unchanged(page_pass, predecessor.name, predecessor.record))
    restore(page_pass, node, memento, tuple(given), why)


def awaits_another(page_pass: PagePass, memento: NodeContents) -> bool:
    """Whether a node that left, of which nothing is remembered, had yet to be given what its predecessor was: then
    that is worth more than what it was."""
    name = page_pass.context.predecessor_of(page_pass.page.name)
    record = page_pass.context.page(name).record if name and not memento.is_marked else None
    return record is not None and claimed_for(record) in ("", page_pass.page.name)
