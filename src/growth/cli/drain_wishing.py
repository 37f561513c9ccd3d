"""A wish that a node goes, written on it and taken off again: Growth's deciders read it there."""

from collections.abc import Callable
from typing import Final

from growth.api.actions import EditObject
from growth.api.annotations import DRAIN
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.node_move import NodeMove
from growth.api.offering import POOL
from growth.api.settings.model import Settings
from growth.cli.failures import NotDone, UsageError
from growth.cli.node_leaving import OperatorDialog, is_carried_out
from growth.cli.node_seeing import unknown
from growth.cli.plan_applying import check_that_growth_runs
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
