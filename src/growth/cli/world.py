"""``growth world``: see the cluster as Growth sees it."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.console import Console
from rich.live import Live

from growth.api.kinds import Kind
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import KubeSettings
from growth.cli.failures import UsageError
from growth.cli.interrupts import run_interruptible
from growth.cli.reports.cluster_summary import ClusterSummary, summary_of
from growth.cli.settings_options import with_settings_of
from growth.cli.world_view import view
from growth.kube.access import find_access
from growth.kube.client import Client, connect
from growth.kube.errors import KubeError
from growth.observe.cache import ClusterCache
from growth.run.informers import everywhere, watching

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
