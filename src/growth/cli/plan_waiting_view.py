"""How the plan for those who wait looks in a terminal: a report and a width in, something to look at out."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from growth.cli.memory_report import counted, named
from growth.cli.money import hourly, monthly
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
from growth.cli.plan_waiting import PendingReport, PlannedMachine

# What floats leave over.
_NOTHING = 1e-9


def view(report: PendingReport, width: int, *, is_all: bool = False) -> RenderableType:
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
