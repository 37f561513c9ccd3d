"""One workload as a person sees it: where it stands, why, and until when. Pure."""

from datetime import datetime
from enum import StrEnum

import msgspec

from growth.api.quantity import QuantityError
from growth.api.queue.workload import (
    ADMITTED,
    DEACTIVATION_TARGET,
    EVICTED,
    MAIN,
    PODS_READY,
    QUOTA_RESERVED,
    REQUEUED,
    Workload,
)
from growth.cli.queue_failures import failing_words
from growth.cli.queue_preemption import Preempted, sent_back, until_gone, waits_for
from growth.cli.queue_reader import QueueView, title_of
from growth.decide.queue.context import Key
from growth.decide.queue.failed_flavors import failures_of
from growth.decide.queue.flavor_assignment import needs_of
from growth.decide.queue.held_quota import usage_of
from growth.decide.queue.provisioning_deadline import EXPECTED
from growth.decide.queue.requeue import deadline, is_waiting


class WorkloadPhase(StrEnum):
    """How far a workload is; in this order they are shown."""

    READY = "ready"
    RUNNING = "running"
    """Admitted, and nobody waits for its pods to be ready."""
    STARTING = "starting"
    LEAVING = "leaving"
    """Evicted, and its pods have not gone yet: so long its quota is its own."""
    QUEUED = "queued"
    BACKOFF = "backing off"
    HELD = "held"
    """Something keeps it out of the line: a queue that is stopped or is not there."""
    INACTIVE = "deactivated"
    FINISHED = "finished"


HOLDING = (WorkloadPhase.READY, WorkloadPhase.RUNNING, WorkloadPhase.STARTING, WorkloadPhase.LEAVING)
"""Those that have quota."""


class WorkloadRow(msgspec.Struct, frozen=True):
    """One workload; amounts are thousandths of cpu, and whole units of everything else."""

    namespace: str
    name: str
    owner: str
    """What it stands for, such as ``Job train``; empty if it stands for itself."""
    local_queue: str
    cluster_queue: str
    """Empty if there is none behind its LocalQueue."""
    standing: WorkloadPhase
    priority: int = 0
    position: int = 0
    """Its place in the line, from 1; 0 if it is in none."""
    created_at: datetime | None = None
    since: datetime | None = None
    """When it came to stand like that."""
    until: datetime | None = None
    """Its pods must be ready by then, or it is tried again then; null if nobody knows, as while machines come."""
    attempts: int = 0
    """How many times it was admitted in vain."""
    pods: int = 0
    asks: dict[str, int] = {}
    why: str = ""
    waits_for: tuple[str, ...] = ()
    """Who has to go before it is admitted."""
    sent_back: Preempted | None = None
    """For whom it was, if it was and has no quota since."""
    failed: dict[str, str] = {}
    """Flavors on which it could not start, the latest last, and why."""
    remedy: str = ""
    """A command that a person can give; empty if nobody need do anything."""

    @property
    def title(self) -> str:
        """What people call it: the name of its job."""
        return f"{self.namespace}/{self.owner.partition(' ')[2] or self.name}"


def entry_of(seen: QueueView, key: Key) -> WorkloadRow:
    """What there is to say about this workload."""
    workload = seen.context.drafts[key].before
    meta, state, owner = workload.metadata, workload.status.requeue_state, workload.metadata.controller
    queue = seen.context.queue_of(workload)
    name = queue.metadata.name if queue is not None else ""
    position = seen.positions.get(key, 0)
    phase = _standing(seen, workload, position)
    asks = _asked_by(seen, workload)
    return WorkloadRow(
        namespace=meta.namespace,
        name=meta.name,
        owner=f"{owner.kind} {owner.name}" if owner is not None else "",
        local_queue=workload.spec.queue_name,
        cluster_queue=name,
        standing=phase,
        priority=workload.priority,
        position=position if phase is WorkloadPhase.QUEUED else 0,
        created_at=meta.creation_timestamp,
        since=_since(workload, phase),
        until=_until(seen, workload, phase),
        attempts=(state.count or 0) if state is not None else 0,
        pods=asks.get("pods", 0),
        asks={resource: amount for resource, amount in asks.items() if resource != "pods"},
        why=_why(seen, key, workload, phase),
        waits_for=waits_for(seen, written(seen, key, workload)) if phase is WorkloadPhase.QUEUED else (),
        sent_back=None if phase is WorkloadPhase.FINISHED else sent_back(seen, workload),
        failed=failures_of(workload),
        remedy=reactivation(workload) if phase is WorkloadPhase.INACTIVE else "",
    )


def _asked_by(seen: QueueView, workload: Workload) -> dict[str, int]:
    """What it asks for in all; what it holds, if it was admitted. Empty if that cannot be read."""
    total: dict[str, int] = {}
    try:
        for one in needs_of(workload, seen.context.filling):
            for resource, amount in one.amounts.items():
                total[resource] = total.get(resource, 0) + amount
    except (QuantityError, msgspec.ValidationError):
        return {}
    held: dict[str, int] = {}
    for (_, resource), amount in usage_of(workload).items():
        held[resource] = held.get(resource, 0) + amount
    return {**total, **held}


def reactivation(workload: Workload) -> str:
    """The command that lets a deactivated workload in again. (The whole name: Kubernetes has Workloads of its own.)"""
    meta = workload.metadata
    patch = '{"spec":{"active":true}}'
    return f"kubectl -n {meta.namespace} patch workloads.kueue.x-k8s.io {meta.name} --type merge -p '{patch}'"


def _standing(seen: QueueView, workload: Workload, position: int) -> WorkloadPhase:
    if workload.is_finished:
        return WorkloadPhase.FINISHED
    if workload.is_reserving:
        ready = workload.condition(PODS_READY)
        if workload.holds(EVICTED):
            return WorkloadPhase.LEAVING
        if ready is None:
            return WorkloadPhase.RUNNING
        return WorkloadPhase.READY if ready.status == "True" else WorkloadPhase.STARTING
    if not workload.spec.active:
        return WorkloadPhase.INACTIVE
    if position:
        return WorkloadPhase.QUEUED
    return WorkloadPhase.BACKOFF if is_waiting(workload, seen.context.now) else WorkloadPhase.HELD


_TOLD_BY = {
    WorkloadPhase.READY: PODS_READY,
    WorkloadPhase.RUNNING: ADMITTED,
    WorkloadPhase.STARTING: ADMITTED,
    WorkloadPhase.LEAVING: EVICTED,
    WorkloadPhase.BACKOFF: EVICTED,
    WorkloadPhase.HELD: EVICTED,
    WorkloadPhase.INACTIVE: EVICTED,
}


def _since(workload: Workload, phase: WorkloadPhase) -> datetime | None:
    said = workload.condition(_TOLD_BY.get(phase, ""))
    if said is None or said.status != "True":
        return workload.metadata.creation_timestamp
    return said.last_transition_time


def _until(seen: QueueView, workload: Workload, phase: WorkloadPhase) -> datetime | None:
    readiness, state = seen.context.terms.readiness, workload.status.requeue_state
    if phase is WorkloadPhase.STARTING and readiness is not None:
        # Who waits for machines has more time. How much is written there; exactly, only those know who see them.
        is_given_more = seen.context.terms.extends and EXPECTED in _message(workload, PODS_READY)
        return None if is_given_more else deadline(workload, readiness)
    return state.requeue_at if phase is WorkloadPhase.BACKOFF and state is not None else None


def _why(seen: QueueView, key: Key, workload: Workload, phase: WorkloadPhase) -> str:
    """What is written about it; where nothing is yet, what the next pass would say."""
    match phase:
        case WorkloadPhase.STARTING | WorkloadPhase.READY:
            return _message(workload, PODS_READY)
        case WorkloadPhase.LEAVING:
            gave_way = sent_back(seen, workload)
            return gave_way.why if gave_way is not None else _message(workload, EVICTED)
        case WorkloadPhase.BACKOFF:
            if key in seen.served:
                return f"there is quota for it now; {failing_words(seen, workload)}"
            return "; ".join(filter(None, (_message(workload, EVICTED), failing_words(seen, workload))))
        case WorkloadPhase.INACTIVE:
            cause = _message(workload, DEACTIVATION_TARGET) if workload.holds(DEACTIVATION_TARGET) else ""
            return cause or _message(workload, EVICTED) or "somebody deactivated it (spec.active)"
        case WorkloadPhase.QUEUED:
            return _why_queued(seen, key, workload)
        case WorkloadPhase.HELD:
            return _why_held(seen, key, workload)
        case _:
            return ""


def _why_queued(seen: QueueView, key: Key, workload: Workload) -> str:
    gave_way = sent_back(seen, workload)
    before = (f"sent back: {gave_way.why}" if gave_way is not None else "", failing_words(seen, workload))
    return "; ".join(filter(None, (*before, _what_is_short(seen, key, workload))))


def _what_is_short(seen: QueueView, key: Key, workload: Workload) -> str:
    queue, said = seen.context.queue_of(workload), workload.condition(QUOTA_RESERVED)
    if key in seen.served and (said is None or said.reason != "WaitingForPodsReady"):
        return "there is quota for it now"
    if queue is not None and queue.spec.queueing_strategy == "StrictFIFO":
        first = seen.firsts.get(queue.metadata.name, key)
        if first != key:
            return f"behind {title_of(seen, first)}: the queue is StrictFIFO"
    told = written(seen, key, workload)
    victims = waits_for(seen, told)
    return until_gone(victims) if victims else told


def written(seen: QueueView, key: Key, workload: Workload) -> str:
    """Why it has no quota; where nothing is said yet, what the next pass would say."""
    said = workload.condition(QUOTA_RESERVED)
    known = said.message if said is not None and said.reason != "PendingEvaluation" else ""
    told = known or seen.words.get(key, "")
    # Where there is one pod set only, everybody knows which one is meant.
    return told.removeprefix(f"{MAIN}: ") if len(workload.spec.pod_sets) == 1 else told


def _why_held(seen: QueueView, key: Key, workload: Workload) -> str:
    requeued = workload.condition(REQUEUED)
    if workload.metadata.deletion_timestamp is not None:
        return "it is being deleted"
    if seen.context.is_awaited(workload):
        return "its job is not seen: it was deleted, or names no queue any more"
    if requeued is not None and requeued.status == "False":
        return f"{_message(workload, EVICTED) or 'it was evicted'}: it comes back when that is over"
    return seen.words.get(key) or _message(workload, QUOTA_RESERVED)


def _message(workload: Workload, kind: str) -> str:
    said = workload.condition(kind)
    return said.message if said is not None else ""
