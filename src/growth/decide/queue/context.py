"""What one pass of the queue looks at: queues with their quota, who holds some of it, who waits."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NAMESPACES
from growth.api.pod import Pod
from growth.api.quantity import QuantityError, nano_value
from growth.api.queue.cluster_queues import ClusterQueue, LocalQueue
from growth.api.queue.job import QUEUED_JOBS, QueuedJob
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from growth.api.queue.pod import QUEUED_PODS, QueuedPod
from growth.api.queue.workload import EVICTED, PODS_READY, QUOTA_RESERVED, PodSetAssignment, Workload
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.context import PassContext
from growth.decide.contract import Inputs
from growth.decide.facts.gangs import GangFindings, UnplacedGang
from growth.decide.queue.cluster_queue_status import ClusterQueueCheck
from growth.decide.queue.flavor_assignment import needs_of
from growth.decide.queue.flavor_stock import FlavorOfferings, FlavorSupply, backing_in, supply_of
from growth.decide.queue.index import QueueIndex
from growth.decide.queue.ledger import QuotaLedger
from growth.decide.queue.pending_queue import queued_since
from growth.decide.queue.pod_defaults import PodDefaults
from growth.decide.queue.provisioning_deadline import LaunchStatus, requests_by_pod
from growth.decide.queue.queue_config import QueuePolicy, filling_in, members_of, premises_in, standings_in, terms_of
from growth.decide.queue.quota_holders import Key, QuotaHolder
from growth.decide.queue.quota_tree import QuotaNode, Slot
from growth.decide.queue.status_write_budget import BudgetSpending, StatusWriteBudget
from growth.decide.queue.workload_patch import WorkloadDraft
from growth.observe.pod_requests import counted


class WorkloadDrafts(dict[Key, WorkloadDraft]):
    """Workloads that are looked at in this pass; whoever asks for another one looks at it, too."""

    def __init__(self, there: Mapping[Key, Workload], now: datetime) -> None:
        super().__init__()
        self._there, self._now = there, now

    def __missing__(self, key: Key) -> WorkloadDraft:
        self[key] = draft = WorkloadDraft(self._there[key], self._now)
        return draft


class QueueContext(PassContext[Any]):
    """Queues, quota and workloads of one pass.

    With the ``index`` of the pass before only those workloads are looked at for which something may have changed;
    without it all.
    """

    def __init__(
        self, inputs: Inputs[Any, None], index: QueueIndex | None = None, remarks: BudgetSpending | None = None
    ) -> None:
        super().__init__(inputs)
        snapshot, settings = inputs.snapshot, inputs.settings
        self.terms: QueuePolicy = terms_of(settings.queue)
        self.catalog = self.facts.get(OfferingCatalog)
        self.config = premises_in(snapshot, settings, self.catalog, index.config if index is not None else None)
        self.carry = inputs.carry
        """What the next pass must know, as far as steps have decided."""
        self.remarks = remarks or StatusWriteBudget(per_second=0, most=0, left=0).opened(self.now)
        self.no_place: dict[tuple[int, tuple[str, ...]], str] = {}
        """By the identity of a spec and the reservations of its pod, why no node takes it, as far as that was asked."""
        if index is None or index.is_in_use or not self.config.are_like(index.config):
            absent = index.absent if index is not None else {}
            index = QueueIndex(self.config, members_of(snapshot))
            index.absent = absent
        index.config, index.is_in_use = self.config, True
        self.index: QueueIndex = index
        self.ledger = QuotaLedger(index)
        self.flavors = self.config.flavors
        self.queues: dict[str, ClusterQueue] = {
            one.metadata.name: one for one in snapshot.table(CLUSTER_QUEUES).values()
        }
        self.clients = snapshot.table(LOCAL_QUEUES)
        self.jobs: Mapping[str, QueuedJob] = index.jobs.by_uid
        self.pods: Mapping[str, QueuedPod] = index.pods.by_uid
        self.instants: list[datetime] = []
        """When to look again, whoever is looked at then."""
        self.edited: set[Key] = set()
        """Workloads that are being changed to what their jobs want now: they are not judged by what they wanted."""
        self.drafts = WorkloadDrafts(snapshot.table(WORKLOADS), self.now)
        self.owners: list[str] = []
        """Jobs and pods that are looked at, by uid."""
        self._supplies: dict[str, FlavorSupply | None] = {}
        self._sit(self.remarks.left)

    def draft(self, key: Key) -> WorkloadDraft | None:
        """A workload, if it is there."""
        return self.drafts[key] if key in self.index.seats else None

    @property
    def members(self) -> dict[str, QuotaNode]:
        """All queues, with what is used of their quota.

        That is what was seen to be held: also by those that are evicted and have not gone yet, or of which we say only
        now that they have. Until that is written, somebody else's admission could come before it.
        """
        return self.index.members

    @property
    def holders(self) -> dict[str, dict[Key, QuotaHolder]]:
        """Who was seen to hold quota, by queue."""
        return self.index.holders

    @property
    def absent(self) -> dict[Key, datetime]:
        """Workloads whose jobs are not seen, and since when (``leaving``)."""
        return self.index.absent

    def _sit(self, remarks: int) -> None:
        """Find who is to be looked at, and see what each holds; of so many may be told what was not told yet."""
        index, there = self.index, self.snapshot.table(WORKLOADS)
        others = index.jobs.call(self.snapshot.table(QUEUED_JOBS)) | index.pods.call(self.snapshot.table(QUEUED_PODS))
        changed: set[Key] = set()
        for key in index.observed.news(there, index.seats):
            known, now = index.seats.get(key), there.get(key)
            if now is None and known is not None:
                owner = known.workload.metadata.controller
                others |= {owner.uid} if owner is not None else set()
                index.leave(key)
            elif now is not None and (known is None or known.workload is not now):
                changed.add(key)
        odd = dict(index.odd)
        for key in sorted(changed):
            index.sit(key, there[key], self._holder(key, there[key]), _oddity(there[key]))
        touched = {*changed, *index.restless, *index.due(self.now), *islice(index.unsaid, remarks)}
        if odd != index.odd:
            # It is for nobody in these queues as it was.
            touched |= index.seats.keys()
        supplies = {flavor: self.supply_of(flavor) for flavor in index.refusals.flavors}
        if supplies != index.supplies:
            touched |= index.refusals.by_key.keys()
            index.supplies = supplies
        touched |= {one.gang.key for one in self.unplaced.values()} & index.awaited
        touched |= {index.by_owner[uid] for uid in others if uid in index.by_owner}
        self.touched = sorted(touched & index.seats.keys())
        """Workloads for whom something may have changed."""
        for key in self.touched:
            owner = self.drafts[key].before.metadata.controller
            if owner is not None:
                others.add(owner.uid)
        self.owners = sorted(uid for uid in others | index.restless_owners if uid in self.jobs or uid in self.pods)

    def _holder(self, key: Key, workload: Workload) -> QuotaHolder | None:
        admission, reserved = workload.status.admission, workload.condition(QUOTA_RESERVED)
        if admission is None or not workload.is_reserving:
            return None
        since = reserved.last_transition_time if reserved is not None else None
        return QuotaHolder(
            key,
            workload.metadata.uid,
            admission.cluster_queue,
            workload.priority,
            queued_since(workload, self.terms.requeuing.timestamp),
            since or workload.metadata.creation_timestamp or self.now,
            usage_of(workload),
            workload.holds(EVICTED),
        )

    def end(self) -> None:
        """The pass is over: nothing is given tentatively any more."""
        self.ledger.drop()
        self.index.is_in_use = False

    @contextmanager
    def following(self, key: Key) -> Generator[WorkloadDraft]:
        """Inside, a workload is brought as far as it can go without quota; then is noted what that means for others.

        The first instant that is found to matter is when it is looked at again.
        """
        self.deadlines.clear()
        draft = self.drafts[key]
        yield draft
        self.index.wake(key, min((when for when in self.deadlines if when > self.now), default=None))
        is_awaited = draft.before.is_reserving and not draft.workload.holds(PODS_READY)
        (self.index.awaited.add if is_awaited else self.index.awaited.discard)(key)
        if draft.workload.holds(EVICTED):
            self.ledger.mark_evicted(key)

    @contextmanager
    def listening_to(self, uid: str) -> Generator[None]:
        """Whoever has something said of it in here is looked at again in the next pass: it may not have come true."""
        before = len(self.said)
        yield
        if len(self.said) > before:
            self.index.restless_owners.add(uid)
        else:
            self.index.restless_owners.discard(uid)

    def workload_of(self, uid: str) -> Workload | None:
        """The workload of whoever has this uid."""
        key = self.index.by_owner.get(uid)
        return self.drafts[key].workload if key is not None and key in self.index.seats else None

    def local_queue_of(self, workload: Workload) -> LocalQueue | None:
        """The LocalQueue in which it waits, if there is one of that name."""
        return self.clients.get((workload.metadata.namespace, workload.spec.queue_name))

    def queue_of(self, workload: Workload) -> ClusterQueue | None:
        """The ClusterQueue whose quota it has, or would have."""
        admission = workload.status.admission
        if admission is not None:
            return self.queues.get(admission.cluster_queue)
        local_queue = self.local_queue_of(workload)
        return self.queues.get(local_queue.spec.cluster_queue) if local_queue is not None else None

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
    def standings(self) -> Mapping[str, ClusterQueueCheck]:
        """Which ClusterQueues are at work, by name; also those that cannot be read."""
        if not self.index.odd:
            return self.config.standings
        return standings_in(self.snapshot, dict(self.index.odd.values()))

    @cached_property
    def provisioning(self) -> LaunchStatus:
        """What is known about machines that come."""
        requests = requests_by_pod(self.snapshot.table(NODE_REQUESTS).values())
        settings, nodes = self.settings.provision, self.snapshot.nodes
        return LaunchStatus(self.now, self.since, settings, nodes, requests)

    @cached_property
    def unplaced(self) -> Mapping[str, UnplacedGang]:
        """By the uid of their workloads, gangs for which the last plan has no place."""
        return {one.gang.workload: one for one in self.facts.get(GangFindings).unplaced}

    @cached_property
    def backing(self) -> FlavorOfferings:
        """What could be launched for which flavor."""
        self.index.backing = backing_in(self.snapshot, self.flavors, self.index.backing)
        return self.index.backing

    def supply_of(self, flavor: str) -> FlavorSupply | None:
        """What could be launched for a flavor now; None if nobody can tell."""
        if flavor not in self._supplies:
            self._supplies[flavor] = supply_of(flavor, self.backing, self.snapshot, self.catalog)
        return self._supplies[flavor]

    def is_welcome(self, workload: Workload, queue: ClusterQueue) -> bool:
        """Whether workloads of this namespace may use this queue."""
        selector = queue.spec.namespace_selector
        namespace = self.snapshot.table(NAMESPACES).get(("", workload.metadata.namespace))
        labels = namespace.metadata.labels if namespace is not None else {}
        return selector is not None and selector.matches(labels)

    @cached_property
    def filling(self) -> PodDefaults:
        """What the API server will add to pods when they are made."""
        return filling_in(self.snapshot)


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


def _oddity(workload: Workload) -> tuple[str, str] | None:
    """The queue of whose quota it holds nobody knows how much, and a sentence about that."""
    admission = workload.status.admission
    if admission is None or not workload.is_reserving or is_usage_known(workload):
        return None
    name = f"Workload {workload.metadata.namespace}/{workload.metadata.name}"
    why = "holds quota of this queue, and nobody can read how much. Mend its status, or delete it"
    return admission.cluster_queue, f"{name} {why}"
