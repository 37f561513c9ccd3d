"""How the World looks in a terminal: a Summary and a width in, something to look at out."""

from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from growth.cli.reports.cluster_summary import ClusterSummary, NodeGroup, PendingGroup, ResourceUse

_SHOWN_GROUPS: Final = 12
_SHOWN_WAITING: Final = 8
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_GIB: Final = 1 << 30


def view(summary: ClusterSummary, width: int, footer: str = "") -> RenderableType:
    """The whole picture."""
    parts: list[RenderableType] = [_headline(summary), Text(), _nodes(summary.groups, width)]
    if summary.waiting_groups:
        parts += [Text(), _waiting(summary.waiting_groups, summary.at)]
    if footer:
        parts += [Text(), Text(footer, style="dim")]
    return Group(*parts)


def _headline(summary: ClusterSummary) -> Text:
    unready = summary.nodes - summary.ready
    line = Text()
    line.append(f"{summary.nodes:,} nodes", style="bold")
    line.append(" all ready" if not unready else f" {unready:,} not ready", style="green" if not unready else "red")
    line.append("   ")
    line.append(f"{summary.pods:,} pods", style="bold")
    line.append(f" of {summary.shapes:,} shapes", style="dim")
    line.append("   ")
    waits = f"{summary.waiting:,} waiting" if summary.waiting else "nobody waits"
    return line.append(waits, style="bold yellow" if summary.waiting else "green")


def _nodes(groups: tuple[NodeGroup, ...], width: int) -> Table:
    # Three bars share what the names and counts leave, within what looks like a bar at all.
    long = max(6, min(24, (width - 56) // 3))
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("POOL", no_wrap=True)
    table.add_column("TYPE", no_wrap=True)
    table.add_column("READY", justify="right", no_wrap=True)
    for name in ("CPU", "MEMORY", "PODS"):
        table.add_column(name, no_wrap=True)
    for group in groups[:_SHOWN_GROUPS]:
        ready = Text(f"{group.ready}/{group.nodes}", style="" if group.ready == group.nodes else "red")
        bars = [bar(filled, long) for filled in (group.cpu_millis, group.memory_bytes, group.pods)]
        table.add_row(group.pool or "-", group.instance_type or "-", ready, *bars)
    if len(groups) > _SHOWN_GROUPS:
        table.add_row(Text(f"and {len(groups) - _SHOWN_GROUPS} more", style="dim"))
    return table


def bar(filled: ResourceUse, width: int) -> Text:
    """How full something is: a bar of this width, and the share."""
    share = filled.used / filled.total if filled.total else 0.0
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    whole, rest = divmod(eighths, 8)
    drawn = "█" * whole + (_EIGHTHS[rest] if rest else "")
    style = "red" if share > 1 else "yellow" if share > 0.9 else "green"
    return Text.assemble((drawn.ljust(width, "·"), style), f" {share:4.0%}")


def _waiting(groups: tuple[PendingGroup, ...], at: datetime) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("WAITING", justify="right", no_wrap=True, style="yellow")
    table.add_column("NAMESPACE", no_wrap=True)
    table.add_column("OWNER", overflow="ellipsis", no_wrap=True)
    table.add_column("EACH ASKS FOR", no_wrap=True)
    table.add_column("SINCE", justify="right", no_wrap=True)
    for group in groups[:_SHOWN_WAITING]:
        asks = f"{group.cpu_millis / 1000:g} CPU, {group.memory_bytes / _GIB:.3g} GiB"
        table.add_row(f"{group.pods:,}", group.namespace, group.owner, asks, _age(group.since, at))
    if len(groups) > _SHOWN_WAITING:
        table.add_row("...", Text(f"{len(groups) - _SHOWN_WAITING} more groups", style="dim"))
    return table


def _age(since: datetime | None, at: datetime) -> str:
    if since is None:
        return "-"
    seconds = max(0, int((at - since).total_seconds()))
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
