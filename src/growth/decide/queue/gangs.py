"""Pods of a job start together: which pods these are, and what becomes of a job for which a plan has no place.

All pods of a workload that was just admitted are one gang (``decide.facts.gangs``): those that will be made, and those
that are there and have no node. It ends when the job has started: when all its pods were ready once, or, where nobody
waits for that (``waitForPodsReady``), when one of them is. What is lost later is replaced pod by pod.

    admitted on a ──a plan has no place for all of its pods──► a is noted ──► Evicted, NoPlacement ──► b, or it waits

That is nobody's fault, so it is not counted, and there is no backoff. A plain pod is never a gang: who is evicted must
be able to come back.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from growth.api.pod import Pod
from growth.api.queue.job import QueuedJob
from growth.api.queue.workload import ADMITTED, EVICTED, ON_STANDING_NODES, PODS_READY, Workload
from growth.decide.elapsed import is_ahead
from growth.decide.facts.gangs import Gang, UnplacedGang
from growth.decide.queue.context import QueueContext
from growth.decide.queue.failed_flavors import NO_ROOM, failures_of, supplies_seen_by
from growth.decide.queue.failure_notes import flavors_of, note_unplaced
from growth.decide.queue.flavor_assignment import NO_PLACEMENT
from growth.decide.queue.quota_holders import Key
from growth.decide.queue.workload_patch import WorkloadDraft

_A_MOMENT: Final = timedelta(minutes=1)
"""For this long pods that are not there yet are waited for, as those are that are announced."""


def gangs_of(context: QueueContext, announced: Mapping[Key, tuple[Pod, ...]]) -> Iterator[Gang]:
    """The pods that start together, with those that are ``announced`` for them."""
    for key in sorted(context.backlog.awaited):
        workload = context.current(key)
        job, flavors = context.job_of(workload), flavors_of(workload)
        if job is None or not is_starting(context, workload, job) or not all(map(context.backing.pairs.get, flavors)):
            continue
        virtual = [pod.metadata.uid for pod in announced.get(key, ())]
        pods = {*virtual, *_without_node(context, workload), *_missing(context, workload, job, len(virtual))}
        since = _admitted_at(workload)
        if pods and flavors and since is not None:
            yield Gang(key, workload.metadata.uid, since, tuple(flavors), frozenset(pods))


def is_starting(context: QueueContext, workload: Workload, job: QueuedJob) -> bool:
    """Whether it needs all of its pods to start."""
    if context.terms.readiness is None and job.status.ready:
        return False
    owner, ready = workload.metadata.controller, workload.condition(PODS_READY)
    if owner is None or owner.kind != "Job" or job.ended is not None or not workload.is_reserving:
        return False
    is_new = ready is None or (ready.status, ready.reason) == ("False", "WaitForStart")
    return is_new and workload.holds(ADMITTED) and not workload.holds(EVICTED)


def follow_placement(context: QueueContext, draft: WorkloadDraft, job: QueuedJob | None) -> bool:
    """Put it back if a plan has no place for its pods; whether something has to be noted on it first."""
    workload, flavors = draft.workload, flavors_of(draft.workload)
    if job is None or not flavors or not is_starting(context, workload, job):
        return False
    unplaced = context.unplaced.get(workload.metadata.uid)
    if unplaced is not None and not _is_about(unplaced, workload, flavors):
        unplaced = None
    if _is_noted(workload, flavors):
        why = unplaced.why if unplaced is not None else "there is no place for all of its pods"
        draft.say(EVICTED, "True", NO_PLACEMENT, f"flavor {', '.join(flavors)}: {why}")
        return False
    return unplaced is not None and note_unplaced(context, draft, flavors)


def _is_about(unplaced: UnplacedGang, workload: Workload, flavors: Sequence[str]) -> bool:
    """Whether this was found out about its present admission."""
    gang = unplaced.gang
    return gang.admitted_at == _admitted_at(workload) and gang.flavors == tuple(flavors)


def _admitted_at(workload: Workload) -> datetime | None:
    admitted = workload.condition(ADMITTED)
    return admitted.last_transition_time if admitted is not None else None


def _is_noted(workload: Workload, flavors: Sequence[str]) -> bool:
    """Whether it is noted that it has no place here: one that was admitted for nodes has none there, either."""
    failures, supplies = failures_of(workload), supplies_seen_by(workload)
    is_lodged = workload.holds(ON_STANDING_NODES)
    return all(flavor in supplies and (failures[flavor] == NO_ROOM or not is_lodged) for flavor in flavors)


def _without_node(context: QueueContext, workload: Workload) -> list[str]:
    return [pod.metadata.uid for pod in context.unready_pods(workload) if not pod.node_name]


def _missing(context: QueueContext, workload: Workload, job: QueuedJob, announced: int) -> Iterator[str]:
    """Pods that are neither there nor announced: for a moment nothing is planned without them."""
    since = _admitted_at(workload)
    count = job.pods_to_come - context.snapshot.offspring.of(job.metadata.uid) - announced
    if count > 0 and since is not None and is_ahead(since + _A_MOMENT, context.now, _A_MOMENT):
        context.instants.append(since + _A_MOMENT)
        yield from (f"missing-{workload.metadata.uid}-{number}" for number in range(count))
