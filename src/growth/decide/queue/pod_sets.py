"""What a job's pods are made from, as its workload keeps it."""

from functools import lru_cache
from typing import Any, Final

import msgspec

from growth.api.queue.job import QueuedJob
from growth.api.queue.workload import MAIN, Workload

Json = dict[str, Any]

# Labels that Kubernetes itself writes into a job's template; another job's would not be taken.
OF_THE_JOB: Final = (
    "controller-uid",
    "batch.kubernetes.io/controller-uid",
    "job-name",
    "batch.kubernetes.io/job-name",
)


def pod_set(job: QueuedJob) -> Json:
    """The one pod set of a job."""
    return {"name": MAIN, "count": job.spec.pods, "template": _template(bytes(job.spec.template))}


def is_as_wanted(workload: Workload, job: QueuedJob) -> bool:
    """Whether a workload asks for what its job wants now."""
    known = workload.spec.pod_sets[0] if len(workload.spec.pod_sets) == 1 else None
    if known is None or known.count != job.spec.pods:
        return False
    return _are_alike(bytes(known.template), bytes(job.spec.template))


@lru_cache(8192)
def _are_alike(known: bytes, wanted: bytes) -> bool:
    """Whether a workload has this job's template. That is asked in every pass, and they seldom change."""
    return msgspec.json.decode(known) == _template(wanted)


def part(template: Json, name: str) -> Json:
    """A part of a template, which may not be there or be null."""
    return template.get(name) or {}


def _template(written: bytes) -> Json:
    """What the job's pods are made from, without what belongs to this very job."""
    template: Json = msgspec.json.decode(written)
    metadata = dict(part(template, "metadata"))
    # Older API servers write it as null, which a definition that does not know the field drops.
    metadata.pop("creationTimestamp", None)
    labels = {key: value for key, value in part(metadata, "labels").items() if key not in OF_THE_JOB}
    metadata.pop("labels", None)
    return {**template, "metadata": {**metadata, **({"labels": labels} if labels else {})}}
