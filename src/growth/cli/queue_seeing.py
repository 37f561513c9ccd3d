"""The queue, read for a person: through the informers, and judged by the functions that Growth decides with.

What a queue does next is not worked out a second time here: one pass of the decider is tried on what was read, and
nothing of it is written.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, TypeVar

import msgspec
from rich.console import Console

from growth.api.change import Change, Happened
from growth.api.kinds import NAMESPACES, PRIORITY_CLASSES, Kind
from growth.api.queue.filling import FILLING_KINDS
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.queue.pod import QUEUED_PODS
from growth.api.queue.workload import QUOTA_RESERVED
from growth.api.settings import Settings
from growth.cli.world import reading
from growth.decide.decider import State
from growth.decide.queue.admitting import Assumed, admit, lines_in
from growth.decide.queue.lifecycle import follow
from growth.decide.queue.scene import Key, Scene
from growth.kube.client import Client
from growth.kube.errors import Forbidden, NotFound
from growth.observe.snapshot import Snapshot
from growth.observe.world import World

T = TypeVar("T")
Now = Callable[[], datetime]

# Not pods, nodes and requests for them: they are many, and tell only how those fare that were admitted, of whom their
# conditions tell, too.
KINDS: Final[tuple[Kind[Any], ...]] = (
    *(NAMESPACES, PRIORITY_CLASSES, QUEUED_JOBS, QUEUED_PODS, *FILLING_KINDS),
    *(own.kind for own in QUEUE_KINDS),
)


class Seen(msgspec.Struct, frozen=True):
    """What was read, and what would come of it."""

    scene: Scene
    """As it is: nothing was tried on it."""
    lines: Mapping[str, Sequence[Key]]
    """Who waits for quota, by ClusterQueue, in the order in which they are tried."""
    positions: Mapping[Key, int]
    """The place of each in its line, from 1."""
    served: frozenset[Key]
    """Those for whom there is quota now."""
    firsts: Mapping[str, Key]
    """By ClusterQueue, the first of the line for whom there is none."""
    words: Mapping[Key, str]
    """Why each of the others has none, as the next pass would say it."""


def see(snapshot: Snapshot, settings: Settings) -> Seen:
    """Look at everything once, and try who could be admitted."""
    trial = Scene(snapshot, State(), settings)
    for draft in trial.drafts.values():
        # Who holds quota is judged by its pods and machines, which are not read here.
        if draft.before.status.admission is None:
            follow(trial, draft)
    lines = lines_in(trial)
    served = frozenset(admit(trial, Assumed()).given)
    said = {key: draft.workload.condition(QUOTA_RESERVED) for key, draft in trial.drafts.items()}
    return Seen(
        scene=Scene(snapshot, State(), settings),
        lines=lines,
        positions={key: position for line in lines.values() for position, key in enumerate(line, 1)},
        served=served,
        firsts={name: key for name, line in lines.items() for key in reversed(line) if key not in served},
        words={key: condition.message for key, condition in said.items() if condition is not None},
    )


class Look:
    """The queues as they are at any moment, as long as they are followed."""

    def __init__(self, client: Client, world: World, settings: Settings, now: Now) -> None:
        self._client, self._world, self._settings, self._now = client, world, settings, now

    def seen(self) -> Seen:
        """How they are now."""
        return see(self._world.snapshot(self._now()), self._settings)

    async def add(self, kind: Kind[T], namespace: str = "") -> list[T]:
        """Read also these, once; nothing if we may not, or if there is no such kind."""
        try:
            found = (await self._client.list(kind, namespace)).items
        except (Forbidden, NotFound):
            return []
        self._world.listeners()[kind]([Change(Happened.ADDED, one, None) for one in found])
        return found


@asynccontextmanager
async def looking(client: Client, settings: Settings, now: Now) -> AsyncGenerator[Look]:
    """Follow the queues; inside, what is given tells how they are."""
    world = World(now, queues=True)
    # How far it has come is no part of what it says, which may go into a pipe.
    async with reading(client, world, KINDS, Console(stderr=True)):
        yield Look(client, world, settings, now)
