"""What a live node is, written down from time to time: one that goes while nobody looks loses no more than that time.

Never before the node bears its marker: until then what it is says nothing about what it was. And once nobody needs what
is remembered of a node that is gone, it can be forgotten.
"""

from growth.api.node import Node
from growth.api.node_memory import FINALIZER, NodeRecord, is_marked, is_too_large, with_removed
from growth.decide.node_memory.claims import is_lost, must_wait
from growth.decide.node_memory.context import PagePass
from growth.decide.node_memory.transactions import earlier


def follow(page_pass: PagePass, node: Node) -> None:
    """Write down what a node is, and keep it until that is done, if that is wanted."""
    is_saved = True
    if is_marked(node):
        is_saved = _checkpoint(page_pass, node)
    follow_finalizer(page_pass, node, is_saved=is_saved)


def _checkpoint(page_pass: PagePass, node: Node) -> bool:
    """Whether what it is now is written down."""
    record, memento = page_pass.page.record, page_pass.policy.memento_of(node, page_pass.now)
    memento = with_removed(memento, (earlier(page_pass, memento),), page_pass.page.removed)
    is_itself = not is_lost(page_pass, node)
    if record is not None:
        is_same_life, is_taken = memento.uid == record.memento.uid, bool(record.claimed_by) and is_itself
        if is_same_life and not record.is_final and not is_taken and memento.says_the_same_as(record.memento):
            return True
        if memento.version < record.memento.version:
            return False  # somebody saw more than we did, of this life or of the next one
    if is_too_large(memento):
        page_pass.warn_of_size(memento)
        return False
    if must_wait(page_pass, memento.uid):
        return False
    # Counted anew once something was written, else a node that never rests would be written down without any.
    since = f"unsaved since {record.metadata.resource_version if record is not None else 0}"
    if _is_urgent(node) or page_pass.has_been(since, page_pass.context.settings.checkpoint_after):
        why = f"node {node.metadata.name} is {len(memento.labels)} labels now"
        page_pass.remember(memento, why, is_final=False, ends_claim=is_itself)
    return False


def _is_urgent(node: Node) -> bool:
    return node.metadata.deletion_timestamp is not None and FINALIZER in node.metadata.finalizers


def follow_finalizer(page_pass: PagePass, node: Node, *, is_saved: bool) -> None:
    """Hold a node back while it should be, and let it go when that is over."""
    meta, settings = node.metadata, page_pass.context.settings
    is_there, is_wanted = FINALIZER in meta.finalizers, settings.finalizer and settings.mode != "off"
    if meta.deletion_timestamp is None:
        if is_wanted and not is_there and is_marked(node):
            body = {"metadata": {"finalizers": [*meta.finalizers, FINALIZER]}}
            page_pass.change_node(node, body, "keep it until its last labels are written down")
        elif is_there and not is_wanted:
            _let_go(page_pass, node, "memory.finalizer is off")
    elif is_there and is_saved:
        _let_go(page_pass, node, "its last labels are written down")
    elif is_there and page_pass.is_due(meta.deletion_timestamp + settings.finalizer_deadline):
        why = "its last labels could not be written down in time: it goes without"
        page_pass.warn("MemoryGivesWay", why)
        _let_go(page_pass, node, why)


def _let_go(page_pass: PagePass, node: Node, why: str) -> None:
    others = [name for name in node.metadata.finalizers if name != FINALIZER]
    page_pass.change_node(node, {"metadata": {"finalizers": others}}, f"let it go: {why}")


def forget(page_pass: PagePass, record: NodeRecord) -> None:
    """Drop what is remembered of a node that has been gone for long enough."""
    after, gone_at = page_pass.context.settings.forget_after, record.memento.at
    if after is None or gone_at is None or not record.is_final:
        return
    # What was written before a clock jumped tells no age: better late than a day after a clock was a year ahead.
    since = max(gone_at, page_pass.context.steady_since or gone_at)
    if page_pass.is_due(since + after):
        page_pass.forget(record, f"node {page_pass.page.name} has been gone since {gone_at:%Y-%m-%d %H:%M}")
