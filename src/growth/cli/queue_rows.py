"""Workloads, one below the other: side by side with what there is to say where that fits, else above it."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from growth.cli.queue_entry import HOLDING, Entry, Standing
from growth.cli.queue_words import amounts, clock, due, times
from growth.cli.spans import span

_WIDE: Final = 98
_TITLES: Final = ("", "WORKLOAD", "QUEUE", "PRIORITY", "ASKS FOR", "AGE")
_NUMBERS: Final = frozenset({"", "PRIORITY", "AGE"})
_LONGEST: Final = {"WORKLOAD": 4, "QUEUE": 8, "ASKS FOR": 4}
"""So many of them would fill the line: no column takes more."""
STYLES: Final = {
    Standing.READY: ("●", "green"),
    Standing.RUNNING: ("●", "green"),
    Standing.STARTING: ("◐", "cyan"),
    Standing.LEAVING: ("◌", "magenta"),
    Standing.QUEUED: ("≡", "yellow"),
    Standing.BACKOFF: ("↻", "blue"),
    Standing.HELD: ("‖", "yellow"),
    Standing.INACTIVE: ("✕", "red"),
}


class Columns:
    """How wide each column is, so that those of all queues stand below each other."""

    def __init__(self, entries: Sequence[Entry], width: int, at: datetime) -> None:
        self.width = width
        self.is_wide = width >= _WIDE
        cells = [_cells(entry, at) for entry in entries] or [_TITLES]
        self.sizes = {
            title: min(max(len(title), *(len(cell) for cell in column)), width // _LONGEST.get(title, 1))
            for title, column in zip(_TITLES, zip(*cells, strict=True), strict=True)
            if title != "PRIORITY" or any(entry.priority for entry in entries)
        }

    def table(self, *, has_header: bool) -> Table:
        """An empty table with these columns."""
        table = Table(box=None, show_header=has_header, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
        for title, size in self.sizes.items():
            justify = "right" if title in _NUMBERS else "left"
            table.add_column(title, width=size, no_wrap=True, overflow="ellipsis", justify=justify)
        table.add_column("STATE", overflow="fold", ratio=1)
        return table


def rows_of(entries: Sequence[Entry], columns: Columns, at: datetime, rows: int | None) -> list[RenderableType]:
    """All of them, or so many of those that hold quota and so many of the others, and how many more there are."""
    parts: list[RenderableType] = []
    for is_holding in (True, False):
        group = [entry for entry in entries if (entry.standing in HOLDING) is is_holding]
        shown, hidden = (group, []) if rows is None else (group[:rows], group[rows:])
        if shown and columns.is_wide:
            parts.append(_table(shown, columns, at, has_header=not parts))
        elif shown:
            parts.append(_stacked(shown, columns, at))
        if hidden:
            counts = Counter(entry.standing for entry in hidden)
            rest = ", ".join(f"{count:,} {standing}" for standing, count in counts.items())
            parts.append(Text(f"   and {len(hidden):,} more ({rest}): --all shows them", style="dim"))
    return parts


def _table(entries: Sequence[Entry], columns: Columns, at: datetime, *, has_header: bool) -> Table:
    table = columns.table(has_header=has_header)
    for entry in entries:
        _, style = STYLES[entry.standing]
        cells = dict(zip(_TITLES, _cells(entry, at), strict=True))
        mark = Text(cells.pop(""), style=f"bold {style}")
        table.add_row(mark, *(cell for title, cell in cells.items() if title in columns.sizes), told(entry, at))
    return table


def _stacked(entries: Sequence[Entry], columns: Columns, at: datetime) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(width=columns.sizes[""], no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    for entry in entries:
        _, style = STYLES[entry.standing]
        mark, title, queue, priority, asks, age = _cells(entry, at)
        facts = f"queue {queue}, {f'priority {priority}, ' if entry.priority else ''}{asks}, {age} old"
        words = Text.assemble((title, "bold"), "  ", (facts, "dim"), "\n", told(entry, at))
        table.add_row(Text(mark, style=f"bold {style}"), words)
    return table


def _cells(entry: Entry, at: datetime) -> tuple[str, ...]:
    return (
        f"{entry.position}" if entry.position else STYLES[entry.standing][0],
        entry.title,
        entry.local_queue,
        f"{entry.priority:,}",
        amounts(entry.asks),
        span(at - entry.created_at) if entry.created_at is not None else "-",
    )


def told(entry: Entry, at: datetime) -> Text:
    """How it stands, why, and until when."""
    _, style = STYLES[entry.standing]
    return Text(_told(entry, at), style=style if entry.standing is not Standing.QUEUED else "")


def _told(entry: Entry, at: datetime) -> str:
    long = f" for {span(at - entry.since)}" if entry.since else ""
    why = f": {entry.why}" if entry.why else ""
    tried = f"tried {times(entry.attempts)}, " if entry.attempts else ""
    match entry.standing:
        case Standing.QUEUED:
            return f"{tried}{entry.why}" if entry.why else f"{tried}it waits for its turn"
        case Standing.STARTING if entry.until is not None and entry.until <= at:
            return f"starting{long}{why}; its time was over at {clock(entry.until, at)}"
        case Standing.STARTING if entry.until is not None:
            return f"starting{long}{why}; all must be by {due(entry.until, at)}"
        case Standing.STARTING:
            return f"starting{long}{why}"
        case Standing.BACKOFF if entry.until is not None:
            return f"{tried}again at {due(entry.until, at)}{why}"
        case Standing.LEAVING:
            return f"leaving{long}{why}; its quota is free when its pods are gone"
        case Standing.INACTIVE:
            return f"deactivated{long}{why}"
        case Standing.HELD:
            return entry.why
        case _:
            return f"{entry.standing}{long}"
