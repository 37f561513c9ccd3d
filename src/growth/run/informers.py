"""What the last leader wrote is read before the next one decides.

A watch that has fallen silent is noticed after three minutes, and a lease changes hands in seconds. Whoever decides
meanwhile does not know what was asked for just before, and would ask for it once more: another machine for the same
pods, the same quota for another job. As long as it leads, it knows what it has asked for; what another one did, or it
itself in an earlier term, it has to read.

Informers and the World, wired: as long as the context lasts, the World follows the cluster.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from growth.api.change import Change
from growth.api.growth_kinds import GROUP, NODE_MOVES, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.growth_status import GROWTH_STATUS
from growth.api.kinds import CONFIG_MAPS, LEASES, Kind
from growth.api.node_memory import MEMORIES, SHARD_LABEL, SHARD_LEASES, SHARD_OF, TRANSACTIONS
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.kueue_installation import (
    DEPLOYMENT_LABELS,
    KUEUE_DEPLOYMENTS,
    KUEUE_LEASES,
    KUEUE_MUTATING,
    KUEUE_VALIDATING,
    LEASE_NAME,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
)
from growth.api.queue.pod import QUEUED_PODS
from growth.api.queue.workload import QUEUE_NAME
from growth.api.settings.model import Settings
from growth.kube.client import Client
from growth.kube.informer import Informer
from growth.observe.cache import ClusterCache, Listener
from growth.run.runtime import spare_the_collector
from growth.run.watchdog import BeatingSend, Heartbeats

# What is decided about all of them together: who misses one decides too much. Whatever else we write is written on the
# version that was seen, so that who sees an old one writes nothing.
_COUNTED: Final = frozenset({NODE_REQUESTS, NODE_REMOVAL_REQUESTS, NODE_MOVES, WORKLOADS})
# A connection may die while we read, too. There may be many to read: each attempt gets twice the time.
_FIRST_ATTEMPT_SECONDS: Final = 10.0


async def catch_up(informers: Iterable[Informer[Any]]) -> None:
    """Return once all that counts is as new as this call. What was never read yet is newer when it is read."""
    behind = [one for one in informers if one.kind in _COUNTED and one.synced.is_set()]
    await asyncio.gather(*map(_reread, behind))


async def _reread(informer: Informer[Any]) -> None:
    seconds = _FIRST_ATTEMPT_SECONDS
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await informer.reread()
        seconds *= 2


# An informer takes a watch for dead after 190 s and then waits for up to 30 s; a page of a list may take 60.
_SILENCE_SECONDS: Final = 300.0
_NODE_LEASES: Final = "kube-node-lease"
# A thousand nodes renew a hundred Leases in a second: nobody is woken for that, only for one that is not renewed.
_UNREMARKABLE: Final = frozenset({LEASES})
_DEFAULTS: Final = Settings()


@asynccontextmanager
async def watching(
    client: Client,
    cache: ClusterCache,
    kinds: Collection[Kind[Any]] | None = None,
    *,
    late: Collection[Kind[Any]] = (),
    settings: Settings = _DEFAULTS,
    heartbeats: Heartbeats | None = None,
    observed: Callable[[], None] | None = None,
    spare: Callable[[], None] = spare_the_collector,
) -> AsyncGenerator[Sequence[Informer[Any]]]:
    """Enter once the World is complete; inside, it keeps following. Without ``kinds``, all that the World knows.

    Of ConfigMaps only Growth's own status is followed, and memory's, in the namespaces that ``settings`` names; of
    Leases only those of nodes, and memory's.

    For kinds in ``late`` nobody waits: as long as one of them is not read, the World says so (``unread``).

    ``heard`` is called after each batch of changes, ``spare`` once, when the first reading is over.

    An informer ends only with an error that needs a person. Then the whole context ends with that error, because a
    World that silently lacks one kind would lead to wrong decisions.
    """
    listeners = cache.listeners()
    informers = [
        Informer(
            _client_of(kind, client, heartbeats),
            kind,
            _telling(listeners[kind], None if kind in _UNREMARKABLE else observed),
            **part_of(kind, settings),
        )
        for kind in (listeners if kinds is None else kinds)
    ]
    cache.unreadable.update((one.kind, one.unreadable) for one in informers if one.kind.is_tolerant)
    try:
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(informer.run(), name=informer.kind.plural) for informer in informers]
            for informer in informers:
                if informer.kind not in late:
                    await informer.synced.wait()
            latecomers = [informer for informer in informers if informer.kind in late]
            cache.unread = lambda: {one.kind: one.trouble for one in latecomers if not one.synced.is_set()}
            running.append(tasks.create_task(_tell_when_read(latecomers, observed), name="what is read late"))
            spare()
            yield informers
            for task in running:
                task.cancel()
    except BaseExceptionGroup as group:
        # Each informer that failed says the same of the same server; one sentence is enough for a person.
        raise group.exceptions[0] from None


def everywhere(cache: ClusterCache) -> list[Kind[Any]]:
    """What the World keeps, without what is our own: a cluster on which Growth was never installed has these."""
    return [kind for kind in cache.listeners() if kind.group != GROUP and kind != CONFIG_MAPS]


def part_of(kind: Kind[Any], settings: Settings) -> dict[str, str]:
    """What to follow of a kind: everything, but for those that others use for all sorts of things."""
    parts: dict[Kind[Any], dict[str, str]] = {
        LEASES: {"namespace": _NODE_LEASES},
        CONFIG_MAPS: {"namespace": settings.namespace, "field_selector": f"metadata.name={GROWTH_STATUS}"},
        QUEUED_JOBS: {"label_selector": QUEUE_NAME},
        QUEUED_PODS: {"label_selector": QUEUE_NAME},
        KUEUE_LEASES: {"field_selector": f"metadata.name={LEASE_NAME}"},
        KUEUE_DEPLOYMENTS: {"label_selector": DEPLOYMENT_LABELS},
        KUEUE_MUTATING: {"field_selector": f"metadata.name={MUTATING_WEBHOOKS}"},
        KUEUE_VALIDATING: {"field_selector": f"metadata.name={VALIDATING_WEBHOOKS}"},
        MEMORIES: {"namespace": settings.memory.namespace},
        TRANSACTIONS: {"namespace": settings.memory.transaction_namespace},
        SHARD_LEASES: {"namespace": settings.namespace, "label_selector": f"{SHARD_LABEL}={SHARD_OF}"},
    }
    return parts.get(kind, {})


def _client_of(kind: Kind[Any], client: Client, heartbeats: Heartbeats | None) -> Client:
    if heartbeats is None:
        return client
    heartbeat = heartbeats.register(f"the informer of {kind.plural}", _SILENCE_SECONDS)
    return Client(BeatingSend(client.transport, heartbeat.beat), sharing=client.sharing, jitter=client.jitter)


async def _tell_when_read(informers: Sequence[Informer[Any]], observed: Callable[[], None] | None) -> None:
    """Of an empty kind nobody would hear that it is read."""
    for informer in informers:
        await informer.synced.wait()
    if informers and observed is not None:
        observed()


def _telling(hear: Listener, observed: Callable[[], None] | None) -> Listener:
    if observed is None:
        return hear

    def listen(changes: list[Change[Any]]) -> None:
        hear(changes)
        observed()

    return listen
