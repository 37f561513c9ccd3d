"""``growth top``: what there is, what is coming, what is leaving and when, and what it costs."""

import asyncio
import time
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from rich.console import Console
from rich.live import Live

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, PODS, Kind
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import KubeSettings
from growth.cli.failures import UsageError, sentence_for
from growth.cli.interrupts import run_interruptible
from growth.cli.reports.machines import Fleet, fleet_of
from growth.cli.settings_options import with_settings_of
from growth.cli.top_view import view
from growth.cli.world import reading
from growth.kube.access import find_access
from growth.kube.client import connect
from growth.kube.errors import KubeError
from growth.observe.cache import ClusterCache

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
