"""Is Kueue alive? Then the queue decides nothing: two who admit at once would give the same quota away twice.

| seen | Kueue is alive |
|---|---|
| its Deployment has pods, or should have | yes, whatever they do: it may begin in any moment |
| its Lease is held, and was seen to be renewed within the time it is good for | yes, wherever it runs |
| its Lease is held, and we see it for the first time | perhaps, so yes, until that time has passed |
| neither | no |

Nothing is said on its objects meanwhile: they are Kueue's. Whoever looks at Growth is told by log, metric and event.
"""

from datetime import datetime

import msgspec

from growth.api.core import ObjectReference
from growth.api.queue.kueue_installation import KUEUE_DEPLOYMENTS, KUEUE_LEASES
from growth.api.references import reference_to, shown
from growth.decide.contract import State
from growth.observe.snapshot import Snapshot

ALIVE = "KueueIsAlive"


class Neighbour(msgspec.Struct, frozen=True):
    """A Kueue that is alive, and by what that is known."""

    subject: ObjectReference
    why: str
    until: datetime | None = None
    """When to look again, if nothing is heard of it before; None if only an event can end it."""


def live_kueue(snapshot: Snapshot, state: State) -> Neighbour | None:
    """A sign that Kueue is alive, if there is one."""
    for deployment in snapshot.table(KUEUE_DEPLOYMENTS).values():
        if deployment.is_running:
            meta = deployment.metadata
            subject = reference_to(KUEUE_DEPLOYMENTS, meta)
            scaling = f"kubectl --namespace {meta.namespace} scale deployment {meta.name} --replicas=0"
            return Neighbour(subject, _sentence(f"{shown(subject)} runs", scaling))
    for namespace, held in sorted(snapshot.kueue_leases.held.items()):
        # A clock that was set forward would make any silence long.
        silent_since = max(held.heard_at, state.even_since or held.heard_at)
        until = silent_since + held.good_for
        if snapshot.now < until:
            subject = reference_to(KUEUE_LEASES, held.lease.metadata)
            seen = f"{shown(subject)} is held by {held.lease.spec.holder_identity}, and may be renewed"
            return Neighbour(subject, _sentence(seen, f"look who runs it in namespace {namespace}"), until)
    return None


def _sentence(seen: str, how: str) -> str:
    return (
        f"the queue decides nothing as long as Kueue is alive: {seen}. Stop Kueue ({how}), "
        "or Growth's queue (queue.enabled: false)"
    )
