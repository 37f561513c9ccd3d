"""What must hold of the job queue at every instant: quota, admissions, counts, and templates.

The checker adds up for itself what workloads were given, and looks at the pods that are really there. What people do
(start a job by hand, delete a workload) is theirs: such a job is judged again once it was stopped.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from growth.api.pod import Pod
from growth.api.queue.job import QUEUED_JOBS, STOPPING, TEMPLATE_WAS, QueuedJob
from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, WORKLOADS
from growth.api.queue.workload import ADMITTED, EVICTED, QUEUE_NAME, Workload
from tests.trust.deeds import Deeds
from tests.trust.lending import Parties, Slot, amount_of

if TYPE_CHECKING:
    from tests.trust.picture import Picture, Step

_ENDED: Final = ("Succeeded", "Failed")
_NOT_QUEUED: Final = "kube-system"


@dataclass
class Queueing:
    """Jobs and workloads by uid, queues by name."""

    jobs: dict[str, QueuedJob] = field(default_factory=dict[str, QueuedJob])
    workloads: dict[str, Workload] = field(default_factory=dict[str, Workload])
    quotas: list[tuple[int, Parties]] = field(default_factory=list[tuple[int, Parties]])
    """What all queues and cohorts have said so far, and since which version."""

    held: set[str] = field(default_factory=set[str])
    """Jobs that were stopped once and that nobody but Growth has started since."""

    templates: dict[str, Any] = field(default_factory=dict[str, Any])
    """What jobs are made from that Growth has not started, or had given back."""

    def take(self, step: "Step") -> None:
        """Go on by one step."""
        if step.kind in (CLUSTER_QUEUES, COHORTS):
            self._take_quota(step)
        if step.kind is WORKLOADS:
            _put(self.workloads, step)
            if step.is_end:
                self.held -= {_owner(step.now)}
        if step.kind is QUEUED_JOBS:
            _put(self.jobs, step)
            self._take_job(step)

    def _take_quota(self, step: "Step") -> None:
        before = self.quotas[-1][1] if self.quotas else Parties()
        change = before.with_queue if step.kind is CLUSTER_QUEUES else before.with_cohort
        now = change(step.now, is_end=step.is_end)
        if now != before:
            self.quotas.append((step.version, now))

    def _take_job(self, step: "Step") -> None:
        job, uid = step.now, step.meta.uid
        if job.spec.suspend and QUEUE_NAME in step.meta.labels and step.meta.namespace != _NOT_QUEUED:
            self.held.add(uid)
        if step.is_end:
            self.held.discard(uid)
        elif TEMPLATE_WAS not in step.meta.annotations and (
            step.before is None or TEMPLATE_WAS not in step.before.metadata.annotations
        ):
            self.templates[uid] = msgspec.json.decode(job.spec.template)

    def workload_of(self, job: str) -> Workload | None:
        """The workload of a job, by the job's uid."""
        return next((one for one in self.workloads.values() if _owner(one) == job), None)

    def has_quota(self, job: str) -> bool:
        """Whether a job's workload holds quota: also while it is evicted and not stopped yet."""
        workload = self.workload_of(job)
        return workload is not None and workload.status.admission is not None

    def quotas_since(self, version: int) -> list[Parties]:
        """What queues and cohorts said at any time from this version until now."""
        said = self.quotas
        return [
            parties
            for number, (_, parties) in enumerate(said)
            if number + 1 == len(said) or said[number + 1][0] > version
        ]


def quota_exceeded(step: "Step", picture: "Picture", deeds: Deeds) -> Iterator[str]:
    """Who is admitted fits into what its queue and the cohorts above it have said since it was last written, with all
    who hold quota there."""
    workload: Workload = step.now
    admission, before = workload.status.admission, step.before
    is_given = admission is not None and not step.is_end and (before is None or before.status.admission is None)
    if admission is None or not is_given or not deeds.making(WORKLOADS.plural, step.version):
        return
    since = before.metadata.resource_version if before is not None else step.version
    queue, used = admission.cluster_queue, _used(picture.queueing)
    found = [one.beyond(queue, used) for one in picture.queueing.quotas_since(since) if queue in one.queues]
    if found and all(found):
        yield f"with {step.meta.name} the queue {queue} has given away {found[-1]}"


def runs_without_quota(step: "Step", picture: "Picture", deeds: Deeds) -> Iterator[str]:
    """Growth starts a job only with quota, and takes the quota back only when no pod is left."""
    queueing = picture.queueing
    if step.kind is QUEUED_JOBS:
        if step.is_end or step.before is None or not step.before.spec.suspend or step.now.spec.suspend:
            return
        if not deeds.making(QUEUED_JOBS.plural, step.version):
            queueing.held.discard(step.meta.uid)  # somebody else started it
        elif not queueing.has_quota(step.meta.uid):
            yield f"the job {step.meta.name} was started without quota"
        return
    job = _owner(step.now)
    if step.is_end or job not in queueing.held or queueing.has_quota(job):
        return
    was_given = step.kind is WORKLOADS and step.before is not None and step.before.status.admission is not None
    if was_given and deeds.making(WORKLOADS.plural, step.version) and not step.now.is_finished:
        left = [pod.metadata.name for pod in picture.pods.values() if _owner(pod) == job and not _has_ended(pod)]
        if left:
            yield f"{step.meta.name} lost its quota while {', '.join(sorted(left))} was there"


def pod_without_quota(step: "Step", picture: "Picture", _: Deeds) -> Iterator[str]:
    """No pod is made for a job that waits."""
    queueing, job = picture.queueing, _owner(step.now)
    if step.is_new and job in queueing.held and job in queueing.jobs and not queueing.has_quota(job):
        yield f"the pod {step.meta.name} was made, and its job has no quota"


def counted_wrongly(step: "Step", _: "Picture", deeds: Deeds) -> Iterator[str]:
    """Growth counts one more with each eviction for pods that are not ready, never beyond the limit."""
    if step.is_end or step.before is None or not deeds.making(WORKLOADS.plural, step.version):
        return
    before, now = _count(step.before), _count(step.now)
    if now <= before:
        return
    if now > before + 1:
        yield f"{step.meta.name} was put back once, and counts {now} after {before}"
    if deeds.requeue_limit is not None and now > deeds.requeue_limit:
        yield f"{step.meta.name} was put back {now} times; the limit is {deeds.requeue_limit}"
    evicted = step.now.condition(EVICTED)
    if evicted is None or (evicted.status, evicted.reason) != ("True", "PodsReadyTimeout"):
        yield f"{step.meta.name} counts {now} after {before}, and is not evicted for pods that are not ready"


def template_spoilt(step: "Step", picture: "Picture", deeds: Deeds) -> Iterator[str]:
    """A job that was stopped is made from what it was made from before it was started."""
    if step.is_end or step.before is None or not deeds.making(QUEUED_JOBS.plural, step.version):
        return
    is_restored = TEMPLATE_WAS in step.before.metadata.annotations and TEMPLATE_WAS not in step.meta.annotations
    was = picture.queueing.templates.get(step.meta.uid)
    if is_restored and was is not None and msgspec.json.decode(step.now.spec.template) != was:
        yield f"the job {step.meta.name} did not get its template back"


def left_in_the_queue(picture: "Picture") -> Iterator[str]:
    """Each job that names a queue has one workload, and does as that says."""
    queueing = picture.queueing
    for uid, job in sorted(queueing.jobs.items(), key=lambda one: one[1].metadata.name):
        meta = job.metadata
        is_ours = QUEUE_NAME in meta.labels and meta.namespace != _NOT_QUEUED and meta.deletion_timestamp is None
        if not is_ours or job.ended is not None:
            continue
        workloads = [one for one in queueing.workloads.values() if _owner(one) == uid]
        if len(workloads) != 1:
            yield f"the job {meta.name} has {len(workloads)} workloads"
            continue
        yield from _half_done(job, workloads[0])


def _half_done(job: QueuedJob, workload: Workload) -> Iterator[str]:
    name, has_quota = job.metadata.name, workload.status.admission is not None
    if has_quota and (workload.holds(EVICTED) or not workload.spec.active):
        yield f"the job {name} is evicted and still has its quota"
    elif has_quota and job.spec.suspend:
        yield f"the job {name} is admitted and was not started"
    elif not has_quota and (not job.spec.suspend or STOPPING in job.metadata.annotations):
        yield f"the job {name} has no quota and was not stopped"
    if has_quota != workload.holds(ADMITTED):
        yield f"the workload of {name} does not say whether it is admitted"


def _put(things: dict[str, Any], step: "Step") -> None:
    if step.is_end:
        things.pop(step.meta.uid, None)
    else:
        things[step.meta.uid] = step.now


def _owner(thing: Pod | Workload) -> str:
    """The uid of the job that it belongs to; empty if there is none."""
    owner = thing.metadata.controller
    return owner.uid if owner is not None and owner.kind == "Job" else ""


def _has_ended(pod: Pod) -> bool:
    return pod.status.phase in _ENDED


def _count(workload: Workload) -> int:
    state = workload.status.requeue_state
    return (state.count or 0) if state is not None else 0


def _used(queueing: Queueing) -> dict[str, dict[Slot, int]]:
    used = dict[str, dict[Slot, int]]()
    for workload in queueing.workloads.values():
        admission = workload.status.admission
        if admission is None or workload.is_finished:
            continue
        here = used.setdefault(admission.cluster_queue, {})
        spare = {one.name: one.count for one in workload.status.reclaimable_pods}
        for given in admission.pod_set_assignments:
            count = given.count or 1
            for resource, flavor in given.flavors.items():
                whole = amount_of(given.resource_usage.get(resource, 0))
                amount = whole * max(0, count - spare.get(given.name, 0)) // count
                here[flavor, resource] = here.get((flavor, resource), 0) + amount
    return used
