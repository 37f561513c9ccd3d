"""Plain pods and their workloads: a pod that was gated when it was created waits, is let go, and never comes back.

    pod made, gated ──► workload ──quota──► bound to its flavor's nodes, its gate removed ──► ended
         ▲                                     │ evicted
         └─ still gated: it waits again ◄──────┴──► otherwise it is deleted, and its workload goes with it

A gate is removed once and for all, so a pod that was let go cannot wait again: to evict it is to end it. One whose gate
is seen to be there may be about to be let go; so it is marked, as a job is. Both are decided on a version of the pod,
only one of them comes true, and quota is free only once the mark is seen.

A pod is let go, or ended, for what its workload says, and the two are seen by different watches. Neither can be taken
back, so the workload is looked at once more in the instant before. A pod that runs while its workload has no quota
(somebody deleted the workload, or removed the gate) is left to run, and counted as soon as there is quota: nobody's
work is lost by a slip of the hand.
"""

from functools import partial
from typing import Any, Final

import msgspec

from growth.api.actions import DeleteObject, PatchObject
from growth.api.queue.job import STOPPING
from growth.api.queue.pod import GATE, GROUP_NAME, MANAGED, QUEUED_PODS, TERMINATION_TARGET, QueuedPod
from growth.api.queue.workload import ADMITTED, EVICTED, Workload
from growth.api.references import reference_to
from growth.api.timestamp import format_time
from growth.decide.queue.context import QueueContext
from growth.decide.queue.job_spec import changed_priority, changed_spec
from growth.decide.queue.pod_placement import is_lost, placed
from growth.decide.queue.pod_sets import Json
from growth.decide.queue.workload_creation import as_seen, attempt, looked_at, make, report, update

_CLUSTERS_OWN: Final = "kube-system"


def follow_pods(context: QueueContext) -> None:
    """Make workloads for gated pods that have none, and let the others run or not."""
    for pod in looked_at(context, context.pods):
        job = pod.as_job
        if job.ended is not None or pod.metadata.deletion_timestamp is not None or _is_for_others(context, pod):
            continue
        if why := _refusal(pod):
            report(context, QUEUED_PODS, pod.metadata, *why)
            continue
        workload = context.workload_of(pod.metadata.uid)
        attempt(context, QUEUED_PODS, job, partial(_follow, context, pod, workload))


def _is_for_others(context: QueueContext, pod: QueuedPod) -> bool:
    """Whether somebody else sees to it: who made it, the cluster itself, Growth's deployment, a namespace's end."""
    namespace = pod.metadata.namespace
    if pod.metadata.controller is not None or namespace in (_CLUSTERS_OWN, context.settings.namespace):
        return True
    return context.is_ending(namespace)


def _refusal(pod: QueuedPod) -> tuple[str, str] | None:
    """Why it cannot be queued, as a word and a sentence."""
    group = pod.metadata.labels.get(GROUP_NAME)
    if group is not None:
        why = f"it is left alone: it belongs to pod group {group} (label {GROUP_NAME}), and Growth has no pod groups"
        return "PodGroupNotSupported", f"{why}. Make a Job of them, or queue each pod by itself"
    if not pod.is_held:
        why = "it names a queue, but nothing held it back when it was created, so it runs like any other pod"
        return "NotHeldBack", f"{why}: install the policy of the chart (queue-policy.yaml), then create it anew"
    return None


def _follow(context: QueueContext, pod: QueuedPod, workload: Workload | None) -> None:
    is_gated, is_marked, job = pod.is_gated, STOPPING in pod.metadata.annotations, pod.as_job
    if workload is None:
        make(context, QUEUED_PODS, job)
        return
    if workload.is_finished:
        return
    is_free, is_evicted = workload.status.admission is None, workload.holds(EVICTED)
    may_run = workload.holds(ADMITTED) and not is_evicted and workload.spec.active
    runs = may_run and not is_free and workload.metadata.deletion_timestamp is None
    if is_marked and (runs or is_free):
        _mark(context, pod, None, "it may wait and be let go as before")
    elif runs and is_gated:
        _let_go(context, pod, workload)
    elif runs:
        update(context, QUEUED_PODS, job, workload, changed_priority(context, job, workload))
    elif is_free and is_gated:
        update(context, QUEUED_PODS, job, workload, changed_spec(context, job, workload))
    elif is_gated and not is_marked:
        _mark(context, pod, "true", "its workload is not admitted")
    elif is_evicted and not is_free and not is_gated:
        _end(context, pod, workload)


def _mark(context: QueueContext, pod: QueuedPod, mark: str | None, why: str) -> None:
    _patch(context, pod, {"metadata": {"annotations": {STOPPING: mark}}}, why)


def _let_go(context: QueueContext, pod: QueuedPod, workload: Workload) -> None:
    """Without its gate, and bound to the nodes of what it was given, in one write: a gated pod allows both at once."""
    if is_lost(context, QUEUED_PODS, pod.metadata, workload):
        return
    body = placed(context, workload, {"spec": msgspec.json.decode(pod.spec)})
    # By this it is known when its gate is gone. Who gated a pod without the policy may have left it out.
    body["metadata"]["labels"][MANAGED] = "true"
    body["spec"]["schedulingGates"] = [{"name": name} for name in pod.gates if name != GATE] or None
    _patch(context, pod, body, "its workload is admitted", given=as_seen(workload))


def _end(context: QueueContext, pod: QueuedPod, workload: Workload) -> None:
    """First it is said why, as Kueue does, then it is deleted."""
    subject, evicted = reference_to(QUEUED_PODS, pod.metadata), workload.condition(EVICTED)
    why = f"its workload was evicted: {evicted.reason if evicted is not None else ''}"
    if pod.holds(TERMINATION_TARGET):
        context.said.append(DeleteObject(subject=subject, why=why))
        return
    said: Json = {
        "type": TERMINATION_TARGET,
        "status": "True",
        "reason": "WorkloadEvicted",
        "message": why,
        "lastTransitionTime": format_time(context.now),
    }
    known: list[Json] = [one for one in msgspec.json.decode(pod.status.conditions) if one["type"] != TERMINATION_TARGET]
    body = {"status": {"conditions": [*known, said]}}
    _patch(context, pod, body, why, subresource="status", given=as_seen(workload))


def _patch(context: QueueContext, pod: QueuedPod, body: Json, why: str, **how: Any) -> None:  # noqa: ANN401 - fields of the action
    version = pod.metadata.resource_version
    subject = reference_to(QUEUED_PODS, pod.metadata)
    context.said.append(PatchObject(subject=subject, why=why, body=body, resource_version=version, **how))
