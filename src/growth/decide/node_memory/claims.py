"""Claims on what a node was: its successor takes that over, and nobody else does.

A claim stands in the memory of the predecessor and names the claimant, as ``NAME/UID``. Nothing of it is kept in mind:
whoever looks next, after a crash or on another replica, finds it there and goes on.

| claim | when | what that means |
|---|---|---|
| open | the claimant is there and has no marker yet | what is claimed stays until it is given, but for its end |
| spent | the claimant has its marker, or left with it | a predecessor that comes back is given nothing |
| void | the claimant went without, and is not there | it is lifted, as if nobody had claimed anything |

A spent claim ends when the predecessor is written down as another one than the one that was claimed: in a later life,
or in service again.
"""

from enum import Enum, auto

from growth.api.node import Node
from growth.api.node_memory import NodeRecord, is_marked
from growth.api.out_of_service import out_of_service_taint
from growth.decide.node_memory.context import PagePass
from growth.decide.node_memory.transaction_log import LAG


class RecordClaim(Enum):
    """How a claim stands."""

    NONE = auto()
    OPEN = auto()
    SPENT = auto()
    VOID = auto()
    UNSURE = auto()
    """Nobody can tell yet."""


def claimant(node: Node) -> str:
    """How this node signs a claim."""
    return f"{node.metadata.name}/{node.metadata.uid}"


def claimed_for(record: NodeRecord) -> str:
    """The name of the node that has claimed this; empty if none has."""
    return record.claimed_by.partition("/")[0]


def claim_on(page_pass: PagePass, record: NodeRecord) -> RecordClaim:
    """How the claim on this memory stands; who waits for one that is open or unsure looks again when that changes."""
    name = claimed_for(record)
    if not name:
        return RecordClaim.NONE
    page = page_pass.context.page(name)
    if page.node is not None:
        standing = RecordClaim.SPENT if is_marked(page.node) else RecordClaim.OPEN
    elif page.departed or page.transactions:
        standing = RecordClaim.UNSURE
    elif page.problem or (page.record is not None and page.record.memento.is_marked):
        standing = RecordClaim.SPENT
    else:  # a claim may be seen before the node that made it
        standing = RecordClaim.VOID if page_pass.has_been(f"without {record.claimed_by}", LAG) else RecordClaim.UNSURE
    if standing in (RecordClaim.OPEN, RecordClaim.UNSURE):
        page_pass.follows = name
    return standing


def lift(page_pass: PagePass, record: NodeRecord) -> None:
    """End a claim that came to nothing."""
    page_pass.claim(record, None, f"{claimed_for(record)} is gone, and was not given what it claimed")


def must_wait(page_pass: PagePass, uid: str) -> bool:
    """Whether an earlier life of this node is claimed and not given yet: until then no other one is written there."""
    record = page_pass.page.record
    if record is None or record.memento.uid == uid:
        return False
    return claim_on(page_pass, record) in (RecordClaim.OPEN, RecordClaim.UNSURE)


def is_lost(page_pass: PagePass, node: Node) -> bool:
    """Whether a node that is there does not work any more, or is to go: then another one may take its place."""
    meta = node.metadata
    is_terminating = meta.deletion_timestamp is not None or meta.name in page_pass.context.snapshot.terminating_nodes
    return is_terminating or out_of_service_taint(node) is not None
