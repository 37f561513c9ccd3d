"""What a live node is, written down from time to time: one that goes while nobody looks loses no more than that time.

Never before the node bears its marker: until then what it is says nothing about what it was. And once nobody needs what
is remembered of a node that is gone, it can be forgotten.
"""

from growth.api.node import Node
from growth.api.node_memory import FINALIZER, NodeRecord, is_marked, is_too_large, with_removed
from growth.decide.node_memory.claims import is_lost, must_wait
from growth.decide.node_memory.context import PagePass
from growth.decide.node_memory.transactions import earlier


def follow(look: PagePass, node: Node) -> None:
    """Write down what a node is, and keep it until that is done, if that is wanted."""
    is_saved = True
    if is_marked(node):
        is_saved = _checkpoint(look, node)
    follow_finalizer(look, node, is_saved=is_saved)


def _checkpoint(look: PagePass, node: Node) -> bool:
    """Whether what it is now is written down."""
    record, memento = look.page.record, look.policy.memento_of(node, look.now)
    memento = with_removed(memento, (earlier(look, memento),), look.page.removed)
    is_itself = not is_lost(look, node)
    if record is not None:
        is_same_life, is_taken = memento.uid == record.memento.uid, bool(record.claimed_by) and is_itself
        if is_same_life and not record.is_final and not is_taken and memento.says_the_same_as(record.memento):
            return True
        if memento.version < record.memento.version:
            return False  # somebody saw more than we did, of this life or of the next one
    if is_too_large(memento):
        look.warn_of_size(memento)
        return False
    if must_wait(look, memento.uid):
        return False
    # Counted anew once something was written, else a node that never rests would be written down without any.
    since = f"unsaved since {record.metadata.resource_version if record is not None else 0}"
    if _is_urgent(node) or look.has_been(since, look.context.settings.checkpoint_after):
        why = f"node {node.metadata.name} is {len(memento.labels)} labels now"
        look.remember(memento, why, is_final=False, ends_claim=is_itself)
    return False


def _is_urgent(node: Node) -> bool:
    return node.metadata.deletion_timestamp is not None and FINALIZER in node.metadata.finalizers


def follow_finalizer(look: PagePass, node: Node, *, is_saved: bool) -> None:
    """Hold a node back while it should be, and let it go when that is over."""
    meta, settings = node.metadata, look.context.settings
    is_there, is_wanted = FINALIZER in meta.finalizers, settings.finalizer and settings.mode != "off"
    if meta.deletion_timestamp is None:
        if is_wanted and not is_there and is_marked(node):
            body = {"metadata": {"finalizers": [*meta.finalizers, FINALIZER]}}
            look.change_node(node, body, "keep it until its last labels are written down")
        elif is_there and not is_wanted:
            _let_go(look, node, "memory.finalizer is off")
    elif is_there and is_saved:
        _let_go(look, node, "its last labels are written down")
    elif is_there and look.is_due(meta.deletion_timestamp + settings.finalizer_deadline):
        why = "its last labels could not be written down in time: it goes without"
        look.warn("MemoryGivesWay", why)
        _let_go(look, node, why)


def _let_go(look: PagePass, node: Node, why: str) -> None:
    others = [name for name in node.metadata.finalizers if name != FINALIZER]
    look.change_node(node, {"metadata": {"finalizers": others}}, f"let it go: {why}")


def forget(look: PagePass, record: NodeRecord) -> None:
    """Drop what is remembered of a node that has been gone for long enough."""
    after, gone_at = look.context.settings.forget_after, record.memento.at
    if after is None or gone_at is None or not record.is_final:
        return
    # What was written before a clock jumped tells no age: better late than a day after a clock was a year ahead.
    since = max(gone_at, look.context.steady_since or gone_at)
    if look.is_due(since + after):
        look.forget(record, f"node {look.page.name} has been gone since {gone_at:%Y-%m-%d %H:%M}")
