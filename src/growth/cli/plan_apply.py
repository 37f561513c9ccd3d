"""``growth plan --optimise --apply``: the moves of the first wave are written down for Growth, which carries them out.

1. Only if somebody does: a Growth that leads, and nothing under way that a plan would not know of.
2. What is shown is what is written, so a person who thinks for long is asked to look again.
3. Each move is an object of its own (NodeMove). From then on it is Growth's: whoever watches only watches.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import click

from growth.act.action_runner import Clients, carry_out
from growth.api.actions import CreateObject, Result
from growth.api.growth_kinds import NODE_MOVES
from growth.api.settings.model import Settings
from growth.cli.consolidation_context import context_at
from growth.cli.errors import NotDone, UsageError
from growth.cli.memory_list import counted
from growth.cli.node_out_of_service import OperatorDialog
from growth.cli.plan_consolidation import MoveWave
from growth.cli.status import find_leader
from growth.decide.consolidation.move import made, spec_of
from growth.decide.consolidation.preconditions import why_restless
from growth.kube.client import Client
from growth.kube.event_recorder import EventRecorder
from growth.observe.snapshot import Snapshot

_GOOD_FOR: Final = timedelta(minutes=2)
"""A plan that is older is one for another cluster."""


async def check_that_growth_runs(client: Client, settings: Settings, talk: OperatorDialog) -> None:
    """Raises NotDone if nobody would carry out what is asked for."""
    leader = await find_leader(client, settings, talk.now)
    if not leader.is_alive:
        raise NotDone(
            f"no Growth seems to run, so nobody would do it: {leader.why}; nothing was done. See growth status"
        )


def written(snapshot: Snapshot, settings: Settings, wave: MoveWave) -> list[CreateObject]:
    """The moves as they are written. Raises NotDone if this is no time for moves."""
    context = context_at(snapshot, settings)
    if why := why_restless(context):
        raise NotDone(f"this is no time for moves: {why}; nothing was done")
    return [made(spec_of(context, move)) for move in wave.moves]


def agree(moves: Sequence[CreateObject], planned_at: datetime, talk: OperatorDialog) -> None:
    """Ask; raises NotDone if the answer is no, or comes too late."""
    if not talk.agrees(f"Make {'this move' if len(moves) == 1 else f'these {len(moves)} moves'}?"):
        raise NotDone("nothing was done")
    if talk.now() - planned_at > _GOOD_FOR:
        raise NotDone("the plan is too old by now, and the cluster may be another one; nothing was done. Ask again")


def confirmed(question: str) -> bool:
    """A person's answer; Ctrl-C is a no, and is told like one."""
    try:
        return click.confirm(question)
    except click.Abort:
        click.echo()
        return False


async def write(client: Client, moves: Sequence[CreateObject], talk: OperatorDialog) -> list[str]:
    """Write them down, and give their names. Raises NotDone if others were faster."""
    there = {move.metadata.name: move for move in (await client.list(NODE_MOVES)).items}
    if busy := sorted(name for name, move in there.items() if not move.is_over):
        raise NotDone(f"moves are under way: {', '.join(busy)}; nothing was done. See kubectl get nodemoves")
    clients = Clients(client, EventRecorder(client, "growth-plan", now=talk.now), talk.now)
    names: list[str] = []
    for move in moves:
        name = move.subject.name
        if name in there:  # the same was tried before, and is over: it would be taken for this one
            await client.delete(NODE_MOVES, name, uid=there[name].metadata.uid)
        outcome = await carry_out(move, clients)
        if outcome.result is not Result.DONE:
            so_far = f"; {counted(len(names), 'move')} before it goes on" if names else ""
            raise UsageError(f"{name}: {outcome.message}{so_far}")
        names.append(name)
    return names
