"""Tells whoever buys machines which pods are about to be made: those of jobs that were just admitted.

A pod is announced from when its job's admission is seen until the job's pods are counted, and not for longer than a
minute: a job that makes no pods (a ResourceQuota is in its way, say) must not keep machines. Then its pods speak for
themselves. If the job is put back, they are not announced any more, and what was bought for them goes as all nodes go
that nobody needs.
"""

from collections.abc import Iterator
from datetime import timedelta
from itertools import chain
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS
from growth.api.meta import ObjectMeta, OwnerReference
from growth.api.pod import Pod, PodStatus
from growth.api.quantity import QuantityError
from growth.api.queue.job import QUEUED_JOBS, QueuedJob
from growth.api.queue.workload import ADMITTED, EVICTED, Workload
from growth.decide.elapsed import is_ahead
from growth.decide.facts.gangs import PendingGangs
from growth.decide.facts.virtual_pods import UpcomingJobPods, announcements
from growth.decide.queue.context import QueueContext
from growth.decide.queue.failure_notes import flavors_of
from growth.decide.queue.flavor_assignment import bound_to
from growth.decide.queue.gangs import gangs_of
from growth.decide.queue.quota_holders import Key

_A_MOMENT: Final = timedelta(minutes=1)


def announce(context: QueueContext) -> None:
    """Note who is about to be made, and which pods start together. Without providers or pools nobody buys anything."""
    if context.snapshot.clouds and context.snapshot.table(NODE_POOLS):
        announced = dict(_announced(context))
        pods = {pod.metadata.uid: pod for pod in chain.from_iterable(announced.values())}
        context.provided += [UpcomingJobPods(pods), PendingGangs(tuple(gangs_of(context, announced)))]


def _announced(context: QueueContext) -> Iterator[tuple[Key, tuple[Pod, ...]]]:
    known, awaited = context.backlog.announced, context.backlog.awaited
    for key in known.keys() - awaited:
        known.pop(key, None)
    for key in sorted(awaited):
        workload = context.current(key)
        job = context.job_of(workload)
        if job is None or not _is_about_to_start(context, workload, job):
            known.pop(key, None)
            continue
        pods = known.get(key)
        if pods is None or len(pods) != job.pods_to_come:
            pods = known[key] = _pods_of(context, key, workload, job)
        yield key, pods[context.snapshot.offspring.of(job.metadata.uid) :]


def _is_about_to_start(context: QueueContext, workload: Workload, job: QueuedJob) -> bool:
    """Whether it is admitted, and none of its pods is counted yet.

    Who was put back because its pods were not ready may never make any, and would have machines bought for nothing at
    each attempt.
    """
    admitted, status, state = workload.condition(ADMITTED), job.status, workload.status.requeue_state
    if state is not None and state.count:
        return False
    is_admitted = admitted is not None and admitted.status == "True" and not workload.holds(EVICTED)
    if not is_admitted or workload.is_finished or status.active or status.ready or status.terminating:
        return False
    since = admitted.last_transition_time if admitted is not None else None
    return since is not None and is_ahead(since + _A_MOMENT, context.now, _A_MOMENT)


def _pods_of(context: QueueContext, key: Key, workload: Workload, job: QueuedJob) -> tuple[Pod, ...]:
    """All of them, bound to the nodes of their flavors."""
    flavors = [context.flavors[name] for name in flavors_of(workload) if name in context.flavors]
    try:
        (pod_set,) = workload.spec.pod_sets
        spec, _ = context.filling.pod_of(pod_set, workload.metadata.namespace)
        labels = pod_set.pods.metadata.labels
    except (ValueError, QuantityError, msgspec.ValidationError):
        # Nobody can tell what they would be like.
        return ()
    meta = ObjectMeta(
        name=job.metadata.name,
        namespace=key[0],
        creation_timestamp=context.now,
        labels=labels,
        owner_references=(OwnerReference(QUEUED_JOBS.name, job.metadata.name, job.metadata.uid, controller=True),),
    )
    pod = Pod(meta, bound_to(spec, flavors), status=PodStatus(phase="Pending"))
    return announcements(pod, workload.metadata.uid, job.pods_to_come)
