"""From one state of a workload to the next, but for the admission itself.

| seen | what follows |
|---|---|
| its job has ended, or left it behind | Finished |
| it was deactivated (``spec.active: false``) | Evicted, WorkloadInactive |
| machines for it cannot be had | Evicted, FlavorOutOfStock (``moving``) |
| a plan has no place for all of its pods | Evicted, NoPlacement (``gangs``) |
| its queue drains | Evicted, ClusterQueueStopped or LocalQueueStopped |
| its pods are not ready in time | Evicted, PodsReadyTimeout; at the limit it is deactivated |
| it was never ready within ``backoffLimitTimeout`` | it is deactivated |
| it has run for as long as it may | it is deactivated |
| it is being deleted, and kept by a finalizer | Evicted, WorkloadDeleted |
| its job wants more pods than it was admitted with | Evicted, OutOfSync |
| its job needs fewer pods than before | they are reclaimable: their quota is free |
| evicted, and its job runs no pods any more | its quota is free; Requeued is False |
| what it was evicted for is over (the backoff, the stop) | Requeued is True: it waits its turn again |

Workloads whose job is not seen: ``leaving``.
"""

from datetime import datetime

from growth.api.queue.job import STOPPING, QueuedJob
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    JOB_UID,
    PODS_READY,
    PODS_READY_TIMEOUT,
    QUOTA_RESERVED,
    REQUEUED,
    TIME_EXCEEDED,
    WORKLOAD_INACTIVE,
    ReclaimablePods,
    Workload,
)
from growth.decide.queue.context import QueueContext
from growth.decide.queue.execution_limit import count_execution, follow_execution
from growth.decide.queue.existing_capacity import follow_lodging
from growth.decide.queue.failure_notes import follow_failures
from growth.decide.queue.flavor_assignment import OUT_OF_STOCK
from growth.decide.queue.flavor_migration import follow_stock, may_return
from growth.decide.queue.gangs import follow_placement
from growth.decide.queue.orphaned_workloads import follow_absence, follow_return
from growth.decide.queue.pod_sets import is_as_wanted
from growth.decide.queue.pods_ready import follow_patience, follow_readiness
from growth.decide.queue.requeue import BACKOFF_FINISHED, is_waiting
from growth.decide.queue.workload_patch import WorkloadDraft

QUEUE_STOPPED, DOOR_STOPPED, OUT_OF_SYNC = "ClusterQueueStopped", "LocalQueueStopped", "OutOfSync"
WORKLOAD_DELETED = "WorkloadDeleted"


def follow(context: QueueContext, draft: WorkloadDraft) -> None:
    """Bring one workload as far as it can go without quota."""
    if draft.workload.is_finished and not follow_return(context, draft):
        return
    if follow_absence(context, draft):
        return
    job = context.job_of(draft.workload)
    if job is not None and job.ended is not None:
        word = "Succeeded" if job.ended.type == "Complete" else "Failed"
        draft.say(FINISHED, "True", word, f"its job has ended: {job.ended.reason or job.ended.type}")
        return
    if draft.workload.metadata.controller is None and JOB_UID in draft.workload.metadata.labels:
        draft.say(FINISHED, "True", "OwnerNotFound", "its job is gone and left it behind")
        return
    has_noted = (
        follow_failures(context, draft, job) or follow_stock(context, draft) or follow_placement(context, draft, job)
    )
    if has_noted:
        # The rest follows when that is seen.
        context.edited.add((draft.before.metadata.namespace, draft.before.metadata.name))
        return
    _mend(draft)
    _follow_activity(draft)
    _follow_stops(context, draft)
    _follow_deletion(draft)
    if job is not None:
        _follow_size(draft, job)
    if context.terms.readiness is not None:
        follow_readiness(context, draft, job)
        follow_patience(context, draft)
    follow_execution(context, draft)
    if not context.is_awaited(draft.workload):
        _release(context, draft, job)
    follow_lodging(context, draft, job)
    _return(context, draft, job)


def is_queued(workload: Workload, now: datetime) -> bool:
    """Whether it waits for its turn now."""
    is_there = workload.metadata.deletion_timestamp is None and not workload.is_finished
    is_free = is_there and workload.status.admission is None and workload.spec.active
    return is_free and not _is_held(workload) and not is_waiting(workload, now)


def _is_held(workload: Workload) -> bool:
    requeued = workload.condition(REQUEUED)
    return requeued is not None and requeued.status == "False"


def _mend(draft: WorkloadDraft) -> None:
    """Somebody edited its status: what it was given is the truth, and what is said must fit."""
    if draft.workload.status.admission is not None:
        if not draft.workload.holds(QUOTA_RESERVED):
            draft.say(QUOTA_RESERVED, "True", "QuotaReserved", "it has quota: that was not said any more")
        if not draft.workload.holds(ADMITTED):
            draft.say(ADMITTED, "True", "Admitted", "it is admitted: that was not said any more")
        return
    if draft.workload.holds(QUOTA_RESERVED):
        draft.say(QUOTA_RESERVED, "False", "PendingEvaluation", "somebody took its admission away")
    if draft.workload.holds(ADMITTED):
        draft.say(ADMITTED, "False", "NoReservation", "it has no quota")


def _evicted_for(workload: Workload) -> str:
    """Why it is evicted, as one word; empty if it is not."""
    evicted = workload.condition(EVICTED)
    return evicted.reason if evicted is not None and evicted.status == "True" else ""


def _follow_activity(draft: WorkloadDraft) -> None:
    workload, cause = draft.workload, draft.workload.condition(DEACTIVATION_TARGET)
    is_by_limit = cause is not None and cause.status == "True"
    was_inactive = _evicted_for(workload) == WORKLOAD_INACTIVE
    if not workload.spec.active:
        # One that the limit deactivated is marked as such even without quota: a person's activation must end it.
        if (workload.is_reserving or is_by_limit) and not was_inactive:
            why = cause.message if cause is not None and is_by_limit else "somebody deactivated it (spec.active)"
            draft.say(EVICTED, "True", WORKLOAD_INACTIVE, why)
        elif not workload.is_reserving:
            draft.say(QUOTA_RESERVED, "False", "Deactivated", "it is not active: set spec.active to true to queue it")
    elif was_inactive and not workload.is_reserving:
        if cause is not None and is_by_limit:
            _forgive(draft, cause.reason)
        draft.say(REQUEUED, "True", "Reactivated", "it was activated again")
    elif is_by_limit and not was_inactive:
        draft.deactivate()


def _forgive(draft: WorkloadDraft, cause: str) -> None:
    """A person wants it to be tried again: what had used it up begins anew, and nothing else."""
    draft.unsay(DEACTIVATION_TARGET)
    if cause == TIME_EXCEEDED:
        draft.spend(None)
    else:
        draft.requeue(None)
        draft.unsay(PODS_READY)


def _follow_stops(context: QueueContext, draft: WorkloadDraft) -> None:
    workload = draft.workload
    if not workload.is_reserving or workload.holds(EVICTED):
        return
    queue, local_queue = context.queue_of(workload), context.local_queue_of(workload)
    if queue is not None and queue.spec.stop_policy == "HoldAndDrain":
        draft.say(EVICTED, "True", QUEUE_STOPPED, f"ClusterQueue {queue.metadata.name} is being drained")
    elif local_queue is not None and local_queue.spec.stop_policy == "HoldAndDrain":
        draft.say(EVICTED, "True", DOOR_STOPPED, f"LocalQueue {local_queue.metadata.name} is being drained")


def _follow_deletion(draft: WorkloadDraft) -> None:
    """Somebody deletes it, and a finalizer of Kueue keeps it until its job is stopped and as it was."""
    workload = draft.workload
    if workload.metadata.deletion_timestamp is not None and workload.is_reserving and not workload.holds(EVICTED):
        draft.say(EVICTED, "True", WORKLOAD_DELETED, "it is being deleted")


def _follow_size(draft: WorkloadDraft, job: QueuedJob) -> None:
    """Pods that the job does not need any more are reclaimable; for more than it was admitted with it must wait."""
    workload = draft.workload
    if not workload.spec.pod_sets:
        return
    pod_set = workload.spec.pod_sets[0]
    known = next((one.count for one in workload.status.reclaimable_pods if one.name == pod_set.name), 0)
    spare = max(0, pod_set.count - job.pods_to_come)
    if workload.is_reserving:
        spare = max(spare, known)
        is_unlike = job.spec.suspend and STOPPING not in job.metadata.annotations and not is_as_wanted(workload, job)
        if not workload.holds(EVICTED) and (is_unlike or job.pods_to_come > pod_set.count - known):
            draft.say(EVICTED, "True", OUT_OF_SYNC, f"Job {job.metadata.name} was edited after it was admitted")
    if spare != known:
        draft.reclaim((ReclaimablePods(pod_set.name, spare),) if spare else ())


def _release(context: QueueContext, draft: WorkloadDraft, job: QueuedJob | None) -> None:
    """Quota is free once nothing runs on it any more, and nothing can begin to."""
    workload, reason = draft.workload, _evicted_for(draft.workload)
    if not reason or workload.status.admission is None or (job is not None and not job.is_stopped):
        return
    draft.admit(None)
    count_execution(context, draft)
    draft.say(QUOTA_RESERVED, "False", "PendingEvaluation", f"it was evicted: {reason}")
    draft.say(ADMITTED, "False", "NoReservation", "it has no quota")
    draft.say(REQUEUED, "False", reason, "it waits until what it was evicted for is over")


def _return(context: QueueContext, draft: WorkloadDraft, job: QueuedJob | None) -> None:
    workload, state = draft.workload, draft.workload.status.requeue_state
    if workload.status.admission is not None or not workload.spec.active:
        return
    if state is not None and state.requeue_at is not None and is_waiting(workload, context.now):
        context.deadlines.append(state.requeue_at)
        return
    back = _back(context, workload, job) if _is_held(workload) else None
    if back is not None:
        draft.say(REQUEUED, "True", *back)


def _back(context: QueueContext, workload: Workload, job: QueuedJob | None) -> tuple[str, str] | None:
    """Why it may be queued again, as a word and a sentence; None if what it was evicted for is not over."""
    queue, local_queue, evicted_for = (
        context.queue_of(workload),
        context.local_queue_of(workload),
        _evicted_for(workload),
    )
    is_over, word, why = {
        PODS_READY_TIMEOUT: (True, BACKOFF_FINISHED, "it has waited long enough"),
        QUEUE_STOPPED: (
            queue is not None and queue.spec.stop_policy == "None",
            "ClusterQueueRestarted",
            "its ClusterQueue is at work again",
        ),
        DOOR_STOPPED: (
            local_queue is not None and local_queue.spec.stop_policy == "None",
            "LocalQueueRestarted",
            "its LocalQueue is at work again",
        ),
        OUT_OF_SYNC: (job is None or is_as_wanted(workload, job), OUT_OF_SYNC, "it wants what its job wants now"),
        OUT_OF_STOCK: (
            evicted_for == OUT_OF_STOCK and may_return(context, workload),
            OUT_OF_STOCK,
            "nothing holds it back any more",
        ),
        # That is said when it is seen to be active without quota.
        WORKLOAD_INACTIVE: (False, "", ""),
        # Kueue's reasons, from before, or nobody said why: nothing that we know of holds it back.
    }.get(evicted_for, (True, evicted_for or "PendingEvaluation", "nothing holds it back any more"))
    return (word, why) if is_over else None
