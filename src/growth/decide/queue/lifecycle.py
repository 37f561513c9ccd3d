"""From one state of a workload to the next, but for the admission itself.

| seen | what follows |
|---|---|
| its job has ended, or is gone | Finished |
| it was deactivated (``spec.active: false``) | Evicted, WorkloadInactive |
| its queue drains | Evicted, ClusterQueueStopped or LocalQueueStopped |
| its pods are not ready in time | Evicted, PodsReadyTimeout; at the limit it is deactivated |
| evicted, and its job runs no pods any more | its quota is free; Requeued is False |
| what it was evicted for is over (the backoff, the stop) | Requeued is True: it waits its turn again |
"""

from growth.api.queue.job import QueuedJob
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    FINISHED,
    JOB_UID,
    LIMIT_EXCEEDED,
    PODS_READY,
    PODS_READY_TIMEOUT,
    QUOTA_RESERVED,
    REQUEUED,
    WORKLOAD_INACTIVE,
    RequeueState,
    Workload,
)
from growth.decide.queue.draft import Draft
from growth.decide.queue.requeuing import deadline, is_waiting, next_state
from growth.decide.queue.scene import Scene

QUEUE_STOPPED, DOOR_STOPPED = "ClusterQueueStopped", "LocalQueueStopped"


def follow(scene: Scene, draft: Draft) -> None:
    """Bring one workload as far as it can go without quota."""
    if draft.workload.is_finished:
        return
    job = scene.job_of(draft.workload)
    if job is not None and job.ended is not None:
        word = "Succeeded" if job.ended.type == "Complete" else "Failed"
        draft.say(FINISHED, "True", word, f"its job has ended: {job.ended.reason or job.ended.type}")
        return
    if job is None and JOB_UID in draft.workload.metadata.labels:
        draft.say(FINISHED, "True", "OwnerNotFound", "its job is gone")
        return
    _follow_activity(draft)
    _follow_stops(scene, draft)
    if scene.terms.readiness is not None:
        _follow_readiness(scene, draft, job)
    _release(draft, job)
    _return(scene, draft)


def is_queued(workload: Workload) -> bool:
    """Whether it waits for its turn now."""
    requeued = workload.condition(REQUEUED)
    is_held = requeued is not None and requeued.status == "False"
    is_free = workload.status.admission is None and not workload.is_finished
    return is_free and workload.spec.active and not is_held


def _evicted_for(workload: Workload) -> str:
    """Why it is evicted, as one word; empty if it is not."""
    evicted = workload.condition(EVICTED)
    return evicted.reason if evicted is not None and evicted.status == "True" else ""


def _follow_activity(draft: Draft) -> None:
    workload, cause = draft.workload, draft.workload.condition(DEACTIVATION_TARGET)
    is_by_limit = cause is not None and cause.status == "True"
    was_inactive = _evicted_for(workload) == WORKLOAD_INACTIVE
    if not workload.spec.active:
        if workload.is_reserving and not was_inactive:
            why = cause.message if cause is not None and is_by_limit else "somebody deactivated it (spec.active)"
            draft.say(EVICTED, "True", WORKLOAD_INACTIVE, why)
        elif not workload.is_reserving:
            draft.say(QUOTA_RESERVED, "False", "Deactivated", "it is not active: set spec.active to true to queue it")
    elif was_inactive and not workload.is_reserving:
        if is_by_limit:
            draft.requeue(None)
            draft.unsay(DEACTIVATION_TARGET)
        draft.say(REQUEUED, "True", "Reactivated", "it was activated again")
    elif is_by_limit and not was_inactive:
        draft.deactivate()


def _follow_stops(scene: Scene, draft: Draft) -> None:
    workload = draft.workload
    if not workload.is_reserving or workload.holds(EVICTED):
        return
    queue, door = scene.queue_of(workload), scene.door_of(workload)
    if queue is not None and queue.spec.stop_policy == "HoldAndDrain":
        draft.say(EVICTED, "True", QUEUE_STOPPED, f"ClusterQueue {queue.metadata.name} is being drained")
    elif door is not None and door.spec.stop_policy == "HoldAndDrain":
        draft.say(EVICTED, "True", DOOR_STOPPED, f"LocalQueue {door.metadata.name} is being drained")


def _follow_readiness(scene: Scene, draft: Draft, job: QueuedJob | None) -> None:
    workload, known = draft.workload, draft.workload.condition(PODS_READY)
    if not workload.holds(ADMITTED) or workload.holds(EVICTED) or job is None:
        if known is not None:
            draft.say(PODS_READY, "False", "WaitForStart", "it is not admitted")
        return
    was_ready = known is not None and (known.status == "True" or known.reason == "WaitForRecovery")
    if not job.spec.suspend and job.are_pods_ready:
        word = "Recovered" if was_ready and known is not None and known.reason != "Started" else "Started"
        draft.say(PODS_READY, "True", word, "all its pods are ready or have succeeded")
        return
    draft.say(
        PODS_READY,
        "False",
        "WaitForRecovery" if was_ready else "WaitForStart",
        f"{job.status.ready + job.status.succeeded} of {job.spec.pods} pods are ready or have succeeded",
    )
    _follow_deadline(scene, draft)


def _follow_deadline(scene: Scene, draft: Draft) -> None:
    readiness = scene.terms.readiness
    ends_at = deadline(draft.workload, readiness) if readiness is not None else None
    if ends_at is None:
        return
    if scene.now < ends_at:
        scene.deadlines.append(ends_at)
        return
    state = next_state(draft.workload, scene.terms.requeuing, scene.now)
    condition = draft.workload.condition(PODS_READY)
    told = condition.message if condition is not None else "its pods are not ready"
    if state is None:
        limit = scene.terms.requeuing.limit_count
        draft.say(DEACTIVATION_TARGET, "True", LIMIT_EXCEEDED, f"{told}, and it was put back {limit} times already")
        return
    draft.requeue(state)
    draft.say(EVICTED, "True", PODS_READY_TIMEOUT, f"not ready in time: {told}")


def _release(draft: Draft, job: QueuedJob | None) -> None:
    """Quota is free once nothing runs on it any more."""
    workload, reason = draft.workload, _evicted_for(draft.workload)
    if not reason or workload.status.admission is None:
        return
    if job is not None and not (job.spec.suspend and job.status.active == 0):
        return
    draft.admit(None)
    draft.say(QUOTA_RESERVED, "False", "PendingEvaluation", f"it was evicted: {reason}")
    draft.say(ADMITTED, "False", "NoReservation", "it has no quota")
    draft.say(REQUEUED, "False", reason, "it waits until what it was evicted for is over")


def _return(scene: Scene, draft: Draft) -> None:
    workload = draft.workload
    if workload.status.admission is not None or not workload.spec.active or is_queued(workload):
        return
    match _evicted_for(workload):
        case reason if reason == PODS_READY_TIMEOUT:
            state = workload.status.requeue_state
            if is_waiting(workload, scene.now):
                if state is not None and state.requeue_at is not None:
                    scene.deadlines.append(state.requeue_at)
                return
            if state is not None:
                draft.requeue(RequeueState(state.count, None))
            draft.say(REQUEUED, "True", "BackoffFinished", "it has waited long enough")
        case reason if reason == QUEUE_STOPPED:
            queue = scene.queue_of(workload)
            if queue is not None and queue.spec.stop_policy == "None":
                draft.say(REQUEUED, "True", "ClusterQueueRestarted", "its ClusterQueue is at work again")
        case reason if reason == DOOR_STOPPED:
            door = scene.door_of(workload)
            if door is not None and door.spec.stop_policy == "None":
                draft.say(REQUEUED, "True", "LocalQueueRestarted", "its LocalQueue is at work again")
        case _:
            pass
