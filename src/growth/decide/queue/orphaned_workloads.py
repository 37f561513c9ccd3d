"""Workloads whose job is not seen.

Jobs are watched by their label, so one that is deleted and one that names no queue any more look the same: they are
gone. What is gone takes its workload along, soon. A workload that is left stands for a job that somebody took out of
the queue: its quota is free again, and the job is its owner's business, running or suspended. If it names a queue
again it is queued like a new one.

A job may also be on its way to us, because a watch lags. So nothing of this happens before a watch that hangs would
have been noticed, and until then its quota is held: its pods may run.
"""

from datetime import timedelta
from typing import Final

from growth.api.queue.workload import ADMITTED, FINISHED, QUOTA_RESERVED, Workload
from growth.decide.queue.context import QueueContext
from growth.decide.queue.execution_limit import count_execution
from growth.decide.queue.workload_patch import WorkloadDraft

LEFT: Final = "LeftQueue"
# An informer takes a watch for dead after 190 s, and reads all anew.
_PATIENCE: Final = timedelta(minutes=5)


def note_absence(context: QueueContext) -> None:
    """Keep since when which job is not seen."""
    for key in context.touched:
        workload = context.drafts[key].workload
        if not workload.is_finished and context.is_awaited(workload):
            context.backlog.absent.setdefault(key, context.now)
        else:
            context.backlog.absent.pop(key, None)


def follow_absence(context: QueueContext, draft: WorkloadDraft) -> bool:
    """Let go whose job has left; whether there is nothing else to do with it."""
    since = context.absent.get((draft.workload.metadata.namespace, draft.workload.metadata.name))
    if since is None:
        return False
    if context.now < since + _PATIENCE:
        context.deadlines.append(since + _PATIENCE)
        return False
    if draft.workload.status.admission is not None:
        draft.admit(None)
        count_execution(context, draft)
        draft.say(QUOTA_RESERVED, "False", LEFT, "its job names no queue any more")
        draft.say(ADMITTED, "False", "NoReservation", "it has no quota")
    draft.say(FINISHED, "True", LEFT, "its job names no queue any more: what becomes of it is not the queue's business")
    return True


def follow_return(context: QueueContext, draft: WorkloadDraft) -> bool:
    """A job that had left names a queue again: whether its workload begins anew."""
    job = context.job_of(draft.workload)
    if has_left(draft.workload) and job is not None and job.ended is None:
        draft.unsay(FINISHED)
        return True
    return False


def has_left(workload: Workload) -> bool:
    """Whether it is finished only because its job left the queue."""
    finished = workload.condition(FINISHED)
    return finished is not None and finished.status == "True" and finished.reason == LEFT


def is_terminating(context: QueueContext, workload: Workload) -> bool:
    """Whether nobody is there who could use what it would be given: its job is not seen, or is being deleted."""
    job = context.job_of(workload)
    return context.is_awaited(workload) or (job is not None and job.metadata.deletion_timestamp is not None)
