"""``growth drain``: a person wants a node to go; Growth replaces it first, and empties it gently."""

from datetime import UTC, datetime

import click
from rich.console import Console

from growth.api.settings.loading import EffectiveSettings
from growth.cli.asking import asking
from growth.cli.drain_following import follow_wish
from growth.cli.drain_wishing import take_back, wish_for
from growth.cli.failures import UsageError
from growth.cli.node_leaving import OperatorDialog
from growth.cli.settings_options import with_settings_of
from growth.kube.client import Client


@click.command()
@with_settings_of("namespace", "kube", "leaderElection.leaseName")
@click.argument("name", metavar="NODE")
@click.option("--reason", metavar="TEXT", default="", help="Why; it is written on the node and told in events.")
@click.option("--undo", is_flag=True, help="Let the node stay after all.")
@click.option("--no-wait", is_flag=True, help="Do not watch what happens then.")
def drain(effective: EffectiveSettings, name: str, reason: str, *, undo: bool, no_wait: bool) -> None:
    """Let NODE go: Growth buys what its pods need elsewhere, empties the node, and gives its machine back.

    The wish is written on the node (annotation growth.dev/drain). Growth makes a move of it (kind NodeMove), whatever
    disruption.mode of its pool is: machines that are needed come first, then pods are evicted, which minds their
    disruption budgets, and the budgets of the pool hold as for every reason (Requested). A pod that must stay keeps
    the node; which one, and why, is told. Nothing is forced.

    Ctrl-C only ends the watching. --undo takes the wish back: the node takes pods again if it is still there. Exit code
    0: the node is empty, and goes. 1: the move was undone, or no Growth runs. 2: there is no such node, or it is not
    Growth's.

    It needs get, list and patch on nodes, get on Growth's Lease, list and delete on nodemoves, and to watch it what
    growth plan reads.

    \b
    Example:
      growth drain default-93c5d7e118 --reason "its disk is slow"
      growth drain default-93c5d7e118 --undo
    """
    settings, talk = effective.settings, OperatorDialog(click.echo, lambda _: True, lambda: datetime.now(UTC))
    if undo == bool(reason.strip()):
        raise UsageError("give either --reason TEXT, so that others know why the node goes, or --undo")
    aside = Console(stderr=True)

    async def wish(client: Client) -> None:
        await wish_for(client, settings, name, reason.strip(), talk)

    async def undone(client: Client) -> None:
        await take_back(client, name, talk)

    async def watch(client: Client) -> None:
        await follow_wish(client, settings, name, talk, aside)

    asking(settings.kube, undone if undo else wish)
    if undo or no_wait:
        return
    try:
        asking(settings.kube, watch)
    except KeyboardInterrupt:
        click.echo(f"\nNobody watches any more; Growth goes on. How far it is: growth explain node {name}")
        click.echo(f"To let the node stay: growth drain {name} --undo")
        raise click.exceptions.Exit(130) from None
