"""Who waits in which queue, at which place; why nobody can wait there; and what is said when the wait is over."""

from growth.api.queue.cluster_queues import ClusterQueue
from growth.api.queue.workload import (
    ADMITTED,
    EVICTED,
    PODS_READY,
    PREEMPTED,
    QUOTA_RESERVED,
    REQUEUED,
    Admission,
    RequeueState,
    Workload,
)
from growth.decide.queue.cluster_queue_status import standing_of_door
from growth.decide.queue.context import QueueContext
from growth.decide.queue.existing_capacity import lodge
from growth.decide.queue.failed_flavors import failures_of, is_early, supplies_seen_by
from growth.decide.queue.orphaned_workloads import is_terminating
from growth.decide.queue.pending_queue import order_of, place_of, waits_for_preempted, was_sent_back
from growth.decide.queue.preemption import promised_to
from growth.decide.queue.quota_holders import Key
from growth.decide.queue.requeue import is_waiting
from growth.decide.queue.workload_lifecycle import is_queued
from growth.decide.queue.workload_patch import WorkloadDraft


def line_up(context: QueueContext, key: Key) -> None:
    """Put a workload where it waits now, or nowhere."""
    draft = context.drafts[key]
    workload, line = draft.workload, None
    # What it holds, or what it wants, is not yet seen to be otherwise: its turn comes when it is.
    is_changing = draft.before.status.admission is not None or key in context.edited
    may_wait = is_queued(workload, context.now) or _is_early(context, workload)
    if not is_changing and may_wait and not is_terminating(context, workload):
        queue = _queue(context, draft)
        if queue is not None:
            is_strict = queue.spec.queueing_strategy == "StrictFIFO"
            order = order_of(workload, context.terms.requeuing.timestamp)
            preemptors_first = context.settings.queue.waiting_preemptors_first
            place = place_of(workload, order, is_strict=is_strict, preemptors_first=preemptors_first)
            line = (queue.metadata.name, place)
    context.backlog.enqueue(key, line, _shape(context, workload) if line is not None else None)


def wait(draft: WorkloadDraft, reason: str, why: str) -> None:
    """Say why it has no quota. Whether it waits for others to go decides on its place, and what it was promised on what
    it gets: that is more than a remark."""
    before = waits_for_preempted(draft.workload), promised_to(draft.workload)
    draft.remark(QUOTA_RESERVED, "False", reason, why)
    if (waits_for_preempted(draft.workload), promised_to(draft.workload)) != before:
        draft.is_weighty = True


def write_admission(context: QueueContext, draft: WorkloadDraft, admission: Admission, shut: str) -> None:
    """Say that it has quota, and whether it goes to existing nodes of flavors that are ``shut``."""
    queue = admission.cluster_queue
    if is_waiting(draft.workload, context.now):
        draft.say(REQUEUED, "True", "UntriedFlavor", "a flavor that it has not tried has room")
    state = draft.workload.status.requeue_state
    if state is not None and state.requeue_at is not None:
        draft.requeue(RequeueState(state.count, None))
    draft.admit(admission)
    lodge(draft, shut)
    draft.ask(())
    draft.say(QUOTA_RESERVED, "True", "QuotaReserved", f"it has quota in ClusterQueue {queue}")
    draft.say(ADMITTED, "True", "Admitted", f"it is admitted by ClusterQueue {queue}")
    for over in (EVICTED, PREEMPTED):
        if draft.workload.condition(over) is not None:
            draft.say(over, "False", "QuotaReserved", "it has quota again")
    if context.terms.readiness is not None:
        # The very words that follow as soon as it is looked at: other ones would be one more write for each job.
        pods = sum(one.count for one in draft.workload.spec.pod_sets)
        draft.say(PODS_READY, "False", "WaitForStart", f"0 of {pods} pods are ready or have succeeded")


def _is_early(context: QueueContext, workload: Workload) -> bool:
    """Whether it may be served although its backoff is not over."""
    is_free = workload.status.admission is None and workload.spec.active
    return context.settings.queue.try_other_flavors and is_free and is_early(workload, context.now)


def _shape(context: QueueContext, workload: Workload) -> object:
    """What decides on whether it can be served, but for its place."""
    sets = tuple((one.name, bytes(one.template), one.count) for one in workload.spec.pod_sets)
    refused = frozenset(supplies_seen_by(workload))
    tried = tuple(failures_of(workload).items()), refused, is_early(workload, context.now)
    # Who waits for others to go may stand before somebody older, who has a right to more. Who was sent back has a right
    # to less than somebody behind it who was not.
    past = waits_for_preempted(workload), promised_to(workload), was_sent_back(workload)
    request = workload.status.reclaimable_pods, workload.priority, past
    return workload.metadata.namespace, sets, request, tried


def _queue(context: QueueContext, draft: WorkloadDraft) -> ClusterQueue | None:
    """The queue in which it can wait; if there is none, that is said on it."""
    workload = draft.workload
    local_queue = context.local_queue_of(workload)
    if local_queue is None:
        where = f"{workload.metadata.namespace}/{workload.spec.queue_name}"
        wait(draft, "Misconfigured", f"there is no LocalQueue {where}: create it, or name another one")
        return None
    standing = standing_of_door(local_queue, context.standings)
    if not standing.is_active:
        behind = context.standings.get(local_queue.spec.cluster_queue)
        is_stopped = "Stopped" in (standing.reason, behind.reason if behind is not None else "")
        word = "Suspended" if is_stopped else "Misconfigured"
        wait(draft, word, f"LocalQueue {local_queue.metadata.name} is not at work: {standing.why}")
        return None
    queue = context.queues[local_queue.spec.cluster_queue]
    if not context.is_welcome(workload, queue):
        why = f"ClusterQueue {queue.metadata.name} is not for namespace {workload.metadata.namespace}"
        wait(draft, "Misconfigured", f"{why} (namespaceSelector)")
        return None
    return queue
