"""``growth plan``: what Growth would buy, and what would be cheaper; with ``--apply``, let Growth begin with it."""

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TypeVar

import click
import msgspec
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from growth.api.actions import CreateObject
from growth.api.growth_kinds import NODE_POOLS
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import Settings
from growth.cli import plan_view
from growth.cli.client_session import asking
from growth.cli.errors import UsageError
from growth.cli.move_progress import follow
from growth.cli.node_out_of_service import OperatorDialog
from growth.cli.plan_apply import agree, check_that_growth_runs, confirmed, write, written
from growth.cli.plan_consolidation import OptimizationReport, first_wave, optimising_report
from growth.cli.plan_inputs import read_world, taken_up
from growth.cli.plan_pending import PendingReport, waiting_report
from growth.cli.settings_options import with_settings_of
from growth.cloud.errors import Invalid
from growth.kube.client import Client
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from growth.run.provider_poller import open_providers

T = TypeVar("T")


class PlanOptions(msgspec.Struct, frozen=True):
    """What a person wants to see."""

    pool: str = ""
    optimise: bool = False
    is_json: bool = False
    is_all: bool = False
    is_applied: bool = False


@click.command()
@with_settings_of("namespace", "kube", "leaderElection.leaseName", "providers.enabled", "kwok", "hetzner")
@click.option("--optimise", is_flag=True, help="Plan moves that make the whole cluster cheaper.")
@click.option("--apply", "is_applied", is_flag=True, help="Let Growth make the moves that may be made at once; asks.")
@click.option("--yes", is_flag=True, help="With --apply: do not ask.")
@click.option("--pool", "-p", metavar="NAME", default="", help="Plan for one pool only.")
@click.option("--verbose", "-v", "is_all", is_flag=True, help="Show every machine, move and name.")
@click.option("--json", "as_json", is_flag=True, help="The same as --output json.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def plan(
    effective: EffectiveSettings,
    pool: str,
    output: str,
    *,
    optimise: bool,
    is_applied: bool,
    yes: bool,
    is_all: bool,
    as_json: bool,
) -> None:
    """See what Growth would buy for the pods that wait now, and who finds no place and why.

    With --optimise: what the cluster costs, what the same pods would cost if everything were bought today, and the
    moves that lead there, each of which pays for itself: nodes that go, machines that come, pods that have to move,
    what it saves, and what to mind; and why all other nodes stay. docs/optimising.md explains every word.

    It changes nothing, unless --apply is given, too: then it shows the first wave, which is what the budgets of the
    pools let go at once, asks, writes these moves down (kind NodeMove), and tells what becomes of them. Growth carries
    them out, in pools of any mode but off; Ctrl-C only ends the watching. Without a Growth that runs, while other moves
    are under way, or while pods wait for places, nothing is done: exit code 1, as for a move that was undone.

    Prices come from the providers: give it the settings that growth run has (--settings), and the
    access that they need. It reads pods, nodes, volumes, daemonsets, poddisruptionbudgets and Growth's own kinds (list,
    watch), and for --apply the Lease of Growth (get) and nodemoves (create, delete). A month has 730 hours.

    \b
    Example:
      growth plan --settings growth.yaml
      growth plan --settings growth.yaml --optimise
      growth plan --settings growth.yaml --optimise --pool batch --verbose
      growth plan --settings growth.yaml --optimise --apply
      growth plan --settings growth.yaml --optimise --json | jq '.steps[] | {form, saves_per_hour}'
    """
    settings = effective.settings
    options = PlanOptions(pool, optimise, as_json or output == "json", is_all, is_applied)
    _check_wish(options, yes=yes)
    try:
        openers = open_providers(settings, _now, is_looking=True)
    except Invalid as error:
        raise UsageError(f"providers.enabled {settings.providers.enabled!r}: {error}") from error
    # How far it has come is no part of what it says, which may go into a pipe.
    console, aside = Console(highlight=False), Console(stderr=True)
    talk = OperatorDialog(click.echo, lambda question: yes or confirmed(question), _now)

    async def read(client: Client) -> ClusterCache:
        if options.is_applied:
            await check_that_growth_runs(client, settings, talk)
        return await read_world(client, openers, _now, aside)

    try:
        # Thinking comes when nothing runs beside it any more: then Ctrl-C ends it at once.
        world = asking(settings.kube, read)
        if not options.is_applied:
            show(compute(world, settings, options, _now(), aside), options, console)
            return
        moves = propose(world, settings, options, talk, (console, aside))
    except KeyboardInterrupt:
        raise click.exceptions.Exit(130) from None  # as shells call it; nothing was begun that had to be ended
    if moves:
        _carry_out(settings, moves, talk, aside)


def propose(
    world: ClusterCache,
    settings: Settings,
    options: PlanOptions,
    talk: OperatorDialog,
    consoles: tuple[Console, Console],
) -> list[CreateObject]:
    """Show the first wave and ask; gives its moves as they are written. Raises NotDone if that is not to be."""
    (console, aside), now = consoles, talk.now()
    wave = _computation(first_wave, world, settings, options, now=now, aside=aside)
    show(wave.report, options, console)
    moves = written(world.snapshot(now), settings, wave)
    if moves:
        agree(moves, now, talk)
    return moves


def _carry_out(settings: Settings, moves: Sequence[CreateObject], talk: OperatorDialog, aside: Console) -> None:
    """Write them, and watch."""

    async def begin(client: Client) -> None:
        await follow(client, settings, await write(client, moves, talk), talk, aside)

    try:
        asking(settings.kube, begin)
    except KeyboardInterrupt:
        click.echo("\nNobody watches any more; Growth goes on with the moves that are written.")
        click.echo("How far they are: kubectl get nodemoves. To undo one: kubectl delete nodemove NAME")
        raise click.exceptions.Exit(130) from None


def compute(
    world: ClusterCache, settings: Settings, options: PlanOptions, now: datetime, aside: Console
) -> PendingReport | OptimizationReport:
    """What comes of what was read."""
    computing = optimising_report if options.optimise else waiting_report
    return _computation(computing, world, settings, options, now=now, aside=aside)


def _computation(
    computing: Callable[[Snapshot, Settings, str, Sequence[str]], T],
    world: ClusterCache,
    settings: Settings,
    options: PlanOptions,
    *,
    now: datetime,
    aside: Console,
) -> T:
    """How long it takes is told aside."""
    _check(options.pool, world)
    new_pools, snapshot = taken_up(world), world.snapshot(now)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=aside, transient=True, disable=not aside.is_terminal) as progress:
        progress.add_task(f"thinking about {len(snapshot.nodes):,} nodes and {snapshot.pod_count:,} pods", total=None)
        return computing(snapshot, settings, options.pool, new_pools)


def show(report: PendingReport | OptimizationReport, options: PlanOptions, console: Console) -> None:
    """Print it."""
    if options.is_json:
        # Not wrapped at any width, so that programs can read it.
        console.file.write(f"{msgspec.json.format(msgspec.json.encode(report)).decode()}\n")
    elif isinstance(report, OptimizationReport):
        console.print(plan_view.consolidation_view(report, console.width, is_all=options.is_all))
    else:
        console.print(plan_view.pending_view(report, console.width, is_all=options.is_all))


def _check_wish(options: PlanOptions, *, yes: bool) -> None:
    """Whether it makes sense."""
    if options.is_applied and not options.optimise:
        raise UsageError("--apply makes the moves of --optimise: add that, and look at them first")
    if options.is_applied and options.is_json:
        raise UsageError("--apply shows moves to a person and asks: leave out --json")
    if options.is_applied and not yes and not sys.stdin.isatty():
        raise UsageError("--apply asks before it does anything, and nobody can answer here: add --yes")


def _check(pool: str, world: ClusterCache) -> None:
    """Whether there is such a pool."""
    names = sorted(name for _, name in world.tables[NODE_POOLS])
    if pool and pool not in names:
        close = get_close_matches(pool, names, 1)
        hint = f", the closest is {close[0]!r}" if close else ""
        known = f"expected one of {', '.join(names)}" if names else "there are no pools at all"
        raise UsageError(f"--pool {pool}: there is no such NodePool{hint}; {known}")


def _now() -> datetime:
    return datetime.now(UTC)
