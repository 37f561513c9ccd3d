"""What happens next to a workload, and when, by the rules that Growth goes by. Pure."""

from datetime import datetime

from growth.api.queue.workload import Workload
from growth.cli.formatting import due, span, times
from growth.cli.memory_list import named
from growth.cli.queue_entry import WorkloadPhase, WorkloadRow
from growth.cli.queue_failures import untried, waits_for_others
from growth.cli.queue_reader import QueueView
from growth.decide.queue.context import Key, QueueContext
from growth.decide.queue.pods_ready import follow_readiness
from growth.decide.queue.requeue import next_state

_SHOWN = 3


def deadline_of(seen: QueueView, key: Key) -> datetime | None:
    """By when the pods of one that starts must be ready, with the time that is given to machines which come; None if
    that is over. Its pods, nodes and requests must have been read."""
    trial = QueueContext(seen.context.inputs)
    if trial.terms.readiness is not None:
        draft = trial.drafts[key]
        follow_readiness(trial, draft, trial.job_of(draft.workload))
    return max(trial.deadlines, default=None)


def coming(seen: QueueView, workload: Workload, entry: WorkloadRow) -> str:
    """What follows when ``entry.until`` has come."""
    if entry.standing is WorkloadPhase.BACKOFF:
        return "it is queued again"
    return f"if its pods are not ready by then, {_put_back(seen, workload, entry)}"


def _put_back(seen: QueueView, workload: Workload, entry: WorkloadRow) -> str:
    until = entry.until or seen.context.now
    state = next_state(workload, seen.context.terms.requeuing, until)
    if state is None or state.requeue_at is None:
        return f"it is deactivated: it was tried {times(entry.attempts)} already, and that is the limit"
    return f"it is put back, and waits for {span(state.requeue_at - until)}"


def next_words(seen: QueueView, workload: Workload, entry: WorkloadRow) -> str:
    """One sentence."""
    at, until = seen.context.now, entry.until
    match entry.standing:
        case WorkloadPhase.FINISHED:
            return "Nothing: it has finished."
        case WorkloadPhase.INACTIVE:
            return "Nothing, until somebody activates it."
        case WorkloadPhase.LEAVING:
            return "When its pods are gone, its quota is free for others."
        case WorkloadPhase.READY | WorkloadPhase.RUNNING:
            return "When its job has ended, its quota is free for others."
        case WorkloadPhase.STARTING if until is not None:
            return f"By {due(until, at)} its pods must be ready, or {_put_back(seen, workload, entry)}."
        case WorkloadPhase.STARTING if seen.context.terms.readiness is not None:
            return "When its machines are there, its pods have their time to get ready."
        case WorkloadPhase.STARTING:
            return "When its pods are ready, that is said. By when they must be is in Growth's settings (--settings)."
        case WorkloadPhase.BACKOFF if until is not None and (left := _untried(seen, workload)):
            return f"At {due(until, at)} it is queued again for every flavor; {', '.join(left)} may serve it before."
        case WorkloadPhase.BACKOFF if until is not None:
            return f"At {due(until, at)} it is queued again."
        case WorkloadPhase.QUEUED:
            return _next_of_queued(seen, entry)
        case _:
            return "It is queued again when what holds it is over."


def _untried(seen: QueueView, workload: Workload) -> list[str]:
    return untried(seen, workload) if waits_for_others(seen, workload) else []


def _next_of_queued(seen: QueueView, entry: WorkloadRow) -> str:
    key = (entry.namespace, entry.name)
    if entry.waits_for:
        them = ("is", "it holds") if len(entry.waits_for) == 1 else ("are", "they hold")
        return f"It is admitted when {named(entry.waits_for, _SHOWN)} {them[0]} gone: what {them[1]} is kept for it."
    if key in seen.served:
        return "It is admitted: there is quota for it now. If that does not happen, is growth running?"
    if seen.firsts.get(entry.cluster_queue, key) != key and entry.why.startswith("behind"):
        return f"It is tried when the one before it was admitted; it is number {entry.position} in the line."
    return "It is tried again as soon as something in its queue changes: quota is freed, or raised."
