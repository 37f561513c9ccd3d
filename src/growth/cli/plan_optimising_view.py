"""How the way to the cheapest cluster looks in a terminal: a report and a width in, something to look at out."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from growth.cli.memory_report import counted
from growth.cli.plan_optimising import LeavingNode, MoveRow, OptimizationReport
from growth.cli.plan_tables import (
    SHOWN_NAMES,
    a_table,
    add_money,
    add_numbers,
    add_words,
    machines,
    money,
    notices,
    reasons,
)

_SHOWN_MOVES: Final = 20
_WIDE: Final = 100


def view(report: OptimizationReport, width: int, *, is_all: bool = False) -> RenderableType:
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
    add_numbers(table, "PODS MOVE" if width >= _WIDE else "PODS")
    add_money(table, f"SAVES {report.currency}".rstrip() if width >= _WIDE else "SAVES")
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
