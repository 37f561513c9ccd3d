"""How the list of memories looks in a terminal: a Listed and a width in, one line for each name out."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from growth.cli.memory_report import MemoryList, MemoryPhase, MemoryRow, counted, oldest_of
from growth.cli.spans import span

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
    for standing in reversed(MemoryPhase):
        if counts[standing]:
            line.append(f"   {STYLES[standing][0]} {counts[standing]:,} {_COUNTED[standing]}", STYLES[standing][1])
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
