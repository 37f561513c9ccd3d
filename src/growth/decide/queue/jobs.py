"""Jobs and their workloads: one is made for each job that names a queue, and the job does as it says.

    job made ──► suspended ──► workload ──quota──► started: unsuspended, bound to its flavor's nodes
                    ▲                                  │ evicted
                    └── its template as it was ◄── suspended, its pods gone

A job's template may be changed only while the job is suspended and has no start time. What it said before is kept on
the job, so that it is restored even if somebody deletes the workload.

Who stops a job marks it, also if it seems to be suspended: a start may be under way that is not seen yet. Both are
decided on a version of the job, so only one of them comes true, and quota is free only once the mark is seen.
"""

from functools import partial
from typing import Any, Final, cast

import msgspec

from growth.api.actions import EditObject, Hold, PatchObject
from growth.api.queue.job import QUEUED_JOBS, STOPPING, TEMPLATE_WAS, QueuedJob
from growth.api.queue.workload import ADMITTED, EVICTED, Workload
from growth.api.references import reference_to
from growth.decide.queue.context import QueueContext
from growth.decide.queue.job_spec import changed_priority, changed_spec
from growth.decide.queue.pod_placement import is_lost, placed
from growth.decide.queue.pod_sets import OF_THE_JOB, Json, part
from growth.decide.queue.workload_creation import as_seen, attempt, looked_at, make, update

_OURS_ALONE: Final = frozenset({"kube-system"})
# What makes several Jobs and lets them begin together. Kueue queues these as one, and leaves their Jobs alone; so do
# we: their makers would undo at once what we do to a single one. A CronJob is no such maker.
_QUEUED_WHOLE: Final = frozenset(
    {
        "jobset.x-k8s.io",
        "kubeflow.org",
        "leaderworkerset.x-k8s.io",
        "ray.io",
        "trainer.kubeflow.org",
        "workload.codeflare.dev",
    }
)
_RESTORED: Final = {
    "metadata": ("labels", "annotations"),
    "spec": ("nodeSelector", "tolerations", "schedulingGates"),
}


def follow_jobs(context: QueueContext) -> None:
    """Make workloads for jobs that have none, and let the others run or not."""
    for job in looked_at(context, context.jobs):
        if job.ended is None and job.metadata.deletion_timestamp is None and not _is_for_others(context, job):
            workload = context.workload_of(job.metadata.uid)
            attempt(context, QUEUED_JOBS, job, partial(_follow, context, job, workload))


def _is_for_others(context: QueueContext, job: QueuedJob) -> bool:
    """Whether somebody else sees to it: the cluster itself, what it was made by, or whoever deletes its namespace."""
    if job.metadata.namespace in _OURS_ALONE:
        return True
    owner = job.metadata.controller
    if owner is not None and owner.api_version.partition("/")[0] in _QUEUED_WHOLE:
        why = f"{owner.kind} {owner.name} made it, and starts and stops it by itself"
        context.said.append(Hold(subject=reference_to(QUEUED_JOBS, job.metadata), why=why, reason="HasOwner"))
        return True
    return context.is_ending(job.metadata.namespace)


def _follow(context: QueueContext, job: QueuedJob, workload: Workload | None) -> None:
    is_suspended, is_stopping = job.spec.suspend, STOPPING in job.metadata.annotations
    if workload is None:
        if not is_suspended:
            _suspend(context, job, "it waits for its turn in a queue", is_stop=TEMPLATE_WAS in job.metadata.annotations)
        elif is_stopping:
            _restore(context, job, None)
        else:
            make(context, QUEUED_JOBS, job)
        return
    if workload.is_finished:
        return
    is_free = workload.status.admission is None
    may_run = workload.holds(ADMITTED) and not workload.holds(EVICTED) and workload.spec.active
    runs = may_run and not is_free and workload.metadata.deletion_timestamp is None
    if runs and is_suspended and not is_stopping:
        _start(context, job, workload)
    elif runs and not is_suspended and is_stopping:
        _suspend(context, job, "its template is not what it was yet")
    elif not runs and (not is_suspended or not (is_free or is_stopping)):
        _suspend(context, job, "its workload is not admitted", is_stop=True)
    elif is_stopping and (runs or is_free):
        _restore(context, job, workload)
    elif is_suspended and is_free:
        update(context, QUEUED_JOBS, job, workload, changed_spec(context, job, workload))
    elif runs:
        update(context, QUEUED_JOBS, job, workload, changed_priority(context, job, workload))


def _suspend(context: QueueContext, job: QueuedJob, why: str, *, is_stop: bool = False) -> None:
    mark: Json = {"metadata": {"annotations": {STOPPING: "true"}}} if is_stop else {}
    _patch(context, job, {"spec": {"suspend": True}, **mark}, why)


def _start(context: QueueContext, job: QueuedJob, workload: Workload) -> None:
    """Unsuspended, and bound to the nodes of what it was given, in one write."""
    if is_lost(context, QUEUED_JOBS, job.metadata, workload):
        return
    if job.status.start_time is not None:
        _forget_start(context, job)
        return
    template: Json = msgspec.json.decode(job.spec.template)
    was = msgspec.json.encode({name: _kept(part(template, name), fields) for name, fields in _RESTORED.items()})
    note = {"annotations": {TEMPLATE_WAS: was.decode()}}
    body: Json = {"metadata": note, "spec": {"suspend": False, "template": placed(context, workload, template)}}
    _patch(context, job, body, "its workload is admitted", given=as_seen(workload))


def _kept(there: Json, fields: tuple[str, ...]) -> Json:
    return {field: there[field] for field in fields if there.get(field)}


def _restore(context: QueueContext, job: QueuedJob, workload: Workload | None) -> None:
    """Make the template what it was. While the job has a start time nobody may; so that goes first."""
    if job.status.active:
        return
    if job.status.start_time is not None:
        _forget_start(context, job)
        return
    now: Json = msgspec.json.decode(job.spec.template)
    was = _before_start(job, workload) or now
    operations: list[Json] = []
    for name, fields in _RESTORED.items():
        for field in fields:
            wanted: Any = part(was, name).get(field)
            there: Any = part(now, name).get(field)
            if field == "labels" and there:
                kept: Json = {key: there[key] for key in OF_THE_JOB if key in there}
                wanted = cast("Json", wanted or {}) | kept
            path = f"/spec/template/{name}/{field}"
            if wanted and wanted != there:
                operations.append({"op": "add", "path": path, "value": wanted})
            elif not wanted and there:
                operations.append({"op": "remove", "path": path})
    version = {"op": "test", "path": "/metadata/resourceVersion", "value": str(job.metadata.resource_version)}
    marks = [
        {"op": "remove", "path": f"/metadata/annotations/{mark.replace('/', '~1')}"}
        for mark in (STOPPING, TEMPLATE_WAS)
        if mark in job.metadata.annotations
    ]
    subject = reference_to(QUEUED_JOBS, job.metadata)
    context.said.append(
        EditObject(subject=subject, why="its template is what it was", operations=(version, *operations, *marks))
    )


def _before_start(job: QueuedJob, workload: Workload | None) -> Json:
    """What its template said; of a job that was started by Kueue, its workload knows. Empty if nobody knows."""
    try:
        return msgspec.json.decode(job.metadata.annotations.get(TEMPLATE_WAS, ""), type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError):
        pod_sets = workload.spec.pod_sets if workload is not None else ()
        return msgspec.json.decode(pod_sets[0].template) if pod_sets else {}


def _forget_start(context: QueueContext, job: QueuedJob) -> None:
    _patch(context, job, {"status": {"startTime": None}}, "its template is to be changed", subresource="status")


def _patch(context: QueueContext, job: QueuedJob, body: Json, why: str, **how: Any) -> None:  # noqa: ANN401 - of the action
    version, subject = job.metadata.resource_version, reference_to(QUEUED_JOBS, job.metadata)
    context.said.append(PatchObject(subject=subject, why=why, body=body, resource_version=version, **how))
