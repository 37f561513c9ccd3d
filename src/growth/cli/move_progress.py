"""How far a move is, and what keeps it, in words: what is seen in, sentences out. Pure.

What happens to moves after they are written: told line by line, until they are over.

What becomes of a wish that a node goes: why nothing happens yet, how far its move is, and its end.
"""

import asyncio
from collections.abc import AsyncGenerator, Collection, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

from rich.console import Console

from growth.api.annotations import DRAIN
from growth.api.node_move import NodeMove
from growth.api.offering import POOL
from growth.api.settings.model import Settings
from growth.cli.consolidation_context import context_at
from growth.cli.errors import NotDone
from growth.cli.formatting import span
from growth.cli.memory_list import counted, named
from growth.cli.node_out_of_service import OperatorDialog
from growth.cli.plan_inputs import KINDS
from growth.cli.snapshot import reading
from growth.decide.consolidation.allowances import allowance_in
from growth.decide.consolidation.candidates import why_stays
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.pod_movability import PodBindings
from growth.decide.consolidation.preconditions import why_restless
from growth.kube.client import Client
from growth.observe.cache import ClusterCache

_SHOWN: Final = 3


def progress_of(context: ConsolidationContext, move: NodeMove) -> str:
    """One sentence; it changes whenever something has happened."""
    status = move.status
    match status.phase:
        case "Buying" if move.spec.buys:
            snapshot = context.snapshot
            there = [snapshot.nodes[one.name] for one in move.spec.buys if one.name in snapshot.nodes]
            working = sum(node.is_ready and node.metadata.name not in snapshot.closed for node in there)
            return f"buying: {working} of {len(move.spec.buys)} machines work"
        case "Buying":
            return "waiting until its pods have places elsewhere"
        case "Draining":
            pods = sum(len(context.workers(node)) for node in context.standing(move))
            return f"emptying {named(move.spec.nodes, _SHOWN)}: {counted(pods, 'pod')} to leave"
        case _:
            return f"{status.phase.lower()}: {status.message}"


def what_keeps(context: ConsolidationContext, move: NodeMove) -> Iterator[str]:
    """Why it may take long: a few of the pods that do not leave, and machines that do not come."""
    if move.status.phase == "Buying":
        for one in move.spec.buys:
            request = context.requests.get(one.name)
            if request is not None and request.status.events and one.name not in context.snapshot.nodes:
                last = request.status.events[-1]
                yield f"machine {one.name} ({one.offering}) is {request.status.phase}: {last.name}"
    if move.status.phase != "Draining":
        return
    bonds = PodBindings(context.snapshot)
    pods = [pod for node in context.standing(move) for pod in context.workers(node)]
    for pod in pods[:_SHOWN]:
        name = f"{pod.metadata.namespace}/{pod.metadata.name}"
        if pod.metadata.deletion_timestamp is not None:
            yield f"pod {name} is ending; it may take {pod.spec.termination_grace_period_seconds} s"
        elif why := bonds.why_stays(pod):
            yield f"pod {name} does not leave: {why}"


_LOOK_SECONDS: Final = 1.0
# A budget that was used up by the last eviction is free again in less.
_SLOW_AFTER: Final = timedelta(seconds=15)


@asynccontextmanager
async def looks(
    client: Client, settings: Settings, talk: OperatorDialog, aside: Console
) -> AsyncGenerator[AsyncGenerator[ConsolidationContext]]:
    """The cluster, again and again, as Growth sees it when it carries out moves."""
    cache = ClusterCache(talk.now)

    async def again() -> AsyncGenerator[ConsolidationContext]:
        while True:
            yield context_at(cache.snapshot(talk.now()), settings)
            await asyncio.sleep(_LOOK_SECONDS)

    async with reading(client, cache, KINDS, aside):
        yield again()


class MoveProgress:
    """Says each thing once, with the time since it began; what keeps a move only when it does not get on."""

    def __init__(self, talk: OperatorDialog) -> None:
        self._talk, self._began = talk, talk.now()
        self._last: dict[str, tuple[str, datetime]] = {}
        self._told: set[str] = set()

    def hear(self, context: ConsolidationContext, move: NodeMove) -> None:
        """How far one move is now."""
        name, words = move.metadata.name, progress_of(context, move)
        before, since = self._last.get(name, ("", context.now))
        if words != before:
            self.say(f"{name}: {words}")
            self._last[name] = (words, context.now)
        elif context.now - since >= _SLOW_AFTER:
            for why in what_keeps(context, move):
                self.say_once(f"{name}: {why}")

    def say_once(self, words: str) -> None:
        """A line that was not said yet."""
        if words not in self._told:
            self._told.add(words)
            self.say(words)

    def say(self, words: str) -> None:
        """A line."""
        self._talk.say(f"{span(self._talk.now() - self._began):>6}  {words}")


async def follow(
    client: Client, settings: Settings, names: Collection[str], talk: OperatorDialog, aside: Console
) -> None:
    """Tell what happens until all these moves are over; raises NotDone if some were undone, or deleted."""
    teller, last = MoveProgress(talk), dict[str, NodeMove]()
    async with looks(client, settings, talk, aside) as scenes:
        async for context in scenes:
            there = {move.metadata.name: move for move in context.moves if move.metadata.name in names}
            for move in there.values():
                teller.hear(context, move)
            last |= there
            if all(name not in there or there[name].is_over for name in names):
                break
    failed = [name for name in names if name not in last or last[name].status.phase != "Done"]
    if failed:
        its = "its" if len(failed) == 1 else "their"
        moves = counted(len(names), "move")
        raise NotDone(f"{len(failed)} of {moves} did not come to {its} end: {', '.join(failed)}")


# Growth has seen the wish and has thought about it by then.
_BEGUN_WITHIN: Final = timedelta(seconds=5)
_SILENT_FOR: Final = timedelta(seconds=60)


async def follow_wish(client: Client, settings: Settings, name: str, talk: OperatorDialog, aside: Console) -> None:
    """Tell what happens until the node is empty, and goes. Raises NotDone if it stays after all."""
    teller, began = MoveProgress(talk), talk.now()
    async with looks(client, settings, talk, aside) as scenes:
        async for context in scenes:
            node = context.snapshot.nodes.get(name)
            if node is None or name in context.terminating:
                teller.say(f"node {name} is empty, and goes" if node is not None else f"node {name} is gone")
                return
            move = next((one for one in context.moves if name in one.spec.nodes and one.status.phase != "Done"), None)
            if move is not None:
                teller.hear(context, move)
                if move.status.phase == "Undone":
                    again = f"growth drain {name} --reason ... tries it again, --undo takes the wish back"
                    raise NotDone(f"node {name} stays: its move was undone, {move.status.message}. {again}")
            elif DRAIN not in node.metadata.annotations:
                raise NotDone(f"node {name} stays: somebody has taken the wish back")
            elif context.now - began >= _BEGUN_WITHIN:
                _say_why_not(context, name, teller, is_long=context.now - began >= _SILENT_FOR)


def _say_why_not(context: ConsolidationContext, name: str, teller: MoveProgress, *, is_long: bool) -> None:
    """What Growth waits for, as far as it can be seen from here."""
    if why := why_stays(context, name, {}, "Requested"):
        teller.say_once(f"it stays for now: {why}")
    elif why := why_restless(context):
        teller.say_once(f"Growth does not begin yet: {why}")
    elif why := _why_not_let(context, name):
        teller.say_once(f"it stays for now: {why}")
    elif is_long:
        teller.say_once(f"Growth has not begun; what it says about the node: kubectl describe node {name}")


def _why_not_let(context: ConsolidationContext, name: str) -> str:
    pool = context.pools[context.snapshot.nodes[name].metadata.labels[POOL]]
    allowed = allowance_in(context, pool, "Requested")
    return "" if allowed.left else f"{allowed.set_by} of its pool lets {allowed.most} nodes go at one time"
