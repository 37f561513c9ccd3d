"""What happened in a story, object by object and in order, as somebody saw who only looks.

Follows the kinds that stories are about with our own informers. Names that differ from run to run (of pods that a
controller made, of volume attachments) are replaced by what they belong to, so that two clusters can be compared.
"""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, NamedTuple

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import JOBS, NODES, PERSISTENT_VOLUME_CLAIMS, PODS, VOLUME_ATTACHMENTS, Kind
from growth.api.node import Node
from growth.api.pod import Pod
from growth.kube.client import Client
from growth.kube.informer import Informer
from growth_lab.scenarios import transitions
from growth_lab.scenarios.transitions import Transitions

FOLLOWED: Final[dict[Kind[Any], Transitions]] = {
    NODES: transitions.of_node,
    PODS: transitions.of_pod,
    PERSISTENT_VOLUME_CLAIMS: transitions.of_claim,
    VOLUME_ATTACHMENTS: transitions.of_attachment,
    JOBS: transitions.of_job,
}
GROWTHS_OWN: Final[dict[Kind[Any], Transitions]] = {
    NODE_POOLS: transitions.of_pool,
    NODE_REQUESTS: transitions.of_request,
    NODE_REMOVAL_REQUESTS: transitions.of_removal,
    NODE_MOVES: transitions.of_move,
}
# What Growth appends to a pool's name to name a machine: it follows from uids, which differ from run to run.
_BOUGHT: Final = re.compile(r"-[0-9a-f]{10}(?![0-9a-z])")
# What controllers append to the names of what they make: a template's hash, and letters drawn by the server.
_DRAWN: Final = {"ReplicaSet": re.compile(r"-[a-z0-9]+-[a-z0-9]{5}$"), "": re.compile(r"-[a-z0-9]{5}$")}
_KEEP_THEIR_NAMES: Final = ("StatefulSet",)


class Seen(NamedTuple):
    """One thing that could be seen."""

    at: float
    subject: str
    """The kind and the name, without what differs from run to run."""

    uid: str
    what: str

    def __str__(self) -> str:
        return f"{self.at:8.2f}  {self.subject} {self.what}"


class Trace:
    """Everything seen so far, and the newest state of each object of one story.

    A story's objects live in its namespace; those that live in none (nodes) have names that begin with ``prefix``, or
    belong to it all the same because it is ``alone`` on its cluster.
    """

    def __init__(self, prefix: str, namespace: str, seconds: Callable[[], float], *, alone: bool = False) -> None:
        self.seen: list[Seen] = []
        self._followed = {**FOLLOWED, **GROWTHS_OWN} if alone else FOLLOWED
        self._is_alone = alone
        self.objects: dict[Kind[Any], dict[str, Any]] = {kind: {} for kind in self._followed}
        self.when_seen: list[Callable[[], None]] = []
        """Called after everything that was seen."""

        self._news = asyncio.Event()
        self._prefix, self._namespace, self._seconds = prefix, namespace, seconds

    @property
    def pods(self) -> dict[str, Pod]:
        """The pods that are there, by name."""
        return self.objects[PODS]

    @property
    def nodes(self) -> dict[str, Node]:
        """The nodes that are there, by the name that the story gave them."""
        return self.objects[NODES]

    @asynccontextmanager
    async def following(self, client: Client) -> AsyncGenerator[None]:
        """As long as this lasts, everything is seen."""
        informers = [
            Informer(client, kind, self._hearer(kind), namespace=self._namespace if kind.namespaced else "")
            for kind in self._followed
        ]
        running = asyncio.gather(*(informer.run() for informer in informers))
        try:
            for informer in informers:
                await informer.synced.wait()
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def news(self) -> None:
        """Wait until something is seen."""
        self._news.clear()
        await self._news.wait()

    def _hearer(self, kind: Kind[Any]) -> Callable[[list[Change[Any]]], None]:
        def hear(changes: list[Change[Any]]) -> None:
            for change in changes:
                if self._is_ours(kind, change.now):
                    self._hear(kind, change)

        return hear

    def _hear(self, kind: Kind[Any], change: Change[Any]) -> None:
        now, name = change.now, self.short(change.now.metadata.name)
        known = self.objects[kind]
        if change.happened is ChangeType.DELETED:
            known.pop(name, None)
            words = ["gone"]
        else:
            words = [self._plain(what) for what in self._followed[kind](change.before, now)]
            known[name] = now
        subject = f"{kind.name} {self._plain(_subject(kind, now, name, self.short))}"
        self.seen += [Seen(self._seconds(), subject, now.metadata.uid, what) for what in words]
        if words:
            self._news.set()
            for look in self.when_seen:
                look()

    def _is_ours(self, kind: Kind[Any], thing: Any) -> bool:  # noqa: ANN401 - any of the followed kinds
        if self._is_alone and not kind.namespaced:
            return True
        if kind.namespaced:
            return thing.metadata.namespace == self._namespace
        name = thing.spec.node_name if kind is VOLUME_ATTACHMENTS else thing.metadata.name
        return name.startswith(self._prefix)

    def _plain(self, text: str) -> str:
        """The words that every run has in common."""
        return _BOUGHT.sub("-*", self.short(text)) if self._is_alone else self.short(text)

    def short(self, text: str) -> str:
        """The same without what this run put in front of its names."""
        return text.replace(self._prefix, "")


def _subject(kind: Kind[Any], thing: Any, name: str, short: Callable[[str], str]) -> str:  # noqa: ANN401
    if kind is VOLUME_ATTACHMENTS:
        return f"of {short(thing.spec.source.persistent_volume_name)} on {short(thing.spec.node_name)}"
    owner = thing.metadata.controller
    if owner is None or owner.kind in _KEEP_THEIR_NAMES:
        return name
    return _DRAWN.get(owner.kind, _DRAWN[""]).sub("-*", name)
