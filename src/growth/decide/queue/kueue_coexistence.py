"""Is Kueue alive? Then the queue decides nothing: two who admit at once would give the same quota away twice.

| seen | Kueue is alive |
|---|---|
| its Deployment has pods, or should have | yes, whatever they do: it may begin in any moment |
| its Lease is held, and was seen to be renewed within the time it is good for | yes, wherever it runs |
| its Lease is held, and we see it for the first time | perhaps, so yes, until that time has passed |
| neither | no |

Nothing is said on its objects meanwhile: they are Kueue's. Whoever looks at Growth is told by log, metric and event.

What Kueue left behind, and that is being deleted, waits for Kueue to let it go. Kueue is gone: we do it instead.

| object | its finalizer goes when |
|---|---|
| ResourceFlavor | no ClusterQueue names it |
| ClusterQueue | nobody holds quota of it |
| Workload | it has ended, or its job is gone, or stopped and as it was before |
| Pod | it has ended, or never had a node |

Objects that are not being deleted keep theirs: if Kueue comes back, it finds them as it left them.

Webhooks of a Kueue that is gone: the server still asks it before each write of a job, a pod or a queue, and refuses
the write because nobody answers.

They are seen before anything fails (the two configurations, under the names that Kueue's manifests give them), and
recognised by what the server says to a write, or to a list, that failed: a chart may have called them otherwise.
"""

from collections.abc import Collection, Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from growth.api.actions import Action, Hold, Outcome, PatchObject, Result, held_and_reported
from growth.api.core import ObjectReference
from growth.api.kinds import PODS, Kind
from growth.api.meta import ObjectMeta
from growth.api.queue.job import QUEUED_JOBS, STOPPING, QueuedJob
from growth.api.queue.kinds import CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.kueue_installation import (
    IN_USE,
    KUEUE_DEPLOYMENTS,
    KUEUE_LEASES,
    KUEUE_MUTATING,
    KUEUE_VALIDATING,
    WebhookConfiguration,
)
from growth.api.queue.pod import MANAGED
from growth.api.queue.workload import Workload
from growth.api.references import reference_to, shown
from growth.decide.contract import ClockTrust, Outcomes
from growth.observe.snapshot import Snapshot

ALIVE = "KueueIsAlive"


class KueueInstallation(msgspec.Struct, frozen=True):
    """A Kueue that is alive, and by what that is known."""

    subject: ObjectReference
    why: str
    until: datetime | None = None
    """When to look again, if nothing is heard of it before; None if only an event can end it."""


def live_kueue(snapshot: Snapshot, clock: ClockTrust) -> KueueInstallation | None:
    """A sign that Kueue is alive, if there is one."""
    for deployment in snapshot.table(KUEUE_DEPLOYMENTS).values():
        if deployment.is_running:
            meta = deployment.metadata
            subject = reference_to(KUEUE_DEPLOYMENTS, meta)
            scaling = f"kubectl --namespace {meta.namespace} scale deployment {meta.name} --replicas=0"
            return KueueInstallation(subject, _sentence(f"{shown(subject)} runs", scaling))
    for namespace, held in sorted(snapshot.kueue_leases.held.items()):
        # A clock that was set forward would make any silence long.
        silent_since = max(held.heard_at, clock.even_since or held.heard_at)
        until = silent_since + held.good_for
        if snapshot.now < until:
            subject = reference_to(KUEUE_LEASES, held.lease.metadata)
            seen = f"{shown(subject)} is held by {held.lease.spec.holder_identity}, and may be renewed"
            return KueueInstallation(subject, _sentence(seen, f"look who runs it in namespace {namespace}"), until)
    return None


def _sentence(seen: str, how: str) -> str:
    return (
        f"the queue decides nothing as long as Kueue is alive: {seen}. Stop Kueue ({how}), "
        "or Growth's queue (queue.enabled: false)"
    )


def let_go(
    snapshot: Snapshot, ending: Iterable[Workload], given: Collection[str], *, is_sure: bool
) -> Iterator[PatchObject]:
    """Take finalizers off. ``ending`` are the workloads that are being deleted; ``given`` are ClusterQueues whose quota
    somebody is given just now, or holds without our being able to read how much; ``is_sure`` says whether all
    ClusterQueues can be read."""
    workloads, queues = snapshot.table(WORKLOADS).values(), snapshot.table(CLUSTER_QUEUES).values()
    # Hardly anything ever waits, and there may be very many workloads and jobs.
    if terminating := [one for one in ending if _waits(one.metadata, IN_USE)]:
        jobs = {job.metadata.uid: job for job in snapshot.table(QUEUED_JOBS).values()}
        for workload in terminating:
            if _is_over(workload, jobs):
                yield _without(WORKLOADS, workload.metadata, IN_USE, "nothing runs on its quota any more")
    if closing := [one for one in queues if _waits(one.metadata, IN_USE)]:
        held = {one.status.admission.cluster_queue for one in workloads if one.status.admission and one.is_reserving}
        for queue in closing:
            if queue.metadata.name not in (*held, *given):
                yield _without(CLUSTER_QUEUES, queue.metadata, IN_USE, "nobody holds quota of it any more")
    named = {flavor.name for queue in queues for group in queue.spec.resource_groups for flavor in group.flavors}
    for flavor in snapshot.table(RESOURCE_FLAVORS).values():
        if is_sure and _waits(flavor.metadata, IN_USE) and flavor.metadata.name not in named:
            yield _without(RESOURCE_FLAVORS, flavor.metadata, IN_USE, "no ClusterQueue names it any more")
    for pod in (*snapshot.lingering.values(), *snapshot.waiting.values()):
        if _waits(pod.metadata, MANAGED):
            yield _without(PODS, pod.metadata, MANAGED, "it has ended, or never began")


def _is_over(workload: Workload, jobs: dict[str, QueuedJob]) -> bool:
    """A job that was started by Kueue is made what it was by what its workload knows: so that stays until then."""
    owner = workload.metadata.controller
    job = jobs.get(owner.uid) if owner is not None else None
    if workload.is_finished or job is None or job.ended is not None:
        return True
    return workload.status.admission is None and job.spec.suspend and STOPPING not in job.metadata.annotations


def _waits(metadata: ObjectMeta, finalizer: str) -> bool:
    return metadata.deletion_timestamp is not None and finalizer in metadata.finalizers


def _without(kind: Kind[Any], metadata: ObjectMeta, finalizer: str, why: str) -> PatchObject:
    left = [one for one in metadata.finalizers if one != finalizer]
    return PatchObject(
        subject=reference_to(kind, metadata),
        why=f"it is being deleted, and {why}",
        body={"metadata": {"finalizers": left}},
        resource_version=metadata.resource_version,
    )


LEFT_OVER = "KueueWebhooksLeftOver"
_BY_LABEL = (
    "kubectl delete mutatingwebhookconfigurations,validatingwebhookconfigurations "
    "--selector app.kubernetes.io/name=kueue"
)


def told_of_leftovers(snapshot: Snapshot, outcomes: Outcomes) -> list[Action | Hold]:
    """What to remove, on the webhooks themselves and on whatever they kept us from writing."""
    said: list[Action | Hold] = []
    found: list[tuple[str, WebhookConfiguration]] = [
        *(("mutating", one) for one in snapshot.table(KUEUE_MUTATING).values()),
        *(("validating", one) for one in snapshot.table(KUEUE_VALIDATING).values()),
    ]
    for what, one in found:
        if one.blocks:
            kind = KUEUE_MUTATING if what == "mutating" else KUEUE_VALIDATING
            why = (
                "Kueue is gone, and its webhooks refuse what it would be asked about: jobs, pods and queues cannot be "
                f"written. Remove them: kubectl delete {kind.plural} {one.metadata.name}"
            )
            said += held_and_reported(reference_to(kind, one.metadata), reason=LEFT_OVER, why=why, action="Queueing")
    for outcome in outcomes.all():
        why = advice(outcome.message) if _is_problem(outcome) else ""
        if why:
            said += held_and_reported(outcome.action.subject, reason=LEFT_OVER, why=why, action="Queueing")
    return said


def advice(message: str) -> str:
    """What to do about an answer of the server that a dead Kueue is behind; empty if none is."""
    if "conversion webhook" in message and "kueue" in message:
        return (
            "Kueue is gone, and the server asks it to convert objects of an older version: take the conversion out of "
            "Kueue's definitions (docs/queue.md, Beside Kueue, and after it)"
        )
    if "failed calling webhook" in message and (".kb.io" in message or "kueue" in message):
        return f"Kueue is gone, and its webhooks refuse this write. Remove them: {_BY_LABEL}"
    return ""


def _is_problem(outcome: Outcome) -> bool:
    return outcome.result in (Result.REFUSED, Result.FAILED)
