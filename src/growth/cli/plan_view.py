"""What both plans are drawn with: tables with money in them, and reasons with the names that they are about.

How the plan for those who wait looks in a terminal: a report and a width in, something to look at out.

How the way to the cheapest cluster looks in a terminal: a report and a width in, something to look at out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from growth.cli.formatting import hourly, monthly
from growth.cli.memory_list import counted, named
from growth.cli.plan_consolidation import LeavingNode, MoveRow, OptimizationReport
from growth.cli.plan_pending import PendingReport, PlannedMachine

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


def machines(launched: Iterable[PlannedMachine]) -> str:
    """Such as ``2 x medium fsn1``, each kind on a line."""
    counts = Counter(f"{one.server_type} {one.location}".rstrip() for one in launched)
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


# What floats leave over.
_NOTHING = 1e-9


def pending_view(report: PendingReport, width: int, *, is_all: bool = False) -> RenderableType:
    """The whole picture; with ``is_all``, each machine and each name."""
    parts: list[RenderableType] = [_headline(report)]
    if report.machines:
        parts += [Text(), _machines(report, width, is_all=is_all), *_bound(report)]
    if report.places:
        parts += [Text(), _places(report, width, is_all=is_all)]
    if report.homeless:
        parts += [Text(), Text(f"Nothing is bought for {counted(len(report.homeless), 'pod')}", style="bold")]
        parts += reasons(((one.why, one.pod) for one in report.homeless), is_all=is_all)
    return Group(*parts, *notices(report.notices))


def _headline(report: PendingReport) -> Text:
    waits = f"{report.waiting:,} pods wait" if report.waiting != 1 else "1 pod waits"
    line = Text(waits if report.waiting else "Nobody waits", style="bold")
    if report.pool:
        line.append(f" for pool {report.pool}")
    if not report.machines:
        return line.append("   nothing to buy", style="green not bold")
    line.append(f"   {counted(len(report.machines), 'machine')} to buy")
    cost = f"{hourly(report.per_hour)} {report.currency}".rstrip()
    return line.append(f"   {cost} an hour, {monthly(report.per_hour)} a month", style="not bold")


def _machines(report: PendingReport, width: int, *, is_all: bool) -> Table:
    table = a_table(width)
    add_words(table, "MACHINES", "POOL")
    add_numbers(table, "PODS")
    add_money(table, report.currency)
    add_words(table, "FOR")
    for group in _groups(report, is_all=is_all):
        pods = [pod for one in group for pod in one.pods]
        whom = named(pods, len(pods) if is_all else SHOWN_NAMES) if pods else group[0].why
        cost = money(sum(one.per_hour for one in group))
        table.add_row(machines(group), group[0].pool, f"{len(pods):,}", *cost, Text(whom, style="dim"))
    if len(report.machines) > 1:
        count = sum(len(one.pods) for one in report.machines)
        table.add_row("all together", "", f"{count:,}", *money(report.per_hour), style="bold")
    return table


def _groups(report: PendingReport, *, is_all: bool) -> list[list[PlannedMachine]]:
    """Machines that are the same and for the same; each by itself if everything is to be seen."""
    if is_all:
        return [[one] for one in report.machines]
    found: dict[tuple[str, str, str], list[PlannedMachine]] = {}
    for one in report.machines:
        found.setdefault((one.pool, one.offering, one.why), []).append(one)
    return list(found.values())


def _bound(report: PendingReport) -> Iterator[Text]:
    if report.bound_per_hour is None:
        return
    if report.per_hour <= report.bound_per_hour + _NOTHING:
        yield Text("Nothing that costs less serves them: proven.", style="dim")
    else:
        yield Text(f"Nothing that costs less than {hourly(report.bound_per_hour)} an hour serves them: proven.", "dim")


def _places(report: PendingReport, width: int, *, is_all: bool) -> Table:
    table = a_table(width)
    add_words(table, "ROOM THERE IS")
    add_numbers(table, "PODS")
    add_words(table, "FOR")
    for one in report.places:
        where = f"{one.node} (on its way)" if one.is_coming else one.node
        whom = named(one.pods, len(one.pods) if is_all else SHOWN_NAMES)
        table.add_row(where, f"{len(one.pods):,}", Text(whom, style="dim"))
    return table


_SHOWN_MOVES: Final = 20
_WIDE_MOVES: Final = 100


def consolidation_view(report: OptimizationReport, width: int, *, is_all: bool = False) -> RenderableType:
    """The whole picture; with ``is_all``, each move and each name."""
    shown = report.steps if is_all else report.steps[:_SHOWN_MOVES]
    parts: list[RenderableType] = [_balance(report, width), Text()]
    if shown:
        parts += [_moves(report, shown, width, is_all=is_all), *_risks(shown)]
    else:
        parts.append(Text("Nothing to do: no move pays.", style="green"))
    if report.staying:
        title = f"{counted(len(report.staying), 'node')} {'stays' if len(report.staying) == 1 else 'stay'}, because"
        parts += [Text(), Text(title, style="bold")]
        parts += reasons(((one.kind, one.name) for one in report.staying), is_all=is_all)
    return Group(*parts, *notices(report.notices))


# The money


def _balance(report: OptimizationReport, width: int) -> Table:
    table = a_table(width)
    add_words(table, f"POOL {report.pool}" if report.pool else "ALL POOLS")
    add_numbers(table, "MACHINES")
    add_money(table, report.currency)
    add_numbers(table, "SAVES")
    table.add_row("now", f"{report.machines:,}", *money(report.now_per_hour))
    moves = counted(len(report.steps), "move")
    after = report.after_per_hour
    table.add_row(f"after {moves}", f"{report.machines_after:,}", *money(after), _share(report, after), style="bold")
    best, bound = report.best_per_hour, report.bound_per_hour
    table.add_row("if all that may go were bought today", "", *money(best), _share(report, best))
    table.add_row("at least, proven", "", *money(bound), _share(report, bound), style="dim")
    return table


def _share(report: OptimizationReport, per_hour: float) -> str:
    return f"{100 * (1 - per_hour / report.now_per_hour):.1f}%" if report.now_per_hour else "-"


# Moves


def _moves(report: OptimizationReport, shown: Sequence[MoveRow], width: int, *, is_all: bool) -> Table:
    table = a_table(width)
    add_numbers(table, "#")
    table.add_column("MOVE", no_wrap=True)
    add_words(table, "GOES", "COMES")
    add_numbers(table, "PODS MOVE" if width >= _WIDE_MOVES else "PODS")
    add_money(table, f"SAVES {report.currency}".rstrip() if width >= _WIDE_MOVES else "SAVES")
    for number, step in enumerate(shown, 1):
        terminating = _names(step.going, len(step.going) if is_all else SHOWN_NAMES)
        coming = machines(step.buying) or Text("-", style="dim")
        row = (terminating, coming, f"{len(step.moving):,}", *money(step.saves_per_hour))
        table.add_row(f"{number}", Text(step.form, style="cyan"), *row)
    hidden = report.steps[len(shown) :]
    if hidden:
        saved = money(sum(step.saves_per_hour for step in hidden))
        pods = sum(len(step.moving) for step in hidden)
        table.add_row("", "", f"{len(hidden):,} more: --verbose", "", f"{pods:,}", *saved, style="dim")
    if len(report.steps) > 1:
        terminating = counted(sum(len(step.going) for step in report.steps), "node")
        coming = counted(sum(len(step.buying) for step in report.steps), "machine")
        pods = sum(len(step.moving) for step in report.steps)
        table.add_row("", "all", terminating, coming, f"{pods:,}", *money(report.saves_per_hour), style="bold")
    return table


def _names(terminating: Sequence[LeavingNode], shown: int) -> str:
    rest = [f"and {len(terminating) - shown:,} more"] if len(terminating) > shown else []
    return "\n".join([*(one.name for one in terminating[:shown]), *rest])


def _risks(shown: Sequence[MoveRow]) -> Iterator[RenderableType]:
    """What each move risks; also of which nothing is known, so that nobody wonders whether it was looked."""
    rows = [(f"move {number}", risk) for number, step in enumerate(shown, 1) for risk in step.risks]
    quiet = [number for number, step in enumerate(shown, 1) if step.moving and not step.risks]
    if quiet:
        which = f"move {quiet[0]}" if len(quiet) == 1 else "others" if rows else "all moves"
        rows.append((which, "nothing but that each pod ends here and starts anew elsewhere"))
    if not rows:
        return
    yield Text()
    yield Text("What to mind", style="bold")
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="yellow")
    table.add_column(overflow="fold")
    for which, risk in rows:
        table.add_row(which, Text(risk))
    yield Padding(table, (0, 0, 0, 2), expand=False)
