"""How the fleet looks in a terminal: a Fleet and a width in, something to look at out.

``growth top``: what there is, what is coming, what is leaving and when, and what it costs.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, PODS, Kind
from growth.api.node_pool import FailedLaunches
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import KubeSettings
from growth.cli.client_session import run_interruptible
from growth.cli.errors import UsageError, sentence_for
from growth.cli.formatting import HOURS_A_MONTH, span
from growth.cli.reports.machines import (
    Fleet,
    LimitUsage,
    MachinePhase,
    MachineRow,
    PoolSummary,
    UnavailableOffering,
    fleet_of,
)
from growth.cli.settings_options import with_settings_of
from growth.cli.snapshot import bar, reading
from growth.kube.access import find_access
from growth.kube.client import connect
from growth.kube.errors import KubeError
from growth.observe.cache import ClusterCache

_GIB: Final = 1 << 30
_WIDE: Final = 100
_SHORTEST_BAR: Final = 3
_LONGEST_BAR: Final = 16
_SHARE: Final = 5
"""A bar is followed by a share: a blank and up to four characters."""
_USUAL_STATE: Final = 30
"""So long most states are; with room for that, bars do not change their length whenever a second passes."""
_SHOWN_NOTES: Final = 6
_STYLES: Final = {
    MachinePhase.FAILED: "bold red",
    MachinePhase.UNREADY: "red",
    MachinePhase.UNMET: "yellow",
    MachinePhase.LEAVING: "magenta",
    MachinePhase.COMING: "cyan",
    MachinePhase.STARTING: "cyan",
    MachinePhase.EMPTY: "yellow",
    MachinePhase.READY: "green",
}
_NO_POOLS: Final = "There is no NodePool, so Growth buys nothing. docs/kinds.md shows how to write one."


def view(fleet: Fleet, width: int, rows: int | None = None) -> RenderableType:
    """The whole picture, with at most so many machines; None shows them all."""
    parts: list[RenderableType] = [_headline(fleet), Text()]
    if not fleet.pools:
        return Group(*parts, Text(_NO_POOLS, style="yellow"))
    parts.append(_pools(fleet.pools, width))
    if notes := list(_notes(fleet)):
        parts += [Text(), *notes[:_SHOWN_NOTES]]
        if len(notes) > _SHOWN_NOTES:
            parts.append(Text(f"! and {len(notes) - _SHOWN_NOTES} more: --output json shows all", style="dim"))
    if fleet.machines:
        parts += [Text(), _machines(fleet, width, rows)]
    return Group(*parts)


def _headline(fleet: Fleet) -> Text:
    pools, machines = len(fleet.pools), sum(machine.costs for machine in fleet.machines)
    counted = f"{pools} pool{'' if pools == 1 else 's'}, {machines:,} machine{'' if machines == 1 else 's'}"
    line = Text().append(counted, style="bold")
    if fleet.other_nodes:
        line.append(f"   {fleet.other_nodes:,} nodes of no pool", style="dim")
    waits = f"{fleet.waiting:,} pods wait" if fleet.waiting else "nobody waits"
    line.append(f"   {waits}", style="bold yellow" if fleet.waiting else "green")
    if fleet.cost_per_hour is not None:
        line.append(f"   {_money(fleet.cost_per_hour, fleet.currency)} an hour", style="bold")
        line.append(f", {fleet.cost_per_hour * HOURS_A_MONTH:,.2f} a month")
    return line


# Pools


def _pools(pools: Sequence[PoolSummary], width: int) -> Table:
    counted = [_counted(pool, max(2, min(4, width // 30))) for pool in pools]
    limits = [_limits(pool.limits) for pool in pools]
    costs = [_costs(pool, width) for pool in pools]
    titles = ("PER HOUR", "PER MONTH")[: len(costs[0])]
    words = {
        "POOL": _widest("POOL", [pool.name for pool in pools]),
        "MACHINES": _widest("MACHINES", counted),
        "LIMITS": _widest("LIMITS", limits),
    }
    others = [_widest(title, column) for title, column in zip(titles, zip(*costs, strict=True), strict=True)]
    table, long = _table(words, others, width)
    for title, wide in zip(titles, others, strict=True):
        table.add_column(title, justify="right", no_wrap=True, width=wide)
    for pool, count, limit, cost in zip(pools, counted, limits, costs, strict=True):
        bars = [bar(filled, long) if filled.total else "" for filled in (pool.cpu_millis, pool.memory_bytes)]
        table.add_row(pool.name, count, limit, *bars, *cost)
    return table


def _table(words: dict[str, int], others: Sequence[int], width: int) -> tuple[Table, int]:
    """A table with columns of these words and two of bars, and how long the bars may be.

    ``others`` are the columns that come after, and keep their widths. Where it is too much, the longest words give way.
    """
    gap = 2 if width >= _WIDE else 1
    free = width - sum(others) - gap * (len(words) + len(others) + 1)
    while sum(words.values()) > free - 2 * (_SHORTEST_BAR + _SHARE) > len(words):
        words[max(words, key=lambda title: words[title])] -= 1
    long = max(_SHORTEST_BAR, min(_LONGEST_BAR, (free - sum(words.values())) // 2 - _SHARE))
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, gap, 0, 0))
    for title, wide in words.items():
        table.add_column(title, no_wrap=True, overflow="ellipsis", width=wide)
    table.add_column("CPU", no_wrap=True, width=long + _SHARE)
    table.add_column("MEMORY", no_wrap=True, width=long + _SHARE)
    return table, long


def _widest(title: str, cells: Iterable[str | Text]) -> int:
    return max([len(title), *(len(line) for cell in cells for line in str(cell).splitlines())])


def _counted(pool: PoolSummary, in_a_line: int) -> Text:
    """The ready ones first; so many words in a line that the table stays within the terminal."""
    told = [Text(f"{count:,} {phase}", style=_STYLES[phase]) for phase, count in pool.machines.items()][::-1]
    lines = [Text(", ").join(told[at : at + in_a_line]) for at in range(0, len(told), in_a_line)]
    return Text(",\n").join(lines) if told else Text("none", style="dim")


def _limits(limits: Iterable[LimitUsage]) -> Text:
    told = [Text(f"{limit.name} {_used(limit)}", style="yellow" if limit.is_reached else "") for limit in limits]
    return Text("\n").join(told)


def _used(limit: LimitUsage) -> str:
    size, unit = (_GIB, "Gi") if limit.name == "memory" else (1, "")
    at_least = "+" if limit.is_at_least else ""
    return f"{limit.used / size:.4g}{at_least} of {limit.most / size:.4g}{unit}"


def _costs(pool: PoolSummary, width: int) -> list[str]:
    cost = pool.cost_per_hour
    shown = ["-", "-"] if cost is None else [_money(cost, pool.currency), f"{cost * HOURS_A_MONTH:,.2f}"]
    return shown if width >= _WIDE else shown[:1]


def _money(amount: float, currency: str) -> str:
    return f"{amount:.4f} {currency}".rstrip()


# What is wrong, and what to do


def _notes(fleet: Fleet) -> Iterable[Text]:
    retries = {pool.name: pool.retries_after for pool in fleet.pools}
    for machine in fleet.machines:
        if machine.standing is MachinePhase.FAILED:
            yield _failed_removal(machine, retries.get(machine.pool, ""), fleet.at)
    for pool in fleet.pools:
        for problem in pool.problems:
            yield _note(f"pool {pool.name}", problem)
        for limit in pool.limits:
            if limit.is_reached:
                yield _note(f"pool {pool.name}", f"its limit of {limit.name} is used up: {_used(limit)}")
        for entry in pool.left_alone:
            yield _note(f"pool {pool.name}", _left_alone(entry, fleet.at))
        for failing in pool.failing:
            yield _note(f"pool {pool.name}", _failing(failing, fleet.at))
        if pool.wasted_machines:
            yield _note(f"pool {pool.name}", _wasted(pool), "dim")


def _note(about: str, words: str, style: str = "yellow") -> Text:
    return Text.assemble((f"! {about}: ", style), words)


def _failed_removal(machine: MachineRow, retries_after: str, at: datetime) -> Text:
    last = f", the last {span(at - machine.attempted_at)} ago" if machine.attempted_at else ""
    why = f" ({machine.message})" if machine.message else ""
    tried = f"it could not be removed in {machine.attempts} attempts{last}{why}. It still costs"
    if machine.is_to_be_retried:
        return _note(machine.name, f"{tried}; somebody has asked to try again, and Growth is about to", "bold red")
    itself = f", or it is tried again {retries_after} after it failed" if retries_after else ""
    then = f"; mend it at its provider, then: growth request retry {machine.request}{itself}"
    return _note(machine.name, tried + then, "bold red")


def _left_alone(entry: UnavailableOffering, at: datetime) -> str:
    again = f"; one is tried again in {span(entry.until - at)}" if entry.until else ""
    return f"{entry.offering}: {entry.reason}{f', {entry.message}' if entry.message else ''}{again}"


def _failing(entry: FailedLaunches, at: datetime) -> str:
    count = entry.failures
    times = f"{count} machines in a row never worked" if count > 1 else "the last machine never worked"
    again = f"; one more is tried in {span(entry.retry_at - at)}" if entry.retry_at and entry.retry_at > at else ""
    return f"{entry.offering}: {times} ({entry.reason}, {entry.message}){again}"


def _wasted(pool: PoolSummary) -> str:
    count = pool.wasted_machines
    cost = _money(pool.wasted_cost, pool.currency)
    return f"{count:,} machine{'' if count == 1 else 's'} never worked since the pool was created, and cost {cost}"


# Machines


def _machines(fleet: Fleet, width: int, rows: int | None) -> RenderableType:
    shown = fleet.machines if rows is None else fleet.machines[:rows]
    cells: dict[str, list[str | Text]] = {"NODE": [machine.name for machine in shown]}
    # A node is named after its pool, so where there is little room that says enough.
    if width >= _WIDE:
        cells["POOL"] = [machine.pool or "-" for machine in shown]
    cells["MACHINE"] = [_kind(machine) for machine in shown]
    cells["STATE"] = [state(machine, fleet.at) for machine in shown]
    words = {title: _widest(title, column) for title, column in cells.items()}
    if width >= _WIDE:
        words["STATE"] = max(words["STATE"], _USUAL_STATE)
    table, long = _table(words, [len("PODS")], width)
    table.add_column("PODS", justify="right", no_wrap=True, width=len("PODS"))
    for at, machine in enumerate(shown):
        bars = [bar(filled, long) if filled else "" for filled in (machine.cpu_millis, machine.memory_bytes)]
        table.add_row(
            *(column[at] for column in cells.values()), *bars, f"{machine.work}" if machine.cpu_millis else ""
        )
    hidden = fleet.machines[len(shown) :]
    return Group(table, Text(_more(hidden), style="dim")) if hidden else table


def _more(hidden: Sequence[MachineRow]) -> str:
    counts = {phase: sum(one.standing is phase for one in hidden) for phase in MachinePhase}
    return f"and {len(hidden):,} more: " + ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)


def _kind(machine: MachineRow) -> str:
    """What it was bought as, without the provider's name; else what its node says that it is."""
    launched = machine.offering.partition("-")[2] or machine.offering
    return launched or " ".join(part for part in (machine.server_type, machine.location) if part) or "-"


def state(machine: MachineRow, at: datetime) -> Text:
    """How a machine stands, and since or until when, in a few words."""
    words = _state(machine, at) + (", cordoned" if machine.is_cordoned else "")
    return Text(words, style=_STYLES[machine.standing], no_wrap=True, overflow="ellipsis")


def _state(machine: MachineRow, at: datetime) -> str:
    long = f" for {span(at - machine.since)}" if machine.since else ""
    match machine.standing:
        case MachinePhase.EMPTY:
            return f"empty: {_goes(machine, at)}"
        case MachinePhase.UNREADY if machine.goes_at is not None:
            return f"unready{long}: {_goes(machine, at)}"
        case MachinePhase.FAILED:
            return f"RemovalFailed{long}" + (", to be retried" if machine.is_to_be_retried else "")
        case MachinePhase.LEAVING if not machine.phase:
            return f"draining{long}"
        case MachinePhase.LEAVING if machine.attempts:
            return f"leaving{long}: attempt {machine.attempts}"
        case MachinePhase.COMING | MachinePhase.UNMET:
            return f"{machine.phase}{long}{f': {machine.why}' if machine.why else ''}"
        case MachinePhase.READY:
            return "ready"
        case _:
            return f"{machine.standing}{long}"


def _goes(machine: MachineRow, at: datetime) -> str:
    left = (machine.goes_at or at) - at
    return f"goes in {span(left)}" if left > timedelta(0) else f"due for {span(-left)}"


_KINDS: Final[tuple[Kind[Any], ...]] = (PODS, NODES, NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS)
_FRAME_SECONDS: Final = 0.5
# Of a very large cluster a frame takes a while to count; at most this share of the time goes into it.
_BUSY_SHARE: Final = 0.25
# Enough to see what is going on, wherever the screen ends.
_LEAST_ROWS: Final = 5


@click.command()
@with_settings_of("kube")
@click.option("--pool", "-p", metavar="NAME", default="", help="Show one pool and its machines only.")
@click.option("--follow", "-f", is_flag=True, help="Stay and show changes as they come, until Ctrl-C.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def top(effective: EffectiveSettings, pool: str, output: str, *, follow: bool) -> None:
    """See pools and machines: how full, what comes, what leaves and when, what it costs.

    What somebody should look at comes first: what is wrong and what to do about it, then machines that could not be
    removed, are unready, could not be had, are leaving, coming, starting or empty, and the ready ones last. Bars show
    what pods ask for, not what they use; PODS counts those that the node is there for, without DaemonSets. Costs are
    what Growth wrote into the status of each pool, in the currency that its provider names; a month has 730 hours.

    It reads pods, nodes and Growth's own kinds (list, watch), asks no provider, and changes nothing.

    \b
    Example:
      growth top --follow
      growth top --pool gpu
      growth top --output json | jq '.machines[] | select(.standing == "empty") | .goes_at'
    """
    if follow and output == "json":
        raise UsageError("--follow shows text: leave out --output json, or --follow")
    try:
        run_interruptible(_show(effective.settings.kube, pool, output, follow=follow))
    except KubeError as error:
        raise UsageError(sentence_for(error)) from error
    except KeyboardInterrupt:
        pass  # the only way to end --follow, so it is no failure


async def _show(kube: KubeSettings, pool: str, output: str, *, follow: bool) -> None:
    access = find_access(Path(kube.kubeconfig) if kube.kubeconfig else None, kube.context or None)
    console, seen = Console(highlight=False), ClusterCache()
    async with (
        connect(access, max_concurrent_requests=kube.max_concurrent_requests) as client,
        reading(client, seen, _KINDS, console),
    ):
        _check(pool, seen)
        if follow:
            await _follow(console, seen, pool)
        fleet = _fleet_now(seen, pool)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(fleet)).decode())
    else:
        # Whoever reads it through a pipe wants all of it.
        rows = _rows(fleet, console) if console.is_terminal else None
        console.print(view(fleet, console.width, rows))


async def _follow(console: Console, seen: ClusterCache, pool: str) -> None:
    with Live(console=console, auto_refresh=False) as live:
        while True:
            began = time.monotonic()
            fleet = _fleet_now(seen, pool)
            live.update(view(fleet, console.width, _rows(fleet, console)), refresh=True)
            took = time.monotonic() - began
            await asyncio.sleep(max(_FRAME_SECONDS, took / _BUSY_SHARE))


def _rows(fleet: Fleet, console: Console) -> int:
    """How many machines fit on the screen below the rest, with the line that counts the others."""
    rest = len(console.render_lines(view(fleet, console.width, 0), pad=False))
    return max(_LEAST_ROWS, console.height - rest - 1)


def _check(pool: str, seen: ClusterCache) -> None:
    """Whether there is such a pool; nodes may name one that is gone."""
    fleet = _fleet_now(seen, "")
    names = [known.name for known in fleet.pools]
    if pool and pool not in names:
        close = get_close_matches(pool, names, 1)
        hint = f", the closest is {close[0]!r}" if close else ""
        known = f"expected one of {', '.join(names)}" if names else "there are no pools at all"
        raise UsageError(f"--pool {pool}: there is no such NodePool{hint}; {known}")


def _fleet_now(seen: ClusterCache, pool: str) -> Fleet:
    return fleet_of(seen.snapshot(datetime.now(UTC)), pool)
