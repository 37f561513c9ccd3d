"""What there is to say about memories: pages in, lines out. Pure.

How the list of memories looks in a terminal: a Listed and a width in, one line for each name out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from growth.api.node import Node
from growth.api.node_memory import MARKER, is_marked
from growth.cli.formatting import span
from growth.cli.memory_reader import MemoryBook
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


_WIDE: Final = 100
_TITLES: Final = ("NODE", "STATE", "LABELS", "VERSION", "MARKER", "WRITTEN", "WAITS")
_NUMBERS: Final = frozenset({"LABELS", "VERSION", "WRITTEN"})
# Those give way where there is too little room; the others are figures.
_WORDS: Final = ("NODE", "STATE")
STYLES: Final = {
    MemoryPhase.UNREADABLE: ("!", "bold red"),
    MemoryPhase.WAITS: ("◐", "yellow"),
    MemoryPhase.UNSETTLED: ("◐", "yellow"),
    MemoryPhase.GONE: ("○", "cyan"),
    MemoryPhase.WENT_OVER: ("→", "magenta"),
    MemoryPhase.THERE: ("●", "green"),
}
_COUNTED: Final = {
    MemoryPhase.UNREADABLE: "unreadable",
    MemoryPhase.WAITS: "unmarked",
    MemoryPhase.UNSETTLED: "being settled",
    MemoryPhase.GONE: "gone",
    MemoryPhase.WENT_OVER: "went over",
    MemoryPhase.THERE: "there",
}


def view(found: MemoryList, width: int) -> RenderableType:
    """What there is in numbers, then each name, those first at which somebody should look."""
    parts: list[RenderableType] = [_headline(found), *_beside(found)]
    if found.lines:
        parts += [Text(), _table(found, width)]
    if any(line.problem for line in found.lines):
        hint = "Why one is unreadable: growth memory show NODE. Mend it, or drop it: growth memory forget NODE"
        parts += [Text(), Text(hint, style="dim")]
    return Group(*parts)


def _headline(found: MemoryList) -> Text:
    if not found.lines:
        words = f"Nothing is remembered in the namespace {found.namespace}"
        fresh = f", and {counted(found.new, 'node')} would be: does growth run, with memory.mode other than off?"
        return Text(words + (fresh if found.new else "."), style="yellow" if found.new else "dim")
    line = Text(counted(len(found.lines), "name"), style="bold")
    counts = Counter(one.standing for one in found.lines)
    for phase in reversed(MemoryPhase):
        if counts[phase]:
            line.append(f"   {STYLES[phase][0]} {counts[phase]:,} {_COUNTED[phase]}", STYLES[phase][1])
    return line


def _beside(found: MemoryList) -> Iterator[Text]:
    """What is under way."""
    if found.lines and found.new:
        yield Text(f"{counted(found.new, 'node')} more of which nothing is written down yet", style="dim")
    if waiting := [one for each in found.lines for one in each.waiting]:
        since = oldest_of(waiting)
        age = f", the oldest for {span(found.at - since)}" if since else ""
        verb = "waits" if len(waiting) == 1 else "wait"
        yield Text(f"{counted(len(waiting), 'transaction')} {verb}{age}", style="yellow")


def _table(found: MemoryList, width: int) -> Table:
    rows = [_cells(line, found.at) for line in found.lines]
    columns = {
        title: max(len(title), *(len(cell) for cell in column))
        for title, column in zip(_TITLES, zip(*rows, strict=True), strict=True)
    }
    if not any(line.waiting for line in found.lines):
        del columns["WAITS"]
    gap = 2 if width >= _WIDE else 1
    while sum(columns.values()) + gap * len(columns) > width and max(columns[word] for word in _WORDS) > len("NODE"):
        columns[max(_WORDS, key=lambda word: columns[word])] -= 1
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))
    for title, wide in columns.items():
        justify = "right" if title in _NUMBERS else "left"
        table.add_column(title, no_wrap=True, overflow="ellipsis", width=wide, justify=justify)
    for row in rows:
        table.add_row(*row[: len(columns)])
    return table


def _cells(line: MemoryRow, now: datetime) -> tuple[str | Text, ...]:
    is_read = line.written_at is not None or line.version or line.labels
    since = oldest_of(line.waiting)
    waits = f"{len(line.waiting)} for {span(now - since)}" if since else str(len(line.waiting) or "")
    mark, style = STYLES[line.standing]
    return (
        line.node,
        Text(f"{mark} {state(line, now)}", style=style),
        f"{line.labels:,}" if is_read else "-",
        str(line.version) if line.version else "-",
        line.marker or "-",
        span(now - line.written_at) if line.written_at else "-",
        Text(waits, style="yellow"),
    )


def state(line: MemoryRow, now: datetime) -> str:
    """How it is with a name, in a few words."""
    match line.standing:
        case MemoryPhase.GONE if line.written_at is not None:
            return f"gone for {span(now - line.written_at)}"
        case MemoryPhase.WENT_OVER:
            return f"went to {line.claimed_by.partition('/')[0]}"
        case MemoryPhase.WAITS:
            return "there, no marker yet"
        case MemoryPhase.UNSETTLED:
            return "gone, being settled"
        case _:
            return str(line.standing)
