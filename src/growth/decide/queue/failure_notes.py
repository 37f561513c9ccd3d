"""Notes on a workload the flavors on which it could not start, with why, as long as that matters.

One that failed because its machines could not be had is forgotten as soon as some can be; one on which a plan had no
place for its pods, as soon as there is more to launch, or after a while; any, once the workload has run on it. If all
pods had nodes and are not ready (their image is not there, say), they would not be ready elsewhere: then nothing is
noted, and nothing is tried before the backoff is over.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from growth.api.queue.job import QueuedJob
from growth.api.queue.workload import (
    EVICTED,
    ON_STANDING_NODES,
    PODS_READY,
    PODS_READY_TIMEOUT,
    WAIT_FOR_RECOVERY,
    Admission,
    Workload,
)
from growth.decide.elapsed import is_ahead
from growth.decide.queue.context import QueueContext
from growth.decide.queue.failed_flavors import FAILED_FLAVORS, NO_ROOM, failures_of, note_of, notes_on, supplies_seen_by
from growth.decide.queue.flavor_assignment import NO_PLACEMENT, OUT_OF_STOCK
from growth.decide.queue.requeue import delay, later
from growth.decide.queue.workload_patch import WorkloadDraft

_FREE_TRIES: Final = 3
"""This often in its life more supply is believed at once. After that it has to wait longer and longer, so that a stock
that comes and goes does not admit and evict it all the time."""


def note_failures(
    draft: WorkloadDraft, flavors: Iterable[str], closed: Mapping[str, str], *, is_recovery: bool = False
) -> bool:
    """It could not start, or not recover, on these, now; whether that has to be written first."""
    shut = NO_ROOM if draft.workload.holds(ON_STANDING_NODES) else OUT_OF_STOCK
    late = WAIT_FOR_RECOVERY if is_recovery else PODS_READY_TIMEOUT
    return _note_new(draft, {flavor: shut if flavor in closed else late for flavor in flavors})


def note_unplaced(context: QueueContext, draft: WorkloadDraft, flavors: Iterable[str]) -> bool:
    """A plan has no place for its pods on these, now; whether that has to be written first."""
    why = NO_ROOM if draft.workload.holds(ON_STANDING_NODES) else NO_PLACEMENT
    supplies = {flavor: context.supply_of(flavor) for flavor in flavors}
    return _note_new(draft, {flavor: note_of(why, one.text) for flavor, one in supplies.items() if one is not None})


def follow_failures(context: QueueContext, draft: WorkloadDraft, job: QueuedJob | None) -> bool:
    """Forget what is over; whether that has to be written first."""
    workload, closed = draft.workload, context.closed
    failures, supplies = failures_of(workload), supplies_seen_by(workload)
    if not failures:
        return False
    working = flavors_of(workload) if workload.holds(PODS_READY) else []
    kept = {
        flavor: OUT_OF_STOCK if flavor in closed and why != NO_ROOM else why
        for flavor, why in failures.items()
        if flavor not in working and flavor not in supplies and (why not in (OUT_OF_STOCK, NO_ROOM) or flavor in closed)
    }
    if supplies and not _is_running(workload, job):
        notes = notes_on(workload)
        kept |= {flavor: notes[flavor] for flavor in supplies if not _is_over(context, workload, flavor, supplies)}
    return _note(draft, {flavor: kept[flavor] for flavor in failures if flavor in kept})


def flavors_of(workload: Workload) -> list[str]:
    """The flavors that it was given, each once."""
    return flavors_in(workload.status.admission)


def flavors_in(admission: Admission | None) -> list[str]:
    """The flavors that an admission gives, each once."""
    sets = admission.pod_set_assignments if admission is not None else ()
    return list(dict.fromkeys(flavor for one in sets for flavor in one.flavors.values()))


def _is_running(workload: Workload, job: QueuedJob | None) -> bool:
    if workload.holds(PODS_READY):
        return True
    return workload.is_reserving and job is not None and not job.spec.suspend and job.are_pods_ready


def _is_over(context: QueueContext, workload: Workload, flavor: str, supplies: Mapping[str, str]) -> bool:
    """Whether a plan may have a place on this flavor now."""
    stats, evicted = workload.status.scheduling_stats, workload.condition(EVICTED)
    times = sum(one.count for one in stats.evictions if one.reason == NO_PLACEMENT) if stats is not None else 0
    supply = context.supply_of(flavor)
    is_more = supply is not None and supply.is_more_than(supplies[flavor])
    if workload.is_reserving or evicted is None or evicted.status != "True" or evicted.last_transition_time is None:
        return is_more

    def is_resting(count: int) -> bool:
        rest = delay(count, context.terms.requeuing, workload.metadata.uid)
        until = later(evicted.last_transition_time or context.now, rest)
        if is_ahead(until, context.now, rest):
            context.deadlines.append(until)
            return True
        return False

    if is_more and (times <= _FREE_TRIES or not is_resting(times - _FREE_TRIES)):
        return True
    return not is_resting(max(1, times))


def _note_new(draft: WorkloadDraft, new: Mapping[str, str]) -> bool:
    old = {flavor: note for flavor, note in notes_on(draft.workload).items() if flavor not in new}
    return _note(draft, old | dict(new))


def _note(draft: WorkloadDraft, notes: Mapping[str, str]) -> bool:
    text = ",".join(f"{flavor}={note}" for flavor, note in notes.items())
    if text == draft.workload.metadata.annotations.get(FAILED_FLAVORS, ""):
        return False
    draft.annotate(FAILED_FLAVORS, text)
    return True
