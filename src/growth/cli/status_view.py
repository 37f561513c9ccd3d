"""How the report looks in a terminal: a Report and a width in, something to look at out."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from growth.api.growth_status import TroubledNode
from growth.api.timestamp import format_time
from growth.cli.formatting import span
from growth.cli.status_report import ClosedOffering, HealthSummary, PoolStatusRow, StatusReport

_WIDE: Final = 100
_WORDS: Final = {
    "RemovalFailed": ("could not be removed", "bold red"),
    "Unready": ("unready", "red"),
    "FailedToStart": ("failed to start", "red"),
    "NeverRegistered": ("never registered", "red"),
    "NeverCreated": ("never created", "yellow"),
    "BeingRemoved": ("leaving", "magenta"),
    "Requested": ("asked for", "cyan"),
    "Booting": ("booting", "cyan"),
    "Ready": ("ready", "green"),
    "Foreign": ("not ours", "dim"),
}
# What a pool's status counts; the first two always, the others if there are some.
_COUNTS: Final = {
    "ready": "green",
    "coming": "cyan",
    "missing": "yellow",
    "unready": "red",
    "failed": "red",
    "leaving": "magenta",
    "stuck": "bold red",
}
_ALWAYS: Final = ("ready", "coming")
_BADGES: Final = {
    HealthSummary.HEALTHY: "bold white on green",
    HealthSummary.UNHEALTHY: "bold white on red",
    HealthSummary.UNKNOWN: "bold black on yellow",
}
_GOES_ON: Final = (
    "Growth goes on nevertheless: only nodes of others are unready, and these halt it for a while at most"
    " (registry.foreignHaltAtMost)."
)
_NO_POOLS: Final = "There is no NodePool, so Growth buys nothing. docs/kinds.md shows how to write one."
_SHOWN_NOTES: Final = 8


def view(report: StatusReport, width: int, rows: int | None = None) -> RenderableType:
    """The whole picture, with at most so many of the troubled nodes; None shows all that are known."""
    parts: list[RenderableType] = [*_headline(report), *_leader(report)]
    if report.health is not HealthSummary.UNKNOWN or report.was_told or report.pools:
        parts += [Text(), _nodes(report)]
        pools = [_pools(report, width), *_notes(report)] if report.pools else [Text(_NO_POOLS, style="yellow")]
        parts += [Text(), *pools]
    if report.troubled:
        parts += [Text(), _troubled(report, width, rows)]
    if report.capabilities:
        parts += [Text(), *map(_capability, report.capabilities.items())]
    return Group(*parts, Text(), _next(report))


def _capability(reported: tuple[str, dict[str, Any]]) -> Text:
    name, status = reported
    return Text.assemble((f"{name}  ", "dim"), ", ".join(f"{field}: {value}" for field, value in status.items()))


# How the cluster is


def _headline(report: StatusReport) -> list[RenderableType]:
    badge = Text(f" {report.health.upper()} ", style=_BADGES[report.health])
    if report.health is HealthSummary.UNKNOWN:
        lines: list[RenderableType] = [badge, Text(f"{report.problem}.", style="yellow")]
        if report.was_told:
            lines += [Text(f"What it last wrote: {_last_words(report)}", style="dim")]
            lines += [Text(report.alarm, style="dim")] if report.alarm else []
        return lines
    if report.health is HealthSummary.HEALTHY:
        since = report.healthy_since
        words = (
            f"Growth is at work, for {span(report.at - since)} since it was halted" if since else "Growth is at work"
        )
        return [badge.append(f"  {words}", style="default on default not bold")]
    if since := report.unhealthy_since:
        badge.append(
            f"  for {span(report.at - since)}, since {format_time(since)}", style="default on default not bold"
        )
    lines = [badge, Text(f"{report.alarm}.", style="bold red")]
    words = "Growth is HALTED. It still opens nodes that come, and goes on by itself when this is over."
    return [*lines, Text(words, style="red") if report.is_halted else Text(_GOES_ON, style="yellow")]


def _last_words(report: StatusReport) -> str:
    if not report.alarm:
        return "the cluster was healthy."
    return f"the cluster was unhealthy, and Growth {'halted' if report.is_halted else 'at work'}:"


def _leader(report: StatusReport) -> Iterable[Text]:
    leader = report.leader
    if leader.is_alive:
        renewed = (
            f", whose last sign of life came {span(report.at - leader.renewed_at)} ago" if leader.renewed_at else ""
        )
        yield Text.assemble(("led by ", "dim"), leader.holder, (renewed, "dim"))


def _nodes(report: StatusReport) -> Text:
    counts = dict(report.states)
    ready = {"Ready": counts.pop("Ready", 0)}
    told = [_count(report, state, count) for state, count in {**ready, **counts}.items() if count]
    line = Text().append("nodes  ", style="dim")
    return line.append_text(Text(", ").join(told)) if told else line.append("there are none")


def _count(report: StatusReport, state: str, count: int) -> Text:
    words, style = _words(state)
    unready = f" ({report.foreign_unready:,} of them unready)" if state == "Foreign" else ""
    return Text.assemble((f"{count:,} {words}", style), (unready if report.foreign_unready else "", "red"))


def _words(state: str) -> tuple[str, str]:
    """A state in words; one that this version does not know speaks for itself."""
    return _WORDS.get(state, (state, ""))


# Pools


def _pools(report: StatusReport, width: int) -> Table:
    rows = [(pool, _counts(pool)) for pool in report.pools]
    titles = [one for one in _COUNTS if one in _ALWAYS or any(counts[one] for _, counts in rows)]
    is_waiting = any(pool.missing_since for pool in report.pools)
    table = _table(width)
    table.add_column("POOL", no_wrap=True, overflow="ellipsis", min_width=4)
    for title in titles:
        table.add_column(title.upper(), justify="right", no_wrap=True)
    if is_waiting:
        table.add_column("NO NODE FOR", justify="right", no_wrap=True)
    table.add_column("HEALTH", no_wrap=True, overflow="ellipsis", min_width=8)
    for pool, counts in rows:
        told = [Text(f"{counts[one]:,}", style=_COUNTS[one] if counts[one] else "dim") for one in titles]
        waits = [_ago(pool.missing_since, report.at)] if is_waiting else []
        table.add_row(pool.name, *told, *waits, _pool_health(pool))
    return table


def _counts(pool: PoolStatusRow) -> dict[str, int]:
    counts: dict[str, int] = msgspec.structs.asdict(pool.nodes)
    return {**counts, "coming": counts["coming"] + counts["starting"]}


def _pool_health(pool: PoolStatusRow) -> Text:
    if pool.problem:
        return Text("not valid", style="yellow")
    if any(not one.offering for one in pool.closed):
        return Text("closed", style="bold red")
    if count := len(pool.closed):
        return Text(f"{count} offering{'s' if count > 1 else ''} closed", style="yellow")
    return Text("healthy", style="green")


def _notes(report: StatusReport) -> Iterable[Text]:
    """What is closed until when, and what is wrong with a pool."""
    notes = [
        note
        for pool in report.pools
        for note in (
            *([_note(pool, pool.problem)] if pool.problem else []),
            *(_note(pool, _closed(one, report.at)) for one in _told_apart(pool.closed)),
        )
    ]
    yield from notes[:_SHOWN_NOTES]
    if len(notes) > _SHOWN_NOTES:
        yield Text(f"! and {len(notes) - _SHOWN_NOTES} more: --output json shows all", style="dim")


def _told_apart(closed: Sequence[ClosedOffering]) -> Iterable[ClosedOffering]:
    """A pool that is closed as a whole says enough; what is closed for a time of its own is told as well."""
    is_whole = any(not one.offering for one in closed)
    return [one for one in closed if not one.offering or one.until or not is_whole]


def _note(pool: PoolStatusRow, words: str) -> Text:
    return Text.assemble((f"! pool {pool.name}: ", "yellow"), words)


def _closed(one: ClosedOffering, at: datetime) -> str:
    what, again = (f"{one.offering} is not", "it is") if one.offering else ("nothing more is", "machines are")
    since = f", for {span(at - one.since)}" if one.since else ""
    until = f"one is tried again in {span(one.until - at)}" if one.until else f"{again} bought again when that is over"
    return f"{what} bought{since}: {one.why}; {until}"


# Nodes that do not simply work


def _troubled(report: StatusReport, width: int, rows: int | None) -> RenderableType:
    shown = report.troubled if rows is None else report.troubled[:rows]
    table = _table(width)
    table.add_column("NODE", no_wrap=True, overflow="ellipsis", max_width=width // 3)
    if width >= _WIDE:
        table.add_column("POOL", no_wrap=True, overflow="ellipsis", max_width=width // 6)
    table.add_column("STATE", no_wrap=True)
    table.add_column("FOR", justify="right", no_wrap=True)
    table.add_column("WHY", overflow="fold", min_width=10)
    before = ""
    for one in shown:
        words, style = _words(one.state)
        pool = [one.pool or "-"] if width >= _WIDE else []
        # A hundred nodes that fell silent together should not fill the screen with one sentence.
        why = Text("the same", style="dim") if one.why and one.why == before else Text(one.why)
        table.add_row(one.name, *pool, Text(words, style=style), _ago(one.since, report.at), why)
        before = one.why
    hidden = report.troubled_in_all - len(shown)
    parts: list[RenderableType] = [table] if shown else []
    return Group(*parts, Text(_more(report, shown, hidden), style="dim")) if hidden > 0 else Group(*parts)


def _more(report: StatusReport, shown: Sequence[TroubledNode], hidden: int) -> str:
    all_of_them = Counter(report.states)
    all_of_them["Ready"] = 0
    all_of_them["Foreign"] = report.foreign_unready
    rest = all_of_them - Counter(one.state for one in shown)
    told = ", ".join(f"{count:,} {_words(state)[0]}" for state, count in rest.items())
    return f"and {hidden:,} more{f': {told}' if told else ''}"


def _ago(instant: datetime | None, at: datetime) -> str:
    return span(at - instant) if instant else "-"


def _table(width: int) -> Table:
    return Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2 if width >= _WIDE else 1, 0, 0))


# What to do next


def _next(report: StatusReport) -> RenderableType:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, overflow="ellipsis", style="bold")
    table.add_column(style="dim", overflow="fold")
    for command, what in _commands(report):
        table.add_row(command, what)
    return Group(Text("What to do next", style="dim"), Padding(table, (0, 0, 0, 2)))


def _commands(report: StatusReport) -> Iterable[tuple[str, str]]:
    """The most pressing first."""
    is_there = report.was_told or bool(report.pools)
    if not report.leader.is_alive:
        yield f"kubectl -n {report.namespace} get pods", "is Growth there?"
        yield f"kubectl -n {report.namespace} logs deploy/growth", "why did it end?"
    if not is_there and not report.leader.is_alive:
        yield "growth status --namespace NAME", "if it is in another one"
        yield "growth manifests --help", "if it is to be installed"
        return
    if silent := _first(report, "Unready", "FailedToStart", "Foreign"):
        yield f"kubectl describe node {silent}", "what its kubelet said last"
    if stuck := _first(report, "RemovalFailed"):
        yield f"growth request retry {stuck}", "once its provider lets it go"
    if closed := [pool.name for pool in report.pools if pool.closed or pool.problem]:
        yield f"kubectl describe np {closed[0]}", "what was learnt about it"
    yield "growth request list", "how far each request is"
    yield "growth top --follow", "pools and machines, live"


def _first(report: StatusReport, *states: str) -> str:
    return next((one.name for state in states for one in report.troubled if one.state == state), "")
