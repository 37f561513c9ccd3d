"""How the World looks in a terminal: a Summary and a width in, something to look at out.

``growth world``: see the cluster as Growth sees it.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from growth.api.kinds import Kind
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import KubeSettings
from growth.cli.client_session import run_interruptible
from growth.cli.errors import UsageError
from growth.cli.reports.cluster_summary import ClusterSummary, NodeGroup, PendingGroup, ResourceUse, summary_of
from growth.cli.settings_options import with_settings_of
from growth.kube.access import find_access
from growth.kube.client import Client, connect
from growth.kube.errors import KubeError
from growth.observe.cache import ClusterCache
from growth.run.informers import everywhere, watching

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


_FRAME_SECONDS: Final = 0.25


@click.command()
@with_settings_of("kube")
@click.option("--follow", "-f", is_flag=True, help="Stay and show changes as they come, until Ctrl-C.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def world(effective: EffectiveSettings, output: str, *, follow: bool) -> None:
    """See nodes, pods and free room as Growth sees them.

    It reads through the same informers and shows the same indexes that decisions are made from, and changes nothing.
    A pod waits while it has no node. Bars show what pods ask for, not what they use.

    \b
    Example:
      growth world --context production
      growth world --follow
    """
    try:
        run_interruptible(_show(effective.settings.kube, output, follow=follow))
    except KubeError as error:
        raise UsageError(str(error)) from error
    except KeyboardInterrupt:
        pass  # the only way to end --follow, so it is no failure


async def _show(kube: KubeSettings, output: str, *, follow: bool) -> None:
    access = find_access(Path(kube.kubeconfig) if kube.kubeconfig else None, kube.context or None)
    console, seen = Console(), ClusterCache()
    async with (
        connect(access, max_concurrent_requests=kube.max_concurrent_requests) as client,
        reading(client, seen, everywhere(seen), console),
    ):
        if follow and output == "text":
            with Live(console=console, auto_refresh=False) as live:
                while True:
                    live.update(view(summary_now(seen), console.width), refresh=True)
                    await asyncio.sleep(_FRAME_SECONDS)
        summary = summary_now(seen)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(summary)).decode())
    else:
        console.print(view(summary, console.width))


@asynccontextmanager
async def reading(
    client: Client, seen: ClusterCache, kinds: Collection[Kind[Any]], console: Console
) -> AsyncGenerator[None]:
    """Follow these kinds of the cluster, telling how far the first reading has come while it lasts.

    The version is asked for first: informers wait for a server that is not there, a person should hear of it.
    """
    with console.status("looking for the API server") as status:
        version = await client.server_version()

        async def tell() -> None:
            while True:
                await asyncio.sleep(_FRAME_SECONDS)
                status.update(f"reading the cluster ({version}): {seen.changes_heard:,} objects")

        telling = asyncio.create_task(tell())
        try:
            async with watching(client, seen, kinds):
                telling.cancel()
                status.stop()
                yield
        finally:
            telling.cancel()
            with suppress(asyncio.CancelledError):
                await telling


def summary_now(seen: ClusterCache) -> ClusterSummary:
    """The World's numbers at this moment."""
    return summary_of(seen.snapshot(datetime.now(UTC)))
