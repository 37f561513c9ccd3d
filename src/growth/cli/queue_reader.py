"""The queue, read for a person: through the informers, and judged by the functions that Growth decides with.

What a queue does next is not worked out a second time here: one pass of the decider is tried on what was read, and
nothing of it is written.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar

import msgspec
from rich.console import Console

from growth.api.change import Change, ChangeType
from growth.api.kinds import NAMESPACES, PRIORITY_CLASSES, Kind
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.queue.pod import QUEUED_PODS
from growth.api.queue.pod_defaults import FILLING_KINDS
from growth.api.queue.workload import EVICTED, QUOTA_RESERVED
from growth.api.settings.model import Settings
from growth.cli.queue_notices import check_readable, notices_in, read_neighbours
from growth.cli.queue_stock import closed_by
from growth.cli.snapshot import reading
from growth.decide.capacity.offering_catalog import OFFERING_CATALOG
from growth.decide.inputs import inputs_at
from growth.decide.queue.admission import admit
from growth.decide.queue.assumed_admissions import AssumedAdmission
from growth.decide.queue.context import Key, QueueContext
from growth.decide.queue.failed_flavors import is_early
from growth.decide.queue.index import index_of
from growth.decide.queue.queue_entry import line_up
from growth.decide.queue.workload_lifecycle import follow
from growth.decide.queue.workload_patch import WorkloadDraft
from growth.kube.client import Client
from growth.kube.errors import Forbidden, NotFound
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot

T = TypeVar("T")
Now = Callable[[], datetime]

# Not pods, nodes and requests for them: they are many, and tell only how those fare that were admitted, of whom their
# conditions tell, too.
KINDS: Final[tuple[Kind[Any], ...]] = (
    *(NAMESPACES, PRIORITY_CLASSES, QUEUED_JOBS, QUEUED_PODS, *FILLING_KINDS),
    *(own.kind for own in QUEUE_KINDS),
)


# A Lease of Kueue's is good for 15 s.
_AROUND: Final = timedelta(seconds=10)


class QueueView(msgspec.Struct, frozen=True):
    """What was read, and what would come of it."""

    context: QueueContext
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
    going: Mapping[str, Key]
    """Who has to go, or is going already, by name."""
    closed: Mapping[str, str]
    """Flavors whose machines cannot be had, and why."""
    notices: tuple[str, ...]
    """What holds for all: why nobody decides anything, and what cannot be read."""


def see(snapshot: Snapshot, settings: Settings) -> QueueView:
    """Look at everything once, and try who could be admitted."""
    trial = _context(snapshot, settings)
    # Whether machines can be had is known to those who ask the providers; they have written it on the queues.
    closed = closed_by(trial.queues.values())
    trial.closed = closed
    for draft in trial.drafts.values():
        # Who holds quota is judged by its pods and machines, which are not read here.
        if draft.before.status.admission is None:
            follow(trial, draft)
    # Who may only try what it has not tried stands in no line: it holds up nobody.
    lines = {
        name: [key for key in line if not is_early(trial.drafts[key].before, trial.now)]
        for name, line in _lines(trial).items()
    }
    served = frozenset(admit(trial, AssumedAdmission()).given)
    said = {key: draft.workload.condition(QUOTA_RESERVED) for key, draft in trial.drafts.items()}
    return QueueView(
        context=_context(snapshot, settings),
        lines=lines,
        positions={key: position for line in lines.values() for position, key in enumerate(line, 1)},
        served=served,
        firsts={name: key for name, line in lines.items() for key in reversed(line) if key not in served},
        words={key: condition.message for key, condition in said.items() if condition is not None},
        going={key[1]: key for key, draft in trial.drafts.items() if _goes(draft)},
        closed=closed,
        notices=tuple(notices_in(snapshot)),
    )


def _lines(trial: QueueContext) -> dict[str, list[Key]]:
    for key in trial.touched:
        line_up(trial, key)
    return {name: [key for _, key in line] for name, line in trial.backlog.lines.items()}


def _context(snapshot: Snapshot, settings: Settings) -> QueueContext:
    index = index_of(snapshot, settings)
    return QueueContext(inputs_at(snapshot, settings, (OFFERING_CATALOG,), index=index))


def _goes(draft: WorkloadDraft) -> bool:
    return draft.before.is_reserving and draft.workload.holds(EVICTED)


class QueueReader:
    """The queues as they are at any moment, as long as they are followed."""

    def __init__(self, client: Client, cache: ClusterCache, settings: Settings, now: Now) -> None:
        self._client, self._cache, self._settings, self._now = client, cache, settings, now
        self._looked_around: datetime | None = None

    def seen(self) -> QueueView:
        """How they are now."""
        return see(self._cache.snapshot(self._now()), self._settings)

    async def look_around(self) -> None:
        """See whether a Kueue is alive beside us, as far as we may; now and then is enough."""
        now = self._now()
        if self._looked_around is None or now - self._looked_around >= _AROUND:
            self._looked_around = now
            await read_neighbours(self._client, self._cache, now)

    async def add(self, kind: Kind[T], namespace: str = "") -> list[T]:
        """Read also these, once; nothing if we may not, or if there is no such kind."""
        try:
            found = (await self._client.list(kind, namespace)).items
        except (Forbidden, NotFound):
            return []
        self._cache.listeners()[kind]([Change(ChangeType.ADDED, one, None) for one in found])
        return found


@asynccontextmanager
async def looking(client: Client, settings: Settings, now: Now) -> AsyncGenerator[QueueReader]:
    """Follow the queues; inside, what is given tells how they are."""
    cache = ClusterCache(now, queues=True)
    await check_readable(client)
    # How far it has come is no part of what it says, which may go into a pipe.
    async with reading(client, cache, KINDS, Console(stderr=True)):
        reader = QueueReader(client, cache, settings, now)
        await reader.look_around()
        yield reader


def title_of(seen: QueueView, key: Key) -> str:
    """What people call a workload."""
    owner = seen.context.drafts[key].before.metadata.controller
    return f"{key[0]}/{owner.name if owner is not None else key[1]}"
