"""``growth plan``: what Growth would buy, and what would be cheaper, without doing any of it."""

from datetime import UTC, datetime
from difflib import get_close_matches

import click
import msgspec
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from growth.api.growth_kinds import NODE_POOLS
from growth.api.settings import Settings
from growth.api.settings_reading import EffectiveSettings
from growth.cli import plan_optimising_view, plan_waiting_view
from growth.cli.asking import asking
from growth.cli.failures import Refused
from growth.cli.plan_optimising import OptimisingReport, optimising_report
from growth.cli.plan_seeing import read_world, taken_up
from growth.cli.plan_waiting import WaitingReport, waiting_report
from growth.cli.settings_options import with_settings_of
from growth.cloud.errors import Invalid
from growth.kube.client import Client
from growth.observe.world import World
from growth.run.providers import open_providers


class Wish(msgspec.Struct, frozen=True):
    """What a person wants to see."""

    pool: str = ""
    optimise: bool = False
    is_json: bool = False
    is_all: bool = False


@click.command()
@with_settings_of("namespace", "kube", "providers.enabled", "kwok", "hetzner")
@click.option("--optimise", is_flag=True, help="Plan moves that make the whole cluster cheaper.")
@click.option("--pool", "-p", metavar="NAME", default="", help="Plan for one pool only.")
@click.option("--verbose", "-v", "is_all", is_flag=True, help="Show every machine, move and name.")
@click.option("--json", "as_json", is_flag=True, help="The same as --output json.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def plan(effective: EffectiveSettings, pool: str, output: str, *, optimise: bool, is_all: bool, as_json: bool) -> None:
    """See what Growth would buy for the pods that wait now, and who finds no place and why.

    With --optimise: what the cluster costs, what the same pods would cost if everything were bought today, and the
    moves that lead there, each of which pays for itself: nodes that go, machines that come, pods that have to move,
    what it saves, and what to mind; and why all other nodes stay. docs/optimising.md explains every word.

    It changes nothing. Prices come from the providers: give it the settings that growth run has (--settings), and the
    access that they need. It reads pods, nodes, volumes, daemonsets, poddisruptionbudgets and Growth's own kinds (list,
    watch). A month has 730 hours.

    \b
    Example:
      growth plan --settings growth.yaml
      growth plan --settings growth.yaml --optimise
      growth plan --settings growth.yaml --optimise --pool batch --verbose
      growth plan --settings growth.yaml --optimise --json | jq '.steps[] | {form, saves_per_hour}'
    """
    settings = effective.settings
    try:
        openers = open_providers(settings, _now, is_looking=True)
    except Invalid as error:
        raise Refused(f"providers.enabled {settings.providers.enabled!r}: {error}") from error
    # How far it has come is no part of what it says, which may go into a pipe.
    console, aside = Console(highlight=False), Console(stderr=True)

    async def read(client: Client) -> World:
        return await read_world(client, openers, _now, aside)

    wish = Wish(pool, optimise, as_json or output == "json", is_all)
    try:
        # Thinking comes when nothing runs beside it any more: then Ctrl-C ends it at once.
        world = asking(settings.kube, read)
        show(think(world, settings, wish, _now(), aside), wish, console)
    except KeyboardInterrupt:
        raise click.exceptions.Exit(130) from None  # as shells call it; nothing was begun that had to be ended


def think(
    world: World, settings: Settings, wish: Wish, now: datetime, aside: Console
) -> WaitingReport | OptimisingReport:
    """What comes of what was read; how long it takes is told aside."""
    _check(wish.pool, world)
    new_pools, snapshot = taken_up(world), world.snapshot(now)
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=aside, transient=True, disable=not aside.is_terminal) as progress:
        progress.add_task(f"thinking about {len(snapshot.nodes):,} nodes and {snapshot.pod_count:,} pods", total=None)
        report_of = optimising_report if wish.optimise else waiting_report
        return report_of(snapshot, settings, wish.pool, new_pools)


def show(report: WaitingReport | OptimisingReport, wish: Wish, console: Console) -> None:
    """Print it."""
    if wish.is_json:
        # Not wrapped at any width, so that programs can read it.
        console.file.write(f"{msgspec.json.format(msgspec.json.encode(report)).decode()}\n")
    elif isinstance(report, OptimisingReport):
        console.print(plan_optimising_view.view(report, console.width, is_all=wish.is_all))
    else:
        console.print(plan_waiting_view.view(report, console.width, is_all=wish.is_all))


def _check(pool: str, world: World) -> None:
    """Whether there is such a pool."""
    names = sorted(name for _, name in world.tables[NODE_POOLS])
    if pool and pool not in names:
        close = get_close_matches(pool, names, 1)
        hint = f", the closest is {close[0]!r}" if close else ""
        known = f"expected one of {', '.join(names)}" if names else "there are no pools at all"
        raise Refused(f"--pool {pool}: there is no such NodePool{hint}; {known}")


def _now() -> datetime:
    return datetime.now(UTC)
