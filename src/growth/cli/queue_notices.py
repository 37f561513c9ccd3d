"""What holds for all queues, as far as the cluster itself shows it: a Kueue is alive, something cannot be read.

Growth tells it by its log and by events on others' objects, where nobody looks who wonders why nothing is admitted.
"""

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from growth.api.actions import Hold
from growth.api.change import Change, ChangeType, ObjectT
from growth.api.kinds import Kind
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.queue.kueue_installation import (
    DEPLOYMENT_LABELS,
    KUEUE_DEPLOYMENTS,
    KUEUE_LEASES,
    LEASE_NAME,
    KueueLease,
)
from growth.cli.errors import UsageError
from growth.decide.contract import ClockTrust
from growth.decide.queue.kueue_coexistence import advice, live_kueue
from growth.decide.queue.unreadable_objects import told_of_unreadable
from growth.kube.client import Client
from growth.kube.errors import NEEDS_A_PERSON, KubeError, ServerTrouble
from growth.kube.transport import Method, Request
from growth.observe.cache import ClusterCache
from growth.observe.lease_heartbeats import Held
from growth.observe.snapshot import Snapshot

_SHOWN: Final = 3


def notices_in(snapshot: Snapshot) -> Iterator[str]:
    """One sentence each."""
    neighbour = live_kueue(snapshot, ClockTrust(snapshot.now))
    if neighbour is not None:
        yield neighbour.why
    unreadable = [said.why for said in told_of_unreadable(snapshot) if isinstance(said, Hold)]
    yield from unreadable[:_SHOWN]
    if len(unreadable) > _SHOWN:
        yield f"{len(unreadable) - _SHOWN:,} more objects cannot be read: kubectl get events -A shows which"


async def check_readable(client: Client) -> None:
    """End with a sentence where a kind of the queue is there and the server cannot give it out, as when a dead Kueue
    should convert it. Informers would wait for that to pass, and nobody would see for what."""
    answers = await asyncio.gather(*(_check(client, own.kind) for own in QUEUE_KINDS), return_exceptions=True)
    for error in answers:
        if error is not None:
            raise error


async def _check(client: Client, kind: Kind[Any]) -> None:
    try:
        await client.request(Request(Method.GET, kind.collection(), (("limit", "1"),), timeout_seconds=60))
    except ServerTrouble as error:
        more = advice(str(error))
        name = f"{kind.plural}.{kind.group}"
        why = f"nothing can be seen of the queue, and Growth decides nothing, because {name} cannot be read: {error}"
        raise UsageError(f"{why}. {more}" if more else why) from error
    except NEEDS_A_PERSON:
        pass  # whoever reads it meets the same error, and knows what to say


async def read_neighbours(client: Client, world: ClusterCache, now: datetime) -> None:
    """Let the World see what Kueue has in the cluster. Where that cannot be read, the rest is shown all the same."""
    listeners = world.listeners()
    try:
        leases = (await client.list(KUEUE_LEASES, field_selector=f"metadata.name={LEASE_NAME}")).items
        deployments = (await client.list(KUEUE_DEPLOYMENTS, label_selector=DEPLOYMENT_LABELS)).items
    except KubeError:
        return
    before = [held.lease for held in world.kueue_leases.held.values()]
    renewed = [lease for lease in leases if _is_renewed(lease, now)]
    listeners[KUEUE_LEASES]([*_all(ChangeType.DELETED, before), *_all(ChangeType.ADDED, renewed)])
    known = world.tables[KUEUE_DEPLOYMENTS].listed()
    listeners[KUEUE_DEPLOYMENTS]([*_all(ChangeType.DELETED, known), *_all(ChangeType.ADDED, deployments)])


def _all(happened: ChangeType, objects: Iterable[ObjectT]) -> list[Change[ObjectT]]:
    return [Change(happened, one, None) for one in objects]


def _is_renewed(lease: KueueLease, now: datetime) -> bool:
    """Whether it was a moment ago. Growth waits and sees; who looks once can only go by what is written there."""
    renewed = lease.spec.renew_time
    return renewed is not None and now - renewed <= Held(lease, now).good_for
