"""What both plans are drawn with: tables with money in them, and reasons with the names that they are about."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from growth.cli.memory_report import named
from growth.cli.money import hourly, monthly
from growth.cli.plan_waiting import PlannedMachine

SHOWN_NAMES: Final = 3
_WIDE: Final = 100


def a_table(width: int) -> Table:
    """Without lines; where there is room, with more air."""
    return Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2 if width >= _WIDE else 1, 0, 0))


def add_words(table: Table, *titles: str) -> None:
    """Columns of words, which give way where it is narrow."""
    for title in titles:
        table.add_column(title, overflow="fold")


def add_numbers(table: Table, *titles: str) -> None:
    """Columns of figures, which never do."""
    for title in titles:
        table.add_column(title, justify="right", no_wrap=True)


def add_money(table: Table, currency: str) -> None:
    """What it comes to in an hour, and in a month."""
    add_numbers(table, f"{currency} AN HOUR".strip(), "A MONTH")


def money(amount_per_hour: float) -> tuple[str, str]:
    """The cells of both columns."""
    return hourly(amount_per_hour), monthly(amount_per_hour)


def machines(bought: Iterable[PlannedMachine]) -> str:
    """Such as ``2 x medium fsn1``, each kind on a line."""
    counts = Counter(f"{one.server_type} {one.location}".rstrip() for one in bought)
    return "\n".join(f"{count:,} x {what}" for what, count in counts.items())


def reasons(found: Iterable[tuple[str, str]], *, is_all: bool) -> Iterator[RenderableType]:
    """Reasons with names: those that hold for most first, each with how many and who."""
    groups: dict[str, list[str]] = {}
    for why, name in found:
        groups.setdefault(why, []).append(name)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True, style="bold")
    table.add_column(overflow="fold")
    for why, names in sorted(groups.items(), key=lambda group: (-len(group[1]), group[0])):
        shown = named(names, len(names) if is_all else SHOWN_NAMES)
        table.add_row(f"{len(names):,}", Text.assemble(why, "\n", (shown, "dim")))
    yield Padding(table, (0, 0, 0, 2), expand=False)


def notices(said: Sequence[str]) -> Iterator[RenderableType]:
    """What holds for all of it."""
    if said:
        yield Text()
    for one in said:
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_row(Text("!", style="yellow"), Text(one))
        yield table
