"""What a job wants of its workload: which queue, which pods, how important it is, and for how long it may run.

Labels are read anew in each pass, so that a job that is edited, and a class that gets another value, count at once.
While a workload holds quota only its priority changes: the rest was counted when it was admitted.
"""

from typing import Final

import msgspec

from growth.api.kinds import PRIORITY_CLASSES
from growth.api.queue.job import QueuedJob
from growth.api.queue.kinds import GROUP, WORKLOAD_PRIORITY_CLASSES
from growth.api.queue.workload import MAX_EXECUTION_TIME, PRIORITY_CLASS, QUEUE_NAME, Workload
from growth.decide.queue.context import QueueContext
from growth.decide.queue.pod_sets import Json, is_as_wanted, part, pod_set

# More seconds than this no clock can count: it is 68 years, and what Kueue's field holds.
_LONGEST_SECONDS: Final = 2**31 - 1


class BadLabel(ValueError):
    """A label that says nothing we understand: the label, its value and what was expected."""


def new_spec(context: QueueContext, job: QueuedJob) -> Json:
    """The spec of a job's new workload."""
    seconds = execution_seconds(job)
    return {
        "podSets": [pod_set(job)],
        "queueName": job.metadata.labels.get(QUEUE_NAME, ""),
        "active": True,
        **({} if seconds is None else {"maximumExecutionTimeSeconds": seconds}),
        **_priority(context, job),
    }


def changed_spec(context: QueueContext, job: QueuedJob, workload: Workload) -> Json:
    """What a workload without quota should say otherwise, because its job was edited, or its priority's class."""
    spec: Json = {}
    queue, seconds = job.metadata.labels.get(QUEUE_NAME, ""), execution_seconds(job)
    if queue != workload.spec.queue_name:
        spec["queueName"] = queue
    if seconds != workload.spec.maximum_execution_time_seconds:
        spec["maximumExecutionTimeSeconds"] = seconds
    if not is_as_wanted(workload, job):
        spec["podSets"] = [pod_set(job)]
    is_by_label = _has_own_class(workload)
    own = _own_priority(context, job)
    wanted = own or (_priority(context, job) if is_by_label and PRIORITY_CLASS not in job.metadata.labels else {})
    return spec | _news(workload, wanted)


def changed_priority(context: QueueContext, job: QueuedJob, workload: Workload) -> Json:
    """The same of one that holds quota: its class may change, where its priority comes from may not."""
    return _news(workload, _own_priority(context, job)) if _has_own_class(workload) else {}


def execution_seconds(job: QueuedJob) -> int | None:
    """For how long it may run; None for as long as it takes."""
    text = job.metadata.labels.get(MAX_EXECUTION_TIME)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and 1 <= int(text) <= _LONGEST_SECONDS):
        raise BadLabel(f"label {MAX_EXECUTION_TIME} is {text!r}: expected a whole number of seconds, at least 1")
    return int(text)


def missing_class(context: QueueContext, job: QueuedJob) -> str:
    """The WorkloadPriorityClass that it names, if there is none of that name."""
    name = job.metadata.labels.get(PRIORITY_CLASS, "")
    return name if name and not _own_priority(context, job) else ""


def _news(workload: Workload, wanted: Json) -> Json:
    ref = workload.spec.priority_class_ref
    known = {"priorityClassRef": msgspec.to_builtins(ref), "priority": workload.priority}
    if not wanted or {"priorityClassRef": None, **wanted} == known:
        return {}
    return {"priorityClassRef": None, **wanted}


def _has_own_class(workload: Workload) -> bool:
    ref = workload.spec.priority_class_ref
    return ref is not None and ref.kind == WORKLOAD_PRIORITY_CLASSES.name


def _priority(context: QueueContext, job: QueuedJob) -> Json:
    """By its label, by its pods' class, by the class that holds for all, or none."""
    own = _own_priority(context, job)
    if own:
        return own
    classes = context.snapshot.table(PRIORITY_CLASSES)
    asked = part(msgspec.json.decode(job.spec.template), "spec").get("priorityClassName", "")
    plain = classes.get(("", asked)) if asked else next((one for one in classes.values() if one.global_default), None)
    if plain is None:
        return {"priority": 0}
    ref = {"group": PRIORITY_CLASSES.group, "kind": PRIORITY_CLASSES.name, "name": plain.metadata.name}
    return {"priorityClassRef": ref, "priority": plain.value}


def _own_priority(context: QueueContext, job: QueuedJob) -> Json:
    """By its label."""
    name = job.metadata.labels.get(PRIORITY_CLASS, "")
    known = context.snapshot.table(WORKLOAD_PRIORITY_CLASSES).get(("", name)) if name else None
    if known is None:
        return {}
    ref = {"group": GROUP, "kind": WORKLOAD_PRIORITY_CLASSES.name, "name": name}
    return {"priorityClassRef": ref, "priority": known.value}
