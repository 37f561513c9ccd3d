"""What one pass of the queue looks at: queues with their quota, who holds some of it, who waits."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from functools import cached_property

import msgspec

from growth.api.action import Action, Hold
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NAMESPACES
from growth.api.pod import Pod
from growth.api.quantity import QuantityError, nano_value
from growth.api.queue.filling import LIMIT_RANGES, RUNTIME_CLASSES
from growth.api.queue.job import QUEUED_JOBS, QueuedJob
from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.pod import QUEUED_PODS, QueuedPod
from growth.api.queue.queues import ClusterQueue, LocalQueue
from growth.api.queue.workload import EVICTED, QUOTA_RESERVED, PodSetAssignment, Workload
from growth.api.settings import Settings
from growth.decide.decider import State
from growth.decide.queue.draft import Draft
from growth.decide.queue.filling import Filling
from growth.decide.queue.flavors import needs_of
from growth.decide.queue.holders import Holder, Key
from growth.decide.queue.ordering import queued_since
from growth.decide.queue.standing import Standing, standings_of
from growth.decide.queue.starting import Provisioning, requests_by_pod
from growth.decide.queue.terms import Terms, terms_of
from growth.decide.queue.tree import Member, Slot, quotas_of
from growth.decide.queue.unreadable import unread_in
from growth.observe.requests import counted
from growth.observe.snapshot import Snapshot


class Scene:
    """One snapshot with what all parts of the pass ask of it; ``said`` and ``deadlines`` are what comes of it."""

    def __init__(self, snapshot: Snapshot, state: State, settings: Settings) -> None:
        self.snapshot, self.state, self.settings = snapshot, state, settings
        self.now: datetime = snapshot.now
        self.terms: Terms = terms_of(settings.queue)
        self.flavors = {one.metadata.name: one for one in snapshot.table(RESOURCE_FLAVORS).values()}
        self.queues: dict[str, ClusterQueue] = {
            one.metadata.name: one for one in snapshot.table(CLUSTER_QUEUES).values()
        }
        self.doors: dict[Key, LocalQueue] = dict(snapshot.table(LOCAL_QUEUES).items())
        self.drafts: dict[Key, Draft] = {
            key: Draft(one, self.now) for key, one in sorted(snapshot.table(WORKLOADS).items())
        }
        self.jobs: dict[str, QueuedJob] = {job.metadata.uid: job for job in snapshot.table(QUEUED_JOBS).values()}
        self.pods: dict[str, QueuedPod] = {pod.metadata.uid: pod for pod in snapshot.table(QUEUED_PODS).values()}
        self.said: list[Action | Hold] = []
        self.deadlines: list[datetime] = []
        self.absent: dict[Key, datetime] = {}
        """Workloads whose jobs are not seen, and since when (``leaving``)."""
        self.edited: set[Key] = set()
        """Workloads that are being changed to what their jobs want now: they are not judged by what they wanted."""

    def door_of(self, workload: Workload) -> LocalQueue | None:
        """The LocalQueue in which it waits, if there is one of that name."""
        return self.doors.get((workload.metadata.namespace, workload.spec.queue_name))

    def queue_of(self, workload: Workload) -> ClusterQueue | None:
        """The ClusterQueue whose quota it has, or would have."""
        admission = workload.status.admission
        if admission is not None:
            return self.queues.get(admission.cluster_queue)
        door = self.door_of(workload)
        return self.queues.get(door.spec.cluster_queue) if door is not None else None

    def job_of(self, workload: Workload) -> QueuedJob | None:
        """The Job that it stands for; or the plain pod, which counts as a job of one pod."""
        owner = workload.metadata.controller
        if owner is not None and owner.kind == "Pod":
            pod = self.pods.get(owner.uid)
            return pod.as_job if pod is not None else None
        return self.jobs.get(owner.uid) if owner is not None and owner.kind == "Job" else None

    def is_awaited(self, workload: Workload) -> bool:
        """Whether it stands for somebody who is not seen: not yet, or it is gone, then the garbage collector comes."""
        owner = workload.metadata.controller
        known = {"Job": self.jobs, "Pod": self.pods}.get(owner.kind) if owner is not None else None
        return owner is not None and known is not None and owner.uid not in known

    def is_ending(self, namespace: str) -> bool:
        """Whether this namespace is being deleted, with all that is in it."""
        found = self.snapshot.table(NAMESPACES).get(("", namespace))
        return found is not None and found.metadata.deletion_timestamp is not None

    def unready_pods(self, workload: Workload) -> list[Pod]:
        """Its pods that are not ready and not on their way out, as far as they are seen."""
        owner = workload.metadata.controller
        pods = self.snapshot.unready.of(owner.uid).values() if owner is not None else ()
        return [pod for pod in pods if pod.metadata.deletion_timestamp is None]

    @cached_property
    def provisioning(self) -> Provisioning:
        """What is known about machines that come."""
        requests = requests_by_pod(self.snapshot.table(NODE_REQUESTS).values())
        settings, nodes = self.settings.provision, self.snapshot.nodes
        return Provisioning(self.now, lambda at: self.state.since(at, self.now), settings, nodes, requests)

    def is_welcome(self, workload: Workload, queue: ClusterQueue) -> bool:
        """Whether workloads of this namespace may use this queue."""
        selector = queue.spec.namespace_selector
        namespace = self.snapshot.table(NAMESPACES).get(("", workload.metadata.namespace))
        labels = namespace.metadata.labels if namespace is not None else {}
        return selector is not None and selector.matches(labels)

    @cached_property
    def filling(self) -> Filling:
        """What the API server will add to pods when they are made."""
        ranges, classes = self.snapshot.table(LIMIT_RANGES), self.snapshot.table(RUNTIME_CLASSES)
        return Filling(ranges.values(), classes.values())

    @cached_property
    def workloads(self) -> dict[str, Workload]:
        """Workloads by the uid of whom they stand for."""
        return {
            owner.uid: draft.workload
            for draft in self.drafts.values()
            if (owner := draft.workload.metadata.controller) is not None
        }

    @cached_property
    def standings(self) -> dict[str, Standing]:
        """Which ClusterQueues are at work, by name; also those that cannot be read."""
        cohorts = {one.metadata.name: one for one in self.snapshot.table(COHORTS).values()}
        unread, odd = unread_in(self.snapshot), dict[str, str]()
        for draft in self.drafts.values():
            admission = draft.before.status.admission
            if admission is not None and draft.before.is_reserving and not is_usage_known(draft.before):
                why = "holds quota of this queue, and nobody can read how much. Mend its status, or delete it"
                odd[admission.cluster_queue] = f"{_name(draft.before)} {why}"
        unread = msgspec.structs.replace(unread, holders={**odd, **unread.holders})
        return standings_of(self.queues, self.flavors, cohorts, unread)

    @cached_property
    def members(self) -> dict[str, Member]:
        """All queues, with what is used of their quota.

        That is what was seen to be held: also by those that are evicted and have not gone yet, or of which we say only
        now that they have. Until that is written, somebody else's admission could come before it.
        """
        cohorts: dict[str, Member] = {}
        known = {one.metadata.name: one for one in self.snapshot.table(COHORTS).values()}

        def cohort(name: str, above: frozenset[str] = frozenset()) -> Member | None:
            if not name or name in above:
                return None
            if name not in cohorts:
                spec = known[name].spec if name in known else None
                parent = cohort(spec.parent_name, above | {name}) if spec is not None else None
                cohorts[name] = Member(name, quotas_of(spec.resource_groups) if spec is not None else {}, parent)
            return cohorts[name]

        members = {
            name: Member(name, quotas_of(queue.spec.resource_groups), cohort(queue.spec.cohort_name))
            for name, queue in sorted(self.queues.items())
        }
        for draft in self.drafts.values():
            admission = draft.before.status.admission
            if draft.before.is_reserving and admission is not None and admission.cluster_queue in members:
                for slot, amount in usage_of(draft.before).items():
                    members[admission.cluster_queue].use(slot, amount)
        return members

    @cached_property
    def holders(self) -> dict[str, dict[Key, Holder]]:
        """Who was seen to hold quota, by queue."""
        found: dict[str, dict[Key, Holder]] = defaultdict(dict)
        for key, draft in self.drafts.items():
            workload, admission = draft.before, draft.before.status.admission
            if workload.is_reserving and admission is not None:
                reserved = workload.condition(QUOTA_RESERVED)
                found[admission.cluster_queue][key] = Holder(
                    key,
                    workload.metadata.uid,
                    admission.cluster_queue,
                    workload.priority,
                    queued_since(workload, self.terms.requeuing.timestamp),
                    (reserved.last_transition_time if reserved is not None else None) or self.now,
                    usage_of(workload),
                    draft.workload.holds(EVICTED),
                )
        return found

    def mark_evicted(self, key: Key) -> None:
        """It is decided that it goes: whoever needs somebody to go takes it first."""
        for holders in self.holders.values():
            if key in holders:
                holders[key] = msgspec.structs.replace(holders[key], is_evicted=True)

    def by_queue(self, workloads: Iterable[Workload]) -> dict[str, list[Workload]]:
        """These workloads by the name of their ClusterQueue; those that have none are left out."""
        found: dict[str, list[Workload]] = defaultdict(list)
        for workload in workloads:
            queue = self.queue_of(workload)
            if queue is not None:
                found[queue.metadata.name].append(workload)
        return found


def usage_of(workload: Workload) -> dict[Slot, int]:
    """How much of what an admitted workload holds, less what it does not need any more."""
    admission, usage = workload.status.admission, dict[Slot, int]()
    spare = {one.name: one.count for one in workload.status.reclaimable_pods}
    needed = {one.name: one.count - spare.get(one.name, 0) for one in workload.spec.pod_sets}
    for assigned in admission.pod_set_assignments if admission is not None else ():
        count = assigned.count or 0
        left = max(0, min(count, needed.get(assigned.name, count)))
        for resource, flavor in assigned.flavors.items():
            whole = _amount(workload, assigned, resource) or 0
            amount = whole if not count else whole * left // count
            usage[flavor, resource] = usage.get((flavor, resource), 0) + amount
    return usage


def is_usage_known(workload: Workload) -> bool:
    """Whether it can be told how much an admitted workload holds."""
    admission = workload.status.admission
    return all(
        _amount(workload, assigned, resource) is not None
        for assigned in (admission.pod_set_assignments if admission is not None else ())
        for resource in assigned.flavors
    )


def _amount(workload: Workload, assigned: PodSetAssignment, resource: str) -> int | None:
    try:
        amount = counted(resource, nano_value(str(assigned.resource_usage.get(resource, 0))))
    except QuantityError:
        amount = -1
    return amount if amount >= 0 else _asked(workload, assigned, resource)


def _asked(workload: Workload, assigned: PodSetAssignment, resource: str) -> int | None:
    """Somebody edited what it was given. What its pods ask for is known all the same, unless that cannot be read."""
    try:
        pod_sets = {one.name: one for one in needs_of(workload)}
    except (QuantityError, msgspec.ValidationError):
        return None
    return pod_sets[assigned.name].amounts.get(resource, 0) if assigned.name in pod_sets else None


def _name(workload: Workload) -> str:
    return f"Workload {workload.metadata.namespace}/{workload.metadata.name}"
