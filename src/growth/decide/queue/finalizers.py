"""What Kueue left behind, and that is being deleted, waits for Kueue to let it go. Kueue is gone: we do it instead.

| object | its finalizer goes when |
|---|---|
| ResourceFlavor | no ClusterQueue names it |
| ClusterQueue | nobody holds quota of it |
| Workload | it has ended, or its job is gone, or stopped and as it was before |
| Pod | it has ended, or never had a node |

Objects that are not being deleted keep theirs: if Kueue comes back, it finds them as it left them.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from growth.api.actions import PatchObject
from growth.api.kinds import PODS, Kind
from growth.api.meta import ObjectMeta
from growth.api.queue.job import QUEUED_JOBS, STOPPING, QueuedJob
from growth.api.queue.kinds import CLUSTER_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.kueue_installation import IN_USE
from growth.api.queue.pod import MANAGED
from growth.api.queue.workload import Workload
from growth.api.references import reference_to
from growth.observe.snapshot import Snapshot


def let_go(
    snapshot: Snapshot, ending: Iterable[Workload], given: Collection[str], *, is_sure: bool
) -> Iterator[PatchObject]:
    """Take finalizers off. ``ending`` are the workloads that are being deleted; ``given`` are ClusterQueues whose quota
    somebody is given just now, or holds without our being able to read how much; ``is_sure`` says whether all
    ClusterQueues can be read."""
    workloads, queues = snapshot.table(WORKLOADS).values(), snapshot.table(CLUSTER_QUEUES).values()
    # Hardly anything ever waits, and there may be very many workloads and jobs.
    if leaving := [one for one in ending if _waits(one.metadata, IN_USE)]:
        jobs = {job.metadata.uid: job for job in snapshot.table(QUEUED_JOBS).values()}
        for workload in leaving:
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
