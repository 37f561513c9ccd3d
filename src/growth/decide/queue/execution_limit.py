"""How long a workload may run: ``spec.maximumExecutionTimeSeconds``, over all its admissions together.

    admitted ──its time is over──► deactivated, and evicted; what it was given is free
    evicted for another reason ──► what it has run counts, and the rest is left for its next admission
    a person activates it again ──► all its time anew

It counts from each admission, as in Kueue, so time in which its pods are being made is time, too. Who is activated by
a person after its time was over begins anew; otherwise it would be deactivated again in the same second. Its
``requeueState`` is kept: it could start.
"""

from datetime import timedelta

from growth.api.queue.workload import ADMITTED, DEACTIVATION_TARGET, EVICTED, TIME_EXCEEDED, Workload
from growth.decide.queue.context import QueueContext
from growth.decide.queue.requeue import later
from growth.decide.queue.workload_patch import WorkloadDraft


def follow_execution(context: QueueContext, draft: WorkloadDraft) -> None:
    """Deactivate who has run for as long as it may."""
    workload, most = draft.workload, draft.workload.spec.maximum_execution_time_seconds
    admitted = workload.condition(ADMITTED)
    is_running = workload.is_reserving and admitted is not None and admitted.status == "True"
    is_over = not workload.spec.active or workload.holds(EVICTED) or workload.holds(DEACTIVATION_TARGET)
    if most is None or admitted is None or admitted.last_transition_time is None or not is_running or is_over:
        return
    ends_at = later(admitted.last_transition_time, timedelta(seconds=max(0, most - _spent(workload))))
    if context.now < ends_at:
        context.deadlines.append(ends_at)
        return
    why = f"it has run for {most} s, which is all that maximumExecutionTimeSeconds allows"
    draft.say(DEACTIVATION_TARGET, "True", TIME_EXCEEDED, why)


def count_execution(context: QueueContext, draft: WorkloadDraft) -> None:
    """It is admitted no longer: what it has run stays with it. To be called before that is said."""
    admitted = draft.workload.condition(ADMITTED)
    if admitted is None or admitted.status != "True" or admitted.last_transition_time is None:
        return
    ran = max(0, int((context.now - admitted.last_transition_time).total_seconds()))
    draft.spend(_spent(draft.workload) + ran)


def _spent(workload: Workload) -> int:
    return workload.status.accumulated_past_execution_time_seconds or 0
