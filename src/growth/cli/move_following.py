"""What happens to moves after they are written: told line by line, until they are over."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Final

from rich.console import Console

from growth.api.node_move import NodeMove
from growth.api.settings.model import Settings
from growth.cli.failures import NotDone
from growth.cli.memory_report import counted
from growth.cli.move_words import progress_of, what_keeps
from growth.cli.node_leaving import OperatorDialog
from growth.cli.plan_seeing import KINDS
from growth.cli.spans import span
from growth.cli.world import reading
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.contract import DeciderState
from growth.kube.client import Client
from growth.observe.cache import ClusterCache

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
            yield ConsolidationContext(cache.snapshot(talk.now()), DeciderState(), settings)
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
