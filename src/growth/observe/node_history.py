"""What is known about each name that a node ever had: the node now, those that left, what is written of it.

Nodes, transactions and memories are told by three streams, of which each may lag. So who left is kept here until it is
known to be written down, and what was once heard to be written down is not forgotten because an object is gone again.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.node import Node
from growth.api.node_memory import (
    REMOVED_AT_MOST,
    MemoryObject,
    NodeContents,
    NodeRecord,
    Transaction,
    TransactionObject,
    UnreadableRecord,
    read_memory,
    read_transaction,
)
from growth.observe.journal import ChangeJournal

# Lives of one name that are remembered as written down. A node that comes and goes faster than three streams can tell
# makes a transaction too many, which changes nothing.
_LIVES: Final = 8


class Departure(msgspec.Struct, frozen=True):
    """A node that left, as it was last seen."""

    node: Node
    is_missed: bool
    """Whether nobody told us when it went: then it may have changed since we last saw it."""
    removed: tuple[str, ...] = ()


class NodePage(msgspec.Struct, frozen=True):
    """All about one name."""

    name: str
    node: Node | None = None
    heard_at: datetime | None = None
    """When this life of the node was first heard of."""
    first_version: int = 0
    """The version in which it was: all who saw it come know the same one."""
    removed: tuple[str, ...] = ()
    """Keys of labels that it was seen to lose, the last of them last."""
    departed: Mapping[str, Departure] = {}
    """Who left and is not known to be written down, by uid."""
    transactions: tuple[Transaction, ...] = ()
    """What is not dealt with yet, in its order."""
    arrivals: tuple[str, ...] = ()
    """Uids of those whose coming was written down."""
    written: Mapping[str, int] = {}
    """Uids of those whose leaving was written down, and in which version of theirs."""
    record: NodeRecord | None = None
    problem: str = ""
    """Why the memory cannot be read."""

    @property
    def uid(self) -> str:
        """Whose name it is now; empty if nobody's."""
        return self.node.metadata.uid if self.node is not None else ""

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing left to tell about this name."""
        return not (self.node or self.departed or self.transactions or self.record or self.problem)


class NodeHistory:
    """Told of nodes, transactions and memories; ``now`` is when it hears of something."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self.pages: dict[str, NodePage] = {}
        self.journal = ChangeJournal()
        self.nodes_version = 0
        """The highest version of a node that was heard of: of what happened before, everything is known."""
        self._now = now

    def hear_of_nodes(self, changes: Iterable[Change[Node]]) -> None:
        """Nodes came, changed or went."""
        for change in changes:
            meta = change.now.metadata
            self.nodes_version = max(self.nodes_version, meta.resource_version)
            page = self.pages.get(meta.name) or NodePage(meta.name)
            if change.happened is ChangeType.DELETED:
                self._keep(_without(page, change))
            elif page.uid != meta.uid:
                self._keep(
                    msgspec.structs.replace(
                        page,
                        node=change.now,
                        heard_at=self._now(),
                        first_version=meta.resource_version,
                        removed=(),
                    )
                )
            elif page.node is not None and _is_remarkable(page.node, change.now):
                lost = sorted(page.node.metadata.labels.keys() - meta.labels.keys())
                removed = (*(key for key in page.removed if key not in meta.labels), *lost)[-REMOVED_AT_MOST:]
                self._keep(msgspec.structs.replace(page, node=change.now, removed=removed))
            else:
                # Every few seconds a node says how it is: nobody need look at what is remembered of it.
                self.pages[meta.name] = msgspec.structs.replace(page, node=change.now)

    def hear_of_transactions(self, changes: Iterable[Change[TransactionObject]]) -> None:
        """Transactions were made or dealt with."""
        for change in changes:
            transaction = read_transaction(change.now)
            if transaction is None:
                continue
            page = self.pages.get(transaction.node) or NodePage(transaction.node)
            others = [one for one in page.transactions if one.metadata.name != transaction.metadata.name]
            if change.happened is not ChangeType.DELETED:
                others.append(transaction)
            page = msgspec.structs.replace(page, transactions=tuple(sorted(others, key=lambda one: one.version)))
            self._keep(_noted(page, transaction))

    def hear_of_memories(self, changes: Iterable[Change[MemoryObject]]) -> None:
        """Memories were made, changed or deleted."""
        for change in changes:
            name = change.now.metadata.name
            page = self.pages.get(name) or NodePage(name)
            record, problem = None, ""
            if change.happened is not ChangeType.DELETED:
                try:
                    record = read_memory(change.now)
                except UnreadableRecord as error:
                    problem = str(error)
            page = msgspec.structs.replace(page, record=record, problem=problem)
            if change.happened is ChangeType.DELETED:
                page = _without_written(page)
            if record is not None:
                page = _without_earlier(page, record)
            if record is not None and record.is_final:
                page = _settled(page, record.memento)
            self._keep(page)

    def _keep(self, page: NodePage) -> None:
        self.journal.note(page.name)
        if page.is_blank:
            self.pages.pop(page.name, None)
        else:
            self.pages[page.name] = page


def _without(page: NodePage, change: Change[Node]) -> NodePage:
    """The page after this node went. One of the same name that came since is another one, and stays."""
    uid, before = change.now.metadata.uid, change.before
    is_current = page.uid == uid
    departed = dict(page.departed)
    if page.written.get(uid, -1) < change.now.metadata.resource_version:
        version = change.now.metadata.resource_version
        is_missed = before is not None and before.metadata.resource_version == version
        departed[uid] = Departure(change.now, is_missed, page.removed if is_current else ())
    page = msgspec.structs.replace(page, departed=departed)
    if page.record is not None:
        page = _without_earlier(page, page.record)
    return msgspec.structs.replace(page, node=None, heard_at=None, removed=()) if is_current else page


def _noted(page: NodePage, transaction: Transaction) -> NodePage:
    memento = transaction.memento
    if transaction.type == "deleted":
        return _settled(page, memento)
    if memento.uid in page.arrivals:
        return page
    return msgspec.structs.replace(page, arrivals=(*page.arrivals, memento.uid)[-_LIVES:])


def _settled(page: NodePage, memento: NodeContents) -> NodePage:
    """The page once it is written down what this node was when it left."""
    uid, version = memento.uid, memento.version
    written = {**page.written, uid: max(version, page.written.get(uid, -1))}
    for old in list(written)[:-_LIVES]:
        del written[old]
    departed, departure = page.departed, page.departed.get(uid)
    if departure is not None and departure.node.metadata.resource_version <= version:
        departed = {known: one for known, one in departed.items() if known != uid}
    return msgspec.structs.replace(page, written=written, departed=departed)


def _without_written(page: NodePage) -> NodePage:
    """The page after what is remembered was forgotten: who was written down once is not written down again."""
    departed = {uid: one for uid, one in page.departed.items() if uid not in page.written}
    return msgspec.structs.replace(page, departed=departed)


def _without_earlier(page: NodePage, record: NodeRecord) -> NodePage:
    """The page without those who left before one who had been given what they were: that is how they are remembered."""
    memento = record.memento
    if not memento.is_marked:
        return page
    departed = {
        uid: one
        for uid, one in page.departed.items()
        if uid == memento.uid or one.node.metadata.resource_version > memento.version
    }
    return page if len(departed) == len(page.departed) else msgspec.structs.replace(page, departed=departed)


def _is_remarkable(before: Node, now: Node) -> bool:
    """Whether anything changed that might be remembered, or says how far remembering is."""
    old, new = before.metadata, now.metadata
    return (
        old.labels != new.labels
        or old.annotations != new.annotations
        or before.spec.taints != now.spec.taints
        or old.finalizers != new.finalizers
        or (old.deletion_timestamp is None) != (new.deletion_timestamp is None)
    )
