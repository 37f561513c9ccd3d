"""``growth status``: is the cluster healthy, is Growth at work, and if not, why."""

import asyncio
from bisect import bisect_right
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import click
import msgspec
from rich.console import Console, RenderableType
from rich.live import Live

from growth.api.core import ConfigMap, Lease
from growth.api.growth_kinds import NODE_POOLS
from growth.api.growth_status import GROWTH_STATUS
from growth.api.kinds import CONFIG_MAPS, LEASES
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import Settings
from growth.cli.client_session import run_interruptible
from growth.cli.errors import UsageError, sentence_for
from growth.cli.formatting import span
from growth.cli.settings_options import with_settings_of
from growth.cli.status_report import LeaderView, StatusReport, report_of
from growth.cli.status_view import view
from growth.kube.access import find_access
from growth.kube.client import Client, connect
from growth.kube.errors import KubeError, NotFound
from growth.kube.lease_record import MISSING_HOLDER

_FRAME_SECONDS: Final = 2.0
# Enough to see what is going on, wherever the screen ends.
_LEAST_ROWS: Final = 3

Now = Callable[[], datetime]


@click.command()
@with_settings_of("namespace", "kube", "leaderElection.leaseName")
@click.option("--follow", "-f", is_flag=True, help="Stay and look again every two seconds, until Ctrl-C.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def status(context: click.Context, effective: EffectiveSettings, output: str, *, follow: bool) -> None:
    """See whether the cluster is healthy, whether Growth is at work, and what is wrong.

    First the verdict: healthy or not and since when, whether Growth is halted and because of which nodes, who leads.
    Then nodes by state, pools (ready, coming, missing, what is not bought and until when), nodes that do not simply
    work, worst first, and what to do next. docs/registry.md explains every word.

    Exit code 0: healthy. 1: unhealthy, or nobody knows (Growth is not running, or has said nothing yet). 2: it could
    not be asked. It reads the ConfigMap growth-status and the Lease in Growth's namespace (get) and the NodePools
    (list), nothing else, and changes nothing.

    \b
    Example:
      growth status
      growth status --follow
      growth status >/dev/null || echo "somebody should look at the cluster"
      growth status --output json | jq -r '.troubled[] | select(.state == "Unready") | .name'
    """
    if follow and output == "json":
        raise UsageError("--follow shows text: leave out --output json, or --follow")
    settings, console = effective.settings, Console(highlight=False)
    try:
        context.exit(run_interruptible(_connected(settings, console, output, follow=follow)))
    except KubeError as error:
        raise UsageError(sentence_for(error)) from error
    except KeyboardInterrupt:
        pass  # the only way to end --follow, so it is no failure


async def _connected(settings: Settings, console: Console, output: str, *, follow: bool) -> int:
    kube = settings.kube
    access = find_access(Path(kube.kubeconfig) if kube.kubeconfig else None, kube.context or None)
    async with connect(access, max_concurrent_requests=kube.max_concurrent_requests) as client:
        if follow:
            await stay(client, settings, console, _now)
        return await show(client, settings, console, output, _now)


def _now() -> datetime:
    return datetime.now(UTC)


async def show(client: Client, settings: Settings, console: Console, output: str, now: Now) -> int:
    """Print it once; gives the exit code."""
    looking = console.status("looking") if console.is_terminal else nullcontext()
    with looking:
        report = await read_report(client, settings, now)
    if output == "json":
        # Not by click, which would not know of this console; and not wrapped, so that programs can read it.
        console.file.write(f"{msgspec.json.format(msgspec.json.encode(report)).decode()}\n")
    else:
        console.print(_fitting(report, console) if console.is_terminal else view(report, console.width))
    return report.exit_code


async def stay(client: Client, settings: Settings, console: Console, now: Now) -> None:
    """Keep showing it, until cancelled."""
    with Live(console=console, auto_refresh=False) as live:
        while True:
            report = await read_report(client, settings, now)
            live.update(_fitting(report, console), refresh=True)
            await asyncio.sleep(_FRAME_SECONDS)


def _fitting(report: StatusReport, console: Console) -> RenderableType:
    """As many of the troubled nodes as the screen has room for; whoever reads it through a pipe gets all."""

    def lines(rows: int) -> int:
        return len(console.render_lines(view(report, console.width, rows), pad=False))

    rows = bisect_right(range(min(len(report.troubled), console.height) + 1), console.height - 1, key=lines) - 1
    return view(report, console.width, max(_LEAST_ROWS, rows))


# Reading


async def read_report(client: Client, settings: Settings, now: Now) -> StatusReport:
    """Ask for all three, and conclude."""
    found = await _config_map(client, settings.namespace)
    pools = await client.list(NODE_POOLS)
    leader = await find_leader(client, settings, now)
    return report_of(found, pools.items, leader, settings.namespace, now())


async def _config_map(client: Client, namespace: str) -> ConfigMap | None:
    try:
        return await client.get(CONFIG_MAPS, GROWTH_STATUS, namespace)
    except NotFound:
        return None


async def _lease(client: Client, settings: Settings) -> Lease | None:
    try:
        return await client.get(LEASES, settings.leader_election.lease_name, settings.namespace)
    except NotFound:
        return None


async def find_leader(client: Client, settings: Settings, now: Now) -> LeaderView:
    """Whoever holds the Lease, if it is alive.

    A record that is fresh by our clock is believed. One that is not may be fresh by the clock of the one who wrote it:
    what proves life is that it changes before our eyes, so it is given the time for that.
    """
    first = await _lease(client, settings)
    if first is None:
        name = f"{settings.namespace}/{settings.leader_election.lease_name}"
        return LeaderView(is_alive=False, why=f"there is no Lease {name}, so it is not installed in this namespace")
    if _is_held(first) and _is_fresh(first, now()):
        return _alive(first)
    await asyncio.sleep(2 * settings.leader_election.retry_period.total_seconds())
    second = await _lease(client, settings) or first
    if _is_held(second) and second.spec.renew_time != first.spec.renew_time:
        return _alive(second)
    spec, why = second.spec, _why_gone(second, now())
    return LeaderView(is_alive=False, holder=spec.holder_identity, renewed_at=spec.renew_time, why=why)


def _is_held(lease: Lease) -> bool:
    return lease.spec.holder_identity not in ("", MISSING_HOLDER)


def _is_fresh(lease: Lease, now: datetime) -> bool:
    renewed_at = lease.spec.renew_time
    return renewed_at is not None and abs(now - renewed_at) <= timedelta(seconds=lease.spec.lease_duration_seconds)


def _alive(lease: Lease) -> LeaderView:
    return LeaderView(is_alive=True, holder=lease.spec.holder_identity, renewed_at=lease.spec.renew_time)


def _why_gone(lease: Lease, now: datetime) -> str:
    spec = lease.spec
    when = f" {span(now - spec.renew_time)} ago" if spec.renew_time else ", nobody knows when"
    if not _is_held(lease):
        return f"nobody holds its Lease; it was given up{when}" if spec.renew_time else "nobody has held its Lease yet"
    return f"its leader {spec.holder_identity} last gave a sign of life{when}"
