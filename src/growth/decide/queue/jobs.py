"""Jobs and their workloads: one is made for each job that names a queue, and the job does as it says.

    job made ──► suspended ──► workload ──quota──► started: unsuspended, bound to its flavor's nodes
                    ▲                                  │ evicted
                    └── its template as it was ◄── suspended, its pods gone

A job's template may be changed only while the job is suspended and has no start time.
"""

from hashlib import sha1
from typing import Any, Final, cast

import msgspec

from growth.api.action import CreateObject, EditObject, PatchObject
from growth.api.kinds import PRIORITY_CLASSES
from growth.api.queue.job import QUEUED_JOBS, STOPPING, QueuedJob
from growth.api.queue.kinds import GROUP, WORKLOAD_PRIORITY_CLASSES, WORKLOADS
from growth.api.queue.workload import (
    ADMITTED,
    EVICTED,
    JOB_UID,
    MAIN,
    PRIORITY_CLASS,
    QUEUE_NAME,
    Workload,
)
from growth.api.references import reference_by_name, reference_to
from growth.decide.queue.scene import Scene

POD_SET: Final = "kueue.x-k8s.io/podset"
WORKLOAD: Final = "kueue.x-k8s.io/workload"
# Labels that Kubernetes itself writes into a job's template; another job's would not be taken.
_OF_THE_JOB: Final = (
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    "job-name",
    "batch.kubernetes.io/job-name",
)
_OURS_ALONE: Final = frozenset({"kube-system"})
_NAME_AT_MOST: Final = 247
_RESTORED: Final = (
    ("metadata", "labels"),
    ("metadata", "annotations"),
    ("spec", "nodeSelector"),
    ("spec", "tolerations"),
    ("spec", "schedulingGates"),
)

Json = dict[str, Any]


def follow_jobs(scene: Scene) -> None:
    """Make workloads for jobs that have none, and let the others run or not."""
    workloads = {
        owner.uid: draft.workload
        for draft in scene.drafts.values()
        if (owner := draft.workload.metadata.controller) is not None
    }
    for job in sorted(scene.jobs.values(), key=lambda one: (one.metadata.namespace, one.metadata.name)):
        if job.ended is not None or job.metadata.namespace in _OURS_ALONE:
            continue
        if job.metadata.deletion_timestamp is None:
            _follow(scene, job, workloads.get(job.metadata.uid))


def workload_name(job: QueuedJob) -> str:
    """The name that Kueue would give it."""
    meta = job.metadata
    digest = sha1(f"Job\nbatch\n{meta.name}\n{meta.uid}".encode()).hexdigest()[:5]  # noqa: S324 - a name, no secret
    return f"{f'job-{meta.name}'[:_NAME_AT_MOST]}-{digest}"


def _follow(scene: Scene, job: QueuedJob, workload: Workload | None) -> None:
    if workload is None:
        if job.spec.suspend:
            _queue(scene, job)
        else:
            _suspend(scene, job, "it waits for its turn in a queue")
        return
    runs = workload.holds(ADMITTED) and not workload.holds(EVICTED) and workload.spec.active
    if runs and job.spec.suspend and STOPPING not in job.metadata.annotations:
        _start(scene, job, workload)
    elif not runs and not job.spec.suspend:
        _suspend(scene, job, "its workload is not admitted", is_stop=True)
    elif job.spec.suspend and STOPPING in job.metadata.annotations:
        _restore(scene, job, workload)
    elif job.spec.suspend and workload.status.admission is None:
        _update(scene, job, workload)


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
    body = {
        "metadata": {"labels": {JOB_UID: meta.uid}, "ownerReferences": [owner]},
        "spec": {
            "podSets": [_pod_set(job)],
            "queueName": meta.labels.get(QUEUE_NAME, ""),
            "active": True,
            **_priority(scene, job),
        },
    }
    scene.said.append(CreateObject(subject=subject, why=f"Job {meta.name} names a queue", body=body, if_absent=True))


def _pod_set(job: QueuedJob) -> Json:
    return {"name": MAIN, "count": job.spec.pods, "template": _template(job)}


def _template(job: QueuedJob) -> Json:
    """What the job's pods are made from, without what belongs to this very job."""
    template: Json = msgspec.json.decode(job.spec.template)
    labels: Json = template.get("metadata", {}).get("labels") or {}
    for key in _OF_THE_JOB:
        labels.pop(key, None)
    return template


def _priority(scene: Scene, job: QueuedJob) -> Json:
    """By its label, by its pods' class, by the class that holds for all, or none."""
    name = job.metadata.labels.get(PRIORITY_CLASS, "")
    known = scene.snapshot.table(WORKLOAD_PRIORITY_CLASSES).get(("", name)) if name else None
    if known is not None:
        ref = {"group": GROUP, "kind": WORKLOAD_PRIORITY_CLASSES.name, "name": name}
        return {"priorityClassRef": ref, "priority": known.value}
    classes = scene.snapshot.table(PRIORITY_CLASSES)
    asked = msgspec.json.decode(job.spec.template).get("spec", {}).get("priorityClassName", "")
    plain = classes.get(("", asked)) if asked else next((one for one in classes.values() if one.global_default), None)
    if plain is None:
        return {"priority": 0}
    ref = {"group": PRIORITY_CLASSES.group, "kind": PRIORITY_CLASSES.name, "name": plain.metadata.name}
    return {"priorityClassRef": ref, "priority": plain.value}


def _suspend(scene: Scene, job: QueuedJob, why: str, *, is_stop: bool = False) -> None:
    mark: Json = {"metadata": {"annotations": {STOPPING: "true"}}} if is_stop else {}
    _patch(scene, job, {"spec": {"suspend": True}, **mark}, why)


def _start(scene: Scene, job: QueuedJob, workload: Workload) -> None:
    """Unsuspended, and bound to the nodes of what it was given, in one write."""
    template: Json = msgspec.json.decode(job.spec.template)
    spec: Json = template.get("spec", {})
    flavors = [scene.flavors[name] for name in _flavors_of(workload) if name in scene.flavors]
    selector = {key: value for flavor in flavors for key, value in flavor.spec.node_labels.items()}
    added = [msgspec.to_builtins(one) for flavor in flavors for one in flavor.spec.tolerations]
    has: list[Json] = spec.get("tolerations") or []
    patch: Json = {
        "metadata": {"labels": {POD_SET: MAIN}, "annotations": {WORKLOAD: workload.metadata.name}},
        "spec": {
            **({"nodeSelector": selector} if selector else {}),
            **({"tolerations": [*has, *(one for one in added if one not in has)]} if added else {}),
        },
    }
    _patch(scene, job, {"spec": {"suspend": False, "template": patch}}, "its workload is admitted")


def _flavors_of(workload: Workload) -> list[str]:
    admission = workload.status.admission
    sets = admission.pod_set_assignments if admission is not None else ()
    return list(dict.fromkeys(flavor for one in sets for flavor in one.flavors.values()))


def _restore(scene: Scene, job: QueuedJob, workload: Workload) -> None:
    """Make the template what it was. While the job has a start time nobody may; so that goes first."""
    if job.status.active:
        return
    if job.status.start_time is not None:
        _patch(scene, job, {"status": {"startTime": None}}, "its template is to be what it was", subresource="status")
        return
    was: Json = msgspec.json.decode(workload.spec.pod_sets[0].template) if workload.spec.pod_sets else {}
    now: Json = msgspec.json.decode(job.spec.template)
    operations: list[Json] = []
    for part, field in _RESTORED:
        wanted: Any = was.get(part, {}).get(field)
        there: Any = now.get(part, {}).get(field)
        if field == "labels" and there:
            kept: Json = {key: there[key] for key in _OF_THE_JOB if key in there}
            wanted = cast("Json", wanted or {}) | kept
        path = f"/spec/template/{part}/{field}"
        if wanted and wanted != there:
            operations.append({"op": "add", "path": path, "value": wanted})
        elif not wanted and there:
            operations.append({"op": "remove", "path": path})
    version = {"op": "test", "path": "/metadata/resourceVersion", "value": str(job.metadata.resource_version)}
    mark = {"op": "remove", "path": f"/metadata/annotations/{STOPPING.replace('/', '~1')}"}
    subject = reference_to(QUEUED_JOBS, job.metadata)
    scene.said.append(
        EditObject(subject=subject, why="its template is what it was", operations=(version, *operations, mark))
    )


def _update(scene: Scene, job: QueuedJob, workload: Workload) -> None:
    """Somebody edited the job while it waits: its workload wants what it wants now."""
    spec: Json = {}
    queue = job.metadata.labels.get(QUEUE_NAME, "")
    if queue != workload.spec.queue_name:
        spec["queueName"] = queue
    (known,) = workload.spec.pod_sets[:1] or (None,)
    is_same = known is not None and known.count == job.spec.pods
    if known is None or not is_same or msgspec.json.decode(known.template) != _template(job):
        spec["podSets"] = [_pod_set(job)]
    if spec:
        subject, version = reference_to(WORKLOADS, workload.metadata), workload.metadata.resource_version
        why = f"Job {job.metadata.name} was edited"
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
