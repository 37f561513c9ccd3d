"""What has just become of workloads: counted on them, told as events, and shown as figures.

A decision is seen on its object only after a while, and until then it is decided again. So what was told of a version
of a workload is not told again of the same one.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final, Literal

import msgspec

from growth.api.actions import RecordEvent
from growth.api.core import ObjectReference
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import (
    DEACTIVATION_TARGET,
    EVICTED,
    MAX_EVICTION_REASONS,
    PODS_READY,
    PODS_READY_TIMEOUT,
    REQUEUED,
    WORKLOAD_INACTIVE,
    EvictionCount,
    SchedulingStats,
    Workload,
)
from growth.api.references import reference_to
from growth.api.status import StatusCondition
from growth.decide.queue.context import Key, QueueContext
from growth.decide.queue.workload_patch import WorkloadDraft

_ACTION: Final = "Queueing"


class WorkloadEvents(msgspec.Struct, frozen=True):
    """What happened in one pass, by ClusterQueue."""

    evicted: tuple[tuple[str, str], ...] = ()
    """Queue and reason."""
    admitted: tuple[tuple[str, float], ...] = ()
    """Queue, and for how many seconds it had waited."""
    ready: tuple[tuple[str, float], ...] = ()
    """Queue, and how many seconds it took from when it was queued."""


def tell_news(context: QueueContext, reported: Mapping[Key, int]) -> tuple[WorkloadEvents, Mapping[Key, int]]:
    """Tell what is new since ``told``, the versions of which something was told in the last pass."""
    reporting: dict[Key, int] = {}
    evicted: list[tuple[str, str]] = []
    admitted: list[tuple[str, float]] = []
    ready: list[tuple[str, float]] = []
    for key, draft in context.drafts.items():
        if draft.before is draft.workload:
            continue
        version = draft.before.metadata.resource_version
        # Who has no quota when a limit deactivates it loses nothing: that is told as such, and is no eviction.
        eviction = _begun(draft, EVICTED) if draft.before.is_reserving else None
        if eviction is not None:
            _count(draft, eviction)
        events = list(_events(draft, eviction))
        is_ready = _begun(draft, PODS_READY) is not None
        if not events and not is_ready:
            continue
        reporting[key] = version
        if reported.get(key) == version:
            continue
        context.said += [one for event in events for one in event]
        queue = context.queue_of(draft.before) or context.queue_of(draft.workload)
        name = queue.metadata.name if queue is not None else ""
        if eviction is not None:
            evicted.append((name, eviction.reason))
        waited = (context.now - _queued_at(draft.workload, context.now)).total_seconds()
        if _is_admitted(draft):
            admitted.append((name, waited))
        if is_ready:
            ready.append((name, waited))
    return WorkloadEvents(tuple(evicted), tuple(admitted), tuple(ready)), reporting


def _count(draft: WorkloadDraft, eviction: StatusCondition) -> None:
    """Over its whole life, by reason: ``status.schedulingStats``."""
    stats = draft.workload.status.scheduling_stats or SchedulingStats()
    kind = {PODS_READY_TIMEOUT: PODS_READY, WORKLOAD_INACTIVE: DEACTIVATION_TARGET}.get(eviction.reason)
    behind = draft.workload.condition(kind) if kind is not None else None
    cause = behind.reason if behind is not None else ""
    before = next(
        (one for one in stats.evictions if (one.reason, one.underlying_cause) == (eviction.reason, cause)), None
    )
    others = tuple(one for one in stats.evictions if one is not before)
    if len(others) < MAX_EVICTION_REASONS:
        count = EvictionCount(eviction.reason, cause, (before.count if before is not None else 0) + 1)
        draft.count(SchedulingStats((*others, count)))


def _events(draft: WorkloadDraft, eviction: StatusCondition | None) -> Iterator[tuple[RecordEvent, ...]]:
    given = draft.workload.status.admission
    if given is not None and _is_admitted(draft):
        flavors = {flavor for one in given.pod_set_assignments for flavor in one.flavors.values()}
        using = f", on {', '.join(sorted(flavors))}" if flavors else ""
        yield _told(draft, "Normal", "Admitted", f"admitted by ClusterQueue {given.cluster_queue}{using}")
    if eviction is not None:
        # As Kueue calls it.
        is_fault = eviction.reason in (PODS_READY_TIMEOUT, WORKLOAD_INACTIVE)
        yield _told(draft, "Warning" if is_fault else "Normal", f"EvictedDueTo{eviction.reason}", eviction.message)
    target = _begun(draft, DEACTIVATION_TARGET)
    if target is not None:
        hint = "set spec.active of its Workload to true to try it again"
        yield _told(draft, "Warning", "Deactivated", f"{target.reason}: {target.message}; {hint}")
    requeued = _begun(draft, REQUEUED)
    if requeued is not None:
        yield _told(draft, "Normal", "Requeued", f"{requeued.reason}: {requeued.message}")


def _told(draft: WorkloadDraft, kind: Literal["Normal", "Warning"], reason: str, why: str) -> tuple[RecordEvent, ...]:
    """The same for the workload and for what it stands for, which is where people look."""
    meta = draft.workload.metadata
    subjects = [reference_to(WORKLOADS, meta)]
    if (owner := meta.controller) is not None:
        subjects.append(
            ObjectReference(
                api_version=owner.api_version,
                kind=owner.kind,
                name=owner.name,
                uid=owner.uid,
                namespace=meta.namespace,
            )
        )
    return tuple(RecordEvent(subject=one, why=why, type=kind, reason=reason, action=_ACTION) for one in subjects)


def _begun(draft: WorkloadDraft, kind: str) -> StatusCondition | None:
    """A statement that holds from now on, or for another reason than before."""
    before, now = draft.before.condition(kind), draft.workload.condition(kind)
    if now is None or now.status != "True":
        return None
    is_same = before is not None and before.status == "True" and (before.reason == now.reason or kind == PODS_READY)
    return None if is_same else now


def _is_admitted(draft: WorkloadDraft) -> bool:
    return draft.before.status.admission is None and draft.workload.status.admission is not None


def _queued_at(workload: Workload, now: datetime) -> datetime:
    """Since when it waits, or has waited: since it was made, or put back."""
    requeued = workload.condition(REQUEUED)
    if requeued is not None and requeued.status == "True" and requeued.last_transition_time is not None:
        return requeued.last_transition_time
    return workload.metadata.creation_timestamp or now
