"""Somebody who only looks at nodes: when each came back, and when it was seen to be whole again."""

import asyncio
import time
from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager

from bench.memory_nodes import Member
from growth.api.change import Change, ChangeType
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.kube.client import Client
from growth.kube.informer import Informer


class Witness:
    """Moments by this clock. A node is back when its creation was answered or seen, whichever comes first."""

    def __init__(self, members: Mapping[str, Member]) -> None:
        self._members = members
        self._came: dict[str, float] = {}
        """By uid: a name alone could be that of the node that left."""
        self.waits: dict[str, float] = {}
        """By uid, how long each took from its return until it was whole."""
        self.whole: set[str] = set()
        """Names of nodes that are there and whole."""

    def begin(self) -> None:
        """Only those that come from now on count."""
        self._came = {}
        self.waits = {}

    @property
    def returned(self) -> Collection[str]:
        """Uids of those that came since the beginning."""
        return self._came.keys()

    def note_return(self, uid: str) -> None:
        """Its creation was answered."""
        self._came.setdefault(uid, time.monotonic())

    def hear_of_nodes(self, changes: list[Change[Node]]) -> None:
        now = time.monotonic()
        for change in changes:
            node, uid, name = change.now, change.now.metadata.uid, change.now.metadata.name
            self.whole.discard(name)
            if change.happened is ChangeType.DELETED:
                continue
            if change.happened is ChangeType.ADDED:
                self._came.setdefault(uid, now)
            if self._members[name].is_whole(node.metadata.labels):
                self.whole.add(name)
                if uid in self._came:
                    self.waits.setdefault(uid, now - self._came[uid])


@asynccontextmanager
async def witnessing(client: Client, members: Mapping[str, Member]) -> AsyncGenerator[Witness]:
    """A witness who looks on as long as the context lasts."""
    witness = Witness(members)
    informer = Informer(client, NODES, witness.hear_of_nodes)
    looking = asyncio.create_task(informer.run())
    try:
        await informer.synced.wait()
        yield witness
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed; 0 of none."""
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, int(len(ordered) * share))], 2) if ordered else 0.0
