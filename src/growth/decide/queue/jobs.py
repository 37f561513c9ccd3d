"""Jobs and their workloads: one is made for each job that names a queue, and the job does as it says.

    job made ──► suspended ──► workload ──quota──► started: unsuspended, bound to its flavor's nodes
                    ▲                                  │ evicted
                    └── its template as it was ◄── suspended, its pods gone

A job's template may be changed only while the job is suspended and has no start time. What it said before is kept on
the job, so that it is restored even if somebody deletes the workload.

Who stops a job marks it, also if it seems to be suspended: a start may be under way that is not seen yet. Both are
decided on a version of the job, so only one of them comes true, and quota is free only once the mark is seen.
"""

from datetime import UTC, datetime
from hashlib import sha1
from typing import Any, Final, cast

import msgspec

from growth.api.action import CreateObject, EditObject, Hold, PatchObject, held_and_told
from growth.api.kinds import NAMESPACES
from growth.api.queue.job import QUEUED_JOBS, STOPPING, TEMPLATE_WAS, QueuedJob
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import (
    ADMITTED,
    EVICTED,
    JOB_UID,
    MAIN,
    PRIORITY_CLASS,
    Workload,
)
from growth.api.references import reference_by_name, reference_to
from growth.decide.queue.podsets import OF_THE_JOB, Json, part
from growth.decide.queue.scene import Scene
from growth.decide.queue.wanting import BadLabel, changed_priority, changed_spec, missing_class, new_spec

POD_SET: Final = "kueue.x-k8s.io/podset"
LOCAL_QUEUE: Final = "kueue.x-k8s.io/local-queue-name"
CLUSTER_QUEUE: Final = "kueue.x-k8s.io/cluster-queue-name"
WORKLOAD: Final = "kueue.x-k8s.io/workload"
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
_NAME_AT_MOST: Final = 247
_LABEL_AT_MOST: Final = 63
_RESTORED: Final = {
    "metadata": ("labels", "annotations"),
    "spec": ("nodeSelector", "tolerations", "schedulingGates"),
}


def follow_jobs(scene: Scene) -> None:
    """Make workloads for jobs that have none, and let the others run or not."""
    workloads = {
        owner.uid: draft.workload
        for draft in scene.drafts.values()
        if (owner := draft.workload.metadata.controller) is not None
    }
    # The oldest first: their workloads are made in this order, and whoever was made first is served first.
    for job in sorted(scene.jobs.values(), key=_age):
        if job.ended is not None or job.metadata.deletion_timestamp is not None or _is_for_others(scene, job):
            continue
        try:
            _follow(scene, job, workloads.get(job.metadata.uid))
        except BadLabel as error:
            _tell(scene, job, "BadLabel", f"it is not queued as it is: {error}")
        if name := missing_class(scene, job):
            why = f"there is no WorkloadPriorityClass {name} (label {PRIORITY_CLASS}): create it, or name another one"
            _tell(scene, job, "PriorityClassNotFound", f"{why}. Until then the priority of its pods counts")


def _is_for_others(scene: Scene, job: QueuedJob) -> bool:
    """Whether somebody else sees to it: the cluster itself, what it was made by, or whoever deletes its namespace."""
    if job.metadata.namespace in _OURS_ALONE:
        return True
    owner = job.metadata.controller
    if owner is not None and owner.api_version.partition("/")[0] in _QUEUED_WHOLE:
        why = f"{owner.kind} {owner.name} made it, and starts and stops it by itself"
        scene.said.append(Hold(subject=reference_to(QUEUED_JOBS, job.metadata), why=why, reason="HasOwner"))
        return True
    namespace = scene.snapshot.table(NAMESPACES).get(("", job.metadata.namespace))
    return namespace is not None and namespace.metadata.deletion_timestamp is not None


def _tell(scene: Scene, job: QueuedJob, reason: str, why: str) -> None:
    scene.said += held_and_told(reference_to(QUEUED_JOBS, job.metadata), reason=reason, why=why, action="Queueing")


def _age(job: QueuedJob) -> tuple[datetime, str, str]:
    meta = job.metadata
    return meta.creation_timestamp or datetime.max.replace(tzinfo=UTC), meta.namespace, meta.name


def workload_name(job: QueuedJob) -> str:
    """The name that Kueue would give it."""
    meta = job.metadata
    digest = sha1(f"Job\nbatch\n{meta.name}\n{meta.uid}".encode()).hexdigest()[:5]  # noqa: S324 - a name, no secret
    return f"{f'job-{meta.name}'[:_NAME_AT_MOST]}-{digest}"


def _follow(scene: Scene, job: QueuedJob, workload: Workload | None) -> None:
    is_suspended, is_stopping = job.spec.suspend, STOPPING in job.metadata.annotations
    if workload is None:
        if not is_suspended:
            _suspend(scene, job, "it waits for its turn in a queue", is_stop=TEMPLATE_WAS in job.metadata.annotations)
        elif is_stopping:
            _restore(scene, job, None)
        else:
            _queue(scene, job)
        return
    if workload.is_finished:
        return
    is_free = workload.status.admission is None
    may_run = workload.holds(ADMITTED) and not workload.holds(EVICTED) and workload.spec.active
    runs = may_run and not is_free and workload.metadata.deletion_timestamp is None
    if runs and is_suspended and not is_stopping:
        _start(scene, job, workload)
    elif runs and not is_suspended and is_stopping:
        _suspend(scene, job, "its template is not what it was yet")
    elif not runs and (not is_suspended or not (is_free or is_stopping)):
        _suspend(scene, job, "its workload is not admitted", is_stop=True)
    elif is_stopping and (runs or is_free):
        _restore(scene, job, workload)
    elif is_suspended and is_free:
        _update(scene, job, workload, changed_spec(scene, job, workload))
    elif runs:
        _update(scene, job, workload, changed_priority(scene, job, workload))


def _queue(scene: Scene, job: QueuedJob) -> None:
    meta = job.metadata
    subject = reference_by_name(WORKLOADS, workload_name(job), meta.namespace)
    owner = {
        "apiVersion": QUEUED_JOBS.api_version,
        "kind": QUEUED_JOBS.name,
        "name": meta.name,
        "uid": meta.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }
    body = {"metadata": {"labels": {JOB_UID: meta.uid}, "ownerReferences": [owner]}, "spec": new_spec(scene, job)}
    scene.said.append(CreateObject(subject=subject, why=f"Job {meta.name} names a queue", body=body, if_absent=True))


def _suspend(scene: Scene, job: QueuedJob, why: str, *, is_stop: bool = False) -> None:
    mark: Json = {"metadata": {"annotations": {STOPPING: "true"}}} if is_stop else {}
    _patch(scene, job, {"spec": {"suspend": True}, **mark}, why)


def _start(scene: Scene, job: QueuedJob, workload: Workload) -> None:
    """Unsuspended, and bound to the nodes of what it was given, in one write."""
    names = _flavors_of(workload)
    missing = [name for name in names if name not in scene.flavors]
    if missing:
        why = f"there is no ResourceFlavor {', '.join(missing)} any more, so its nodes are not known: create it again"
        scene.said.append(Hold(subject=reference_to(QUEUED_JOBS, job.metadata), why=why, reason="FlavorNotFound"))
        return
    if job.status.start_time is not None:
        _forget_start(scene, job)
        return
    template: Json = msgspec.json.decode(job.spec.template)
    flavors = [scene.flavors[name] for name in names]
    selector = {key: value for flavor in flavors for key, value in flavor.spec.node_labels.items()}
    added = [msgspec.to_builtins(one) for flavor in flavors for one in flavor.spec.tolerations]
    has: list[Json] = part(template, "spec").get("tolerations") or []
    patch: Json = {
        "metadata": {"labels": _labels(workload), "annotations": {WORKLOAD: workload.metadata.name}},
        "spec": {
            **({"nodeSelector": selector} if selector else {}),
            **({"tolerations": [*has, *(one for one in added if one not in has)]} if added else {}),
        },
    }
    was = msgspec.json.encode({name: _kept(part(template, name), fields) for name, fields in _RESTORED.items()})
    note = {"annotations": {TEMPLATE_WAS: was.decode()}}
    body: Json = {"metadata": note, "spec": {"suspend": False, "template": patch}}
    _patch(scene, job, body, "its workload is admitted")


def _labels(workload: Workload) -> Json:
    """What its pods tell of the queue, as far as a label can hold it."""
    admission = workload.status.admission
    queue = admission.cluster_queue if admission is not None else ""
    labels = {POD_SET: MAIN, LOCAL_QUEUE: workload.spec.queue_name, CLUSTER_QUEUE: queue}
    return {key: value for key, value in labels.items() if len(value) <= _LABEL_AT_MOST}


def _kept(there: Json, fields: tuple[str, ...]) -> Json:
    return {field: there[field] for field in fields if there.get(field)}


def _flavors_of(workload: Workload) -> list[str]:
    admission = workload.status.admission
    sets = admission.pod_set_assignments if admission is not None else ()
    return list(dict.fromkeys(flavor for one in sets for flavor in one.flavors.values()))


def _restore(scene: Scene, job: QueuedJob, workload: Workload | None) -> None:
    """Make the template what it was. While the job has a start time nobody may; so that goes first."""
    if job.status.active:
        return
    if job.status.start_time is not None:
        _forget_start(scene, job)
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
    scene.said.append(
        EditObject(subject=subject, why="its template is what it was", operations=(version, *operations, *marks))
    )


def _before_start(job: QueuedJob, workload: Workload | None) -> Json:
    """What its template said; of a job that was started by Kueue, its workload knows. Empty if nobody knows."""
    try:
        return msgspec.json.decode(job.metadata.annotations.get(TEMPLATE_WAS, ""), type=dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError):
        pod_sets = workload.spec.pod_sets if workload is not None else ()
        return msgspec.json.decode(pod_sets[0].template) if pod_sets else {}


def _forget_start(scene: Scene, job: QueuedJob) -> None:
    _patch(scene, job, {"status": {"startTime": None}}, "its template is to be changed", subresource="status")


def _update(scene: Scene, job: QueuedJob, workload: Workload, spec: Json) -> None:
    """Somebody edited the job, or its priority's class: its workload wants what it wants now."""
    if spec:
        subject, version = reference_to(WORKLOADS, workload.metadata), workload.metadata.resource_version
        why = f"Job {job.metadata.name} was edited, or its priority class"
        scene.edited.add((workload.metadata.namespace, workload.metadata.name))
        scene.said.append(PatchObject(subject=subject, why=why, body={"spec": spec}, resource_version=version))


def _patch(scene: Scene, job: QueuedJob, body: Json, why: str, *, subresource: str = "") -> None:
    scene.said.append(
        PatchObject(
            subject=reference_to(QUEUED_JOBS, job.metadata),
            why=why,
            body=body,
            subresource=subresource,
            resource_version=job.metadata.resource_version,
        )
    )
