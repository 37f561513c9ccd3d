"""A wish that a node goes, written on it and taken off again: Growth's deciders read it there.

``growth drain``: a person wants a node to go; Growth replaces it first, and empties it gently.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import click
from rich.console import Console

from growth.api.actions import EditObject
from growth.api.annotations import DRAIN
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.node_move import NodeMove
from growth.api.offering import POOL
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import Settings
from growth.cli.client_session import asking
from growth.cli.errors import NotDone, UsageError
from growth.cli.move_progress import follow_wish
from growth.cli.node_out_of_service import OperatorDialog, is_carried_out
from growth.cli.node_reader import unknown
from growth.cli.plan_apply import check_that_growth_runs
from growth.cli.settings_options import with_settings_of
from growth.decide.writes.node_patches import annotated, annotation_path, edited
from growth.kube.client import Client
from growth.kube.errors import NotFound

# A node's status is written every few seconds, and its annotations seldom.
_ATTEMPTS: Final = 10
_MAX_REASON: Final = 512


async def wish_for(client: Client, settings: Settings, name: str, reason: str, talk: OperatorDialog) -> None:
    """Write it; what was tried before and undone is tried anew. Raises Refused or NotDone."""
    if len(reason) > _MAX_REASON:
        raise UsageError(f"--reason has {len(reason)} characters, expected at most {_MAX_REASON}")
    await _check_that_it_is_growths(client, await _known(client, name))
    await check_that_growth_runs(client, settings, talk)
    for move in await _moves_of(client, name):
        if move.status.phase == "Undone":  # Growth tries again when nobody has to look at it any more
            await client.delete(NODE_MOVES, move.metadata.name, uid=move.metadata.uid)
    why = "a person wants it to go"
    await _edit(client, name, talk, lambda node: edited(node, [annotated(node, DRAIN, reason)], why))
    talk.say(f"node {name} is to go: {reason}")


async def take_back(client: Client, name: str, talk: OperatorDialog) -> None:
    """Take it off. A move that came of it is then undone by Growth."""
    node = await _known(client, name)
    if DRAIN not in node.metadata.annotations:
        talk.say(f"nobody has asked for node {name} to go: nothing was done")
        return

    def without(node: Node) -> EditObject | None:
        if DRAIN not in node.metadata.annotations:
            return None
        return edited(node, [{"op": "remove", "path": annotation_path(DRAIN)}], "a person takes a wish back")

    await _edit(client, name, talk, without)
    moves = [one for one in await _moves_of(client, name) if one.spec.reason == "Requested" and not one.is_over]
    undone = f"; Growth undoes its move {moves[0].metadata.name}" if moves else ""
    talk.say(f"node {name} may stay{undone}")


async def _edit(client: Client, name: str, talk: OperatorDialog, edit_of: Callable[[Node], EditObject | None]) -> None:
    for _ in range(_ATTEMPTS):
        edit = edit_of(await _known(client, name))
        if edit is None or await is_carried_out(client, edit, talk.now):
            return
    raise NotDone(f"node {name} changes all the time, so it could not be edited; nothing was done. Ask again")


async def _known(client: Client, name: str) -> Node:
    try:
        return await client.get(NODES, name)
    except NotFound:
        raise unknown(name, [one.metadata.name for one in (await client.list(NODES)).items]) from None


async def _check_that_it_is_growths(client: Client, node: Node) -> None:
    pool, name = node.metadata.labels.get(POOL, ""), node.metadata.name
    pools = {one.metadata.name for one in (await client.list(NODE_POOLS)).items}
    if pool not in pools:
        whose = f"its pool {pool} does not exist" if pool else "it belongs to no pool"
        raise UsageError(f"node {name} is not Growth's: {whose}. Use kubectl drain {name} --ignore-daemonsets")


async def _moves_of(client: Client, name: str) -> list[NodeMove]:
    return [one for one in (await client.list(NODE_MOVES)).items if name in one.spec.nodes]


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

    async def options(client: Client) -> None:
        await wish_for(client, settings, name, reason.strip(), talk)

    async def undone(client: Client) -> None:
        await take_back(client, name, talk)

    async def watch(client: Client) -> None:
        await follow_wish(client, settings, name, talk, aside)

    asking(settings.kube, undone if undo else options)
    if undo or no_wait:
        return
    try:
        asking(settings.kube, watch)
    except KeyboardInterrupt:
        click.echo(f"\nNobody watches any more; Growth goes on. How far it is: growth explain node {name}")
        click.echo(f"To let the node stay: growth drain {name} --undo")
        raise click.exceptions.Exit(130) from None
