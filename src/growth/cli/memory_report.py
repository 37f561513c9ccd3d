"""What there is to say about memories: pages in, lines out. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum

import msgspec

from growth.api.node import Node
from growth.api.node_memory import MARKER, is_marked
from growth.cli.memory_seeing import MemoryBook
from growth.observe.node_history import NodePage


class MemoryPhase(StrEnum):
    """How it is with a name, those first at which somebody should look."""

    UNREADABLE = "unreadable"
    WAITS = "waits"
    """The node is there, and has not been given back what it was."""
    UNSETTLED = "unsettled"
    """It is gone, and what it was is being written down."""
    GONE = "gone"
    WENT_OVER = "went over"
    """Another node has taken it over."""
    THERE = "there"


class PendingTransaction(msgspec.Struct, frozen=True):
    """A transaction that is not dealt with."""

    name: str
    type: str
    version: int
    uid: str
    labels: int
    since: datetime | None


class MemoryRow(msgspec.Struct, frozen=True):
    """One remembered name."""

    node: str
    standing: MemoryPhase
    labels: int = 0
    marker: str = ""
    """What the live node bears."""
    version: int = 0
    written_at: datetime | None = None
    claimed_by: str = ""
    problem: str = ""
    waiting: tuple[PendingTransaction, ...] = ()


class MemoryList(msgspec.Struct, frozen=True):
    """All of them, and what else there is to say."""

    at: datetime
    namespace: str
    lines: tuple[MemoryRow, ...]
    new: int = 0
    """Nodes of which nothing is written down yet."""


def listed(book: MemoryBook, namespace: str, *, only_gone: bool = False) -> MemoryList:
    """Every name of which something is remembered or waits: by what somebody should look at, then by name."""
    known = [page for page in book.pages.values() if _is_known(page)]
    lines = [line_of(page) for page in known]
    if only_gone:
        lines = [
            line for line in lines if line.standing in (MemoryPhase.GONE, MemoryPhase.WENT_OVER, MemoryPhase.UNSETTLED)
        ]
    order = list(MemoryPhase)
    lines.sort(key=lambda line: (order.index(line.standing), not line.waiting, line.node))
    return MemoryList(book.at, namespace, tuple(lines), 0 if only_gone else len(book.pages) - len(known))


def _is_known(page: NodePage) -> bool:
    return bool(page.record or page.problem or page.transactions)


def line_of(page: NodePage) -> MemoryRow:
    """What is known about one name."""
    memory, node = page.record, page.node
    memento = memory.memento if memory is not None else None
    return MemoryRow(
        node=page.name,
        standing=standing_of(page),
        labels=len(memento.labels) if memento is not None else 0,
        marker=marker_on(node) if node is not None else "",
        version=memento.version if memento is not None else 0,
        written_at=memento.at if memento is not None else None,
        claimed_by=memory.claimed_by if memory is not None else "",
        problem=page.problem,
        waiting=tuple(waiting_of(page)),
    )


def marker_on(node: Node) -> str:
    """The marker's value; empty if it has none, or only one that it brought along from an earlier life."""
    return node.metadata.labels[MARKER] if is_marked(node) else ""


def waiting_of(page: NodePage) -> Iterator[PendingTransaction]:
    """What is not dealt with, in its order."""
    for one in page.transactions:
        made_at, memento = one.metadata.creation_timestamp, one.memento
        yield PendingTransaction(one.metadata.name, one.type, one.version, memento.uid, len(memento.labels), made_at)


def oldest_of(waiting: Iterable[PendingTransaction]) -> datetime | None:
    """Since when the oldest of them waits."""
    return min((one.since for one in waiting if one.since is not None), default=None)


def standing_of(page: NodePage) -> MemoryPhase:
    """How it is with this name."""
    memory, node = page.record, page.node
    if page.problem:
        return MemoryPhase.UNREADABLE
    if node is not None:
        return MemoryPhase.THERE if is_marked(node) else MemoryPhase.WAITS
    if memory is None or not memory.is_final:
        return MemoryPhase.UNSETTLED
    return MemoryPhase.WENT_OVER if memory.claimed_by else MemoryPhase.GONE


def named(names: Sequence[str], shown: int = 5) -> str:
    """A few names, and how many more."""
    rest = f" and {len(names) - shown:,} more" if len(names) > shown else ""
    return f"{', '.join(names[:shown])}{rest}"


def counted(number: int, what: str, many: str = "") -> str:
    """1 label, 2 labels, 3 memories."""
    return f"{number:,} {what if number == 1 else many or f'{what}s'}"
