"""How full a queue is: a bar for each resource of each flavor.

██████▓▓▓  6 of its own are used, and 3 that are borrowed
████▒▒▒··  4 are used, 3 lent to others, 2 are free

Lines of coloured text, drawn without a table: rich would take seconds to measure thousands of rows.

Workloads, one below the other: side by side with what there is to say where that fits, else above it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import accumulate
from textwrap import wrap
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from growth.cli.formatting import amounts, figure, short, span
from growth.cli.queue_entry import HOLDING, WorkloadPhase, WorkloadRow
from growth.cli.queue_messages import told
from growth.cli.queue_shares import QuotaShare
from growth.cli.reports.cluster_summary import ResourceUse
from growth.cli.snapshot import bar

_SHORTEST_BAR: Final = 6
_LONGEST_BAR: Final = 20
_BAR_GAP: Final = 3
_OWN: Final = ("█", "green")
_BORROWED: Final = ("▓", "magenta")
_LENT: Final = ("▒", "cyan")


def usage(shares: Sequence[QuotaShare], width: int) -> Table:
    """One line for each flavor where its resources fit beside each other, else one for each resource."""
    flavors = list(dict.fromkeys(share.flavor for share in shares))
    resources = list(dict.fromkeys(share.resource for share in shares))
    cells = {(share.flavor, share.resource): share for share in shares}
    name = max(len(_name(shares, flavor)) for flavor in flavors)
    words = [max(len(_words(share)) for share in shares if share.resource == resource) for resource in resources]
    words = [size + len(short(resource)) + 2 for size, resource in zip(words, resources, strict=True)]
    free = (width - name - sum(words) - _BAR_GAP * len(resources)) // len(resources)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, _BAR_GAP, 0, 0))
    table.add_column(no_wrap=True, overflow="ellipsis", style="cyan")
    if free >= _SHORTEST_BAR:
        for flavor in flavors:
            row = [cells.get((flavor, resource)) for resource in resources]
            long = min(free, _LONGEST_BAR)
            drawn = [_drawn(share, long) if share is not None else Text() for share in row]
            table.add_row(_name(shares, flavor), *drawn)
        return table
    widest = max(len(_words(share)) + len(short(share.resource)) + 2 for share in shares)
    table.columns[0].max_width = max(8, width // 4)
    long = max(_SHORTEST_BAR, min(_LONGEST_BAR, width - min(name, max(8, width // 4)) - _BAR_GAP - widest))
    before = ""
    for share in shares:
        name_of = Text() if share.flavor == before else _name(shares, share.flavor)
        table.add_row(name_of, _drawn(share, long, len(_longest(shares))))
        before = share.flavor
    return table


def _longest(shares: Sequence[QuotaShare]) -> str:
    return max((short(share.resource) for share in shares), key=len)


def closed_flavors(shares: Sequence[QuotaShare]) -> dict[str, str]:
    """Flavors on which nobody is admitted now, and why."""
    return {share.flavor: share.closed for share in shares if share.closed}


def _name(shares: Sequence[QuotaShare], flavor: str) -> Text:
    is_closed = flavor in closed_flavors(shares)
    return Text(f"✕ {flavor}", style="red") if is_closed else Text(flavor)


def _drawn(share: QuotaShare, long: int, name: int = 0) -> Text:
    line = Text.assemble((f"{short(share.resource).ljust(name)} ", "dim"), _bar(share, long), f" {_figures(share)}")
    if share.borrowed:
        line.append(_borrowed(share), style=_BORROWED[1])
    if share.lent:
        line.append(_lent(share), style=_LENT[1])
    line.no_wrap = True
    return line


def _bar(share: QuotaShare, long: int) -> Text:
    if not share.borrowed and not share.lent:
        return bar(ResourceUse(share.used, share.nominal), long)[:long]
    own = share.used - share.borrowed
    parts = [(own, _OWN), (share.borrowed, _BORROWED), (share.lent, _LENT)]
    whole = max(share.nominal, share.used, 1)
    line, drawn = Text(), 0
    for (amount, (mark, style)), end in zip(parts, accumulate(amount for amount, _ in parts), strict=True):
        # Whatever there is can be seen, however little it is.
        cells = max(1, round(long * end / whole) - drawn) if amount else 0
        cells = min(cells, long - drawn)
        line.append(mark * cells, style)
        drawn += cells
    return line.append("·" * (long - drawn), _OWN[1])


def _words(share: QuotaShare) -> str:
    return "".join(
        (_figures(share), _borrowed(share) if share.borrowed else "", _lent(share) if share.lent else ""),
    )


def _figures(share: QuotaShare) -> str:
    return f"{figure(share.resource, share.used)} of {figure(share.resource, share.nominal)}"


def _borrowed(share: QuotaShare) -> str:
    return f", {figure(share.resource, share.borrowed)} borrowed"


def _lent(share: QuotaShare) -> str:
    return f", {figure(share.resource, share.lent)} lent"


Piece = tuple[str, str]
"""A text and its style."""
_BETWEEN: Final = "…"


class OutputLines:
    """Something to print, line by line; whoever made it has seen to it that it fits."""

    def __init__(self, lines: Iterable[Iterable[Piece]]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The protocol of rich."""
        for line in self._lines:
            for text, style in line:
                yield Segment(text, console.get_style(style) if style else None)
            yield Segment.line()


def notices(sentences: Iterable[str]) -> list[Text]:
    """What holds for all, so that nobody overlooks it."""
    return [Text.assemble(("! ", "bold red"), (sentence, "red")) for sentence in sentences]


def fitted(text: str, size: int, *, is_number: bool = False) -> str:
    """Exactly so wide. Of a text that is longer both ends are kept: names that begin alike differ at their end."""
    length = cell_len(text)
    if length <= size:
        blanks = " " * (size - length)
        return blanks + text if is_number else text + blanks
    kept = max(0, size - 1)
    end = kept // 2
    return set_cell_size(f"{set_cell_size(text, kept - end)}{_BETWEEN}{text[len(text) - end :]}", size)


def wrapped(text: str, size: int) -> list[str]:
    """In lines of at most this size; a word that is longer is broken."""
    size = max(1, size)
    if cell_len(text) == len(text):
        return wrap(text, size, break_on_hyphens=False) or [""]
    lines = Text(" ".join(text.split())).wrap(Console(width=size), size, overflow="fold")
    return [line.plain.rstrip() for line in lines]


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
            rest = ", ".join(f"{count:,} {phase}" for phase, count in counts.items())
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
