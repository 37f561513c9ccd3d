"""Workloads, one below the other: side by side with what there is to say where that fits, else above it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from rich.cells import cell_len

from growth.cli.queue_entry import HOLDING, WorkloadPhase, WorkloadRow
from growth.cli.queue_lines import Piece, fitted, wrapped
from growth.cli.queue_told import told
from growth.cli.queue_words import amounts
from growth.cli.spans import span

_WIDE: Final = 98
_TITLES: Final = ("", "WORKLOAD", "QUEUE", "PRIORITY", "ASKS FOR", "AGE")
_NUMBERS: Final = frozenset({"", "PRIORITY", "AGE"})
_LONGEST: Final = {"WORKLOAD": 4, "QUEUE": 8, "ASKS FOR": 4}
"""So many of them would fill the line: no column takes more."""
_GAP: Final = "  "
STYLES: Final = {
    WorkloadPhase.READY: ("●", "green"),
    WorkloadPhase.RUNNING: ("●", "green"),
    WorkloadPhase.STARTING: ("◐", "cyan"),
    WorkloadPhase.LEAVING: ("◌", "magenta"),
    WorkloadPhase.QUEUED: ("≡", "yellow"),
    WorkloadPhase.BACKOFF: ("↻", "blue"),
    WorkloadPhase.HELD: ("‖", "yellow"),
    WorkloadPhase.INACTIVE: ("✕", "red"),
}


class ColumnWidths:
    """How wide each column is, so that those of all queues stand below each other. ``width`` is of the whole line."""

    def __init__(self, entries: Sequence[WorkloadRow], width: int, at: datetime) -> None:
        self.width, self.at = width, at
        self.is_wide = width >= _WIDE
        has_priority = any(entry.priority for entry in entries)
        widest = [len(title) for title in _TITLES]
        for entry in entries:
            widest = [max(size, cell_len(cell)) for size, cell in zip(widest, _cells(entry, at), strict=True)]
        self.sizes: dict[str, int] = {
            title: min(size, width // _LONGEST.get(title, 1))
            for title, size in zip(_TITLES, widest, strict=True)
            if title != "PRIORITY" or has_priority
        }


def rows_of(
    entries: Sequence[WorkloadRow], columns: ColumnWidths, indent: int, rows: int | None
) -> Iterator[list[Piece]]:
    """All of them, or so many of those that hold quota and so many of the others, and how many more there are."""
    has_header = columns.is_wide
    for is_holding in (True, False):
        group = [entry for entry in entries if (entry.standing in HOLDING) is is_holding]
        shown, hidden = (group, []) if rows is None else (group[:rows], group[rows:])
        if shown and has_header:
            yield [(_row(_TITLES, columns, indent) + "STATE", "dim")]
            has_header = False
        for entry in shown:
            yield from (_beside if columns.is_wide else _above)(entry, columns, indent)
        if hidden:
            counts = Counter(entry.standing for entry in hidden)
            rest = ", ".join(f"{count:,} {standing}" for standing, count in counts.items())
            words = f"and {len(hidden):,} more ({rest}): --all shows them"
            for line in wrapped(words, columns.width - indent - 3):
                yield [(" " * (indent + 3) + line, "dim")]


def _row(texts: Sequence[str], columns: ColumnWidths, indent: int) -> str:
    cells: dict[str, str] = dict(zip(_TITLES, texts, strict=True))
    shown = [fitted(cells[title], size, is_number=title in _NUMBERS) for title, size in columns.sizes.items()]
    return " " * indent + _GAP.join([*shown, ""])


def _beside(entry: WorkloadRow, columns: ColumnWidths, indent: int) -> Iterator[list[Piece]]:
    """In one line, and as many more as its words need."""
    row = _row(_cells(entry, columns.at), columns, indent)
    (_, style), mark = STYLES[entry.standing], indent + columns.sizes[""]
    first, *others = wrapped(told(entry, columns.at), columns.width - len(row))
    colour = style if entry.standing is not WorkloadPhase.QUEUED else ""
    yield [(row[:mark], f"bold {style}"), (row[mark:], ""), (first, colour)]
    for line in others:
        yield [(" " * cell_len(row) + line, colour)]


def _above(entry: WorkloadRow, columns: ColumnWidths, indent: int) -> Iterator[list[Piece]]:
    """Its name and what it asks for, and below it how it stands."""
    _, style = STYLES[entry.standing]
    mark, title, queue, priority, asks, age = _cells(entry, columns.at)
    facts = f"queue {queue}, {f'priority {priority}, ' if entry.priority else ''}{asks}, {age} old"
    edge = " " * indent + fitted(mark, columns.sizes[""], is_number=True) + " "
    blank, room = " " * len(edge), columns.width - len(edge)
    # A name that fills the line has it for itself.
    is_short = len(title) <= room // 2
    first, *others = wrapped(f"{title}  {facts}" if is_short else title, room)
    yield [(edge, f"bold {style}"), (first[: len(title)], "bold"), (first[len(title) :], "dim")]
    for line in others if is_short else (*others, *wrapped(facts, room)):
        yield [(blank + line, "dim")]
    colour = style if entry.standing is not WorkloadPhase.QUEUED else ""
    for line in wrapped(told(entry, columns.at), room):
        yield [(blank + line, colour)]


def _cells(entry: WorkloadRow, at: datetime) -> tuple[str, ...]:
    return (
        f"{entry.position}" if entry.position else STYLES[entry.standing][0],
        entry.title,
        entry.local_queue,
        f"{entry.priority:,}",
        amounts(entry.asks),
        span(at - entry.created_at) if entry.created_at is not None else "-",
    )
