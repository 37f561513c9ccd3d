"""A workload for each who names a queue, be it a job or a plain pod, and what is kept up about it.

A plain pod is looked at as a job of one pod (``QueuedPod.as_job``).
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha1
from typing import Any, Final, TypeVar

from growth.api.actions import CreateObject, PatchObject, Precondition, held_and_reported
from growth.api.kinds import Kind
from growth.api.meta import ObjectMeta
from growth.api.queue.job import QueuedJob
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.pod import QueuedPod
from growth.api.queue.workload import JOB_UID, PRIORITY_CLASS, Workload
from growth.api.references import reference_by_name, reference_to
from growth.decide.queue.context import QueueContext
from growth.decide.queue.job_spec import BadLabel, missing_class, new_spec
from growth.decide.queue.pod_sets import Json

OwnerT = TypeVar("OwnerT", QueuedJob, QueuedPod)

_NAME_AT_MOST: Final = 247


def age(meta: ObjectMeta) -> tuple[datetime, str, str]:
    """What to sort by: workloads are made for the oldest first, and whoever was made first is served first."""
    return meta.creation_timestamp or datetime.max.replace(tzinfo=UTC), meta.namespace, meta.name


def workload_name(kind: Kind[Any], meta: ObjectMeta) -> str:
    """The name that Kueue would give it."""
    identity = f"{kind.name}\n{kind.group}\n{meta.name}\n{meta.uid}"
    digest = sha1(identity.encode()).hexdigest()[:5]  # noqa: S324 - a name, no secret
    return f"{f'{kind.name.lower()}-{meta.name}'[:_NAME_AT_MOST]}-{digest}"


def make(context: QueueContext, kind: Kind[Any], job: QueuedJob) -> None:
    """The workload of one that has none. It goes with its owner."""
    meta = job.metadata
    subject = reference_by_name(WORKLOADS, workload_name(kind, meta), meta.namespace)
    owner = {
        "apiVersion": kind.api_version,
        "kind": kind.name,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    body = {"metadata": {"labels": {JOB_UID: meta.uid}, "ownerReferences": [owner]}, "spec": new_spec(context, job)}
    why = f"{kind.name} {meta.name} names a queue"
    context.said.append(CreateObject(subject=subject, why=why, body=body, if_absent=True))


def update(context: QueueContext, kind: Kind[Any], job: QueuedJob, workload: Workload, spec: Json) -> None:
    """Somebody edited it, or its priority's class: its workload wants what it wants now."""
    if spec:
        subject, version = reference_to(WORKLOADS, workload.metadata), workload.metadata.resource_version
        why = f"{kind.name} {job.metadata.name} was edited, or its priority class"
        context.edited.add((workload.metadata.namespace, workload.metadata.name))
        context.said.append(PatchObject(subject=subject, why=why, body={"spec": spec}, resource_version=version))


def as_seen(workload: Workload) -> tuple[Precondition, ...]:
    """What must still be so in the instant before somebody is let go for it: jobs, pods and workloads are seen by
    different watches, and one of them may lag."""
    return (Precondition(reference_to(WORKLOADS, workload.metadata), workload.metadata.resource_version),)


def looked_at(context: QueueContext, there: Mapping[str, OwnerT]) -> Iterator[OwnerT]:
    """Of these, by uid, those that are to be looked at, the oldest first; what is said of one meanwhile is noted."""
    found = [there[uid] for uid in context.owners if uid in there]
    for one in sorted(found, key=lambda known: age(known.metadata)):
        with context.listening_to(one.metadata.uid):
            yield one


def attempt(context: QueueContext, kind: Kind[Any], job: QueuedJob, follow: Callable[[], None]) -> None:
    """Queue it, or go on with it (``follow``), and tell what is wrong with its labels."""
    try:
        follow()
    except BadLabel as error:
        report(context, kind, job.metadata, "BadLabel", f"it is not queued as it is: {error}")
    _tell_missing_class(context, kind, job)


def _tell_missing_class(context: QueueContext, kind: Kind[Any], job: QueuedJob) -> None:
    """Say it if there is no class of the name that it bears."""
    if name := missing_class(context, job):
        why = f"there is no WorkloadPriorityClass {name} (label {PRIORITY_CLASS}): create it, or name another one"
        report(
            context, kind, job.metadata, "PriorityClassNotFound", f"{why}. Until then the priority of its pods counts"
        )


def report(context: QueueContext, kind: Kind[Any], meta: ObjectMeta, reason: str, why: str) -> None:
    """Something is not done for it, and people should hear why."""
    context.said += held_and_reported(reference_to(kind, meta), reason=reason, why=why, action="Queueing")
