"""What one pass of the queue looks at: queues with their quota, who holds some of it, who waits."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Any

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NAMESPACES
from growth.api.pod import Pod
from growth.api.queue.cluster_queues import ClusterQueue, LocalQueue
from growth.api.queue.job import QueuedJob
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, WORKLOADS
from growth.api.queue.pod import QueuedPod
from growth.api.queue.workload import EVICTED, PODS_READY, Workload
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.context import PassContext
from growth.decide.contract import Inputs
from growth.decide.facts.gangs import GangFindings, UnplacedGang
from growth.decide.queue.backlog import BacklogDraft, QueueBacklog
from growth.decide.queue.cluster_queue_status import ClusterQueueCheck
from growth.decide.queue.flavor_stock import FlavorOfferings, FlavorSupply, backing_in, supply_of
from growth.decide.queue.index import QueueIndex
from growth.decide.queue.ledger import QuotaLedger
from growth.decide.queue.pod_defaults import PodDefaults
from growth.decide.queue.provisioning_deadline import LaunchStatus, requests_by_pod
from growth.decide.queue.queue_config import QueuePolicy, closed_flavors, filling_in, standings_in, terms_of
from growth.decide.queue.quota_holders import Key, QuotaHolder
from growth.decide.queue.quota_tree import QuotaNode
from growth.decide.queue.status_write_budget import BudgetSpending, StatusWriteBudget
from growth.decide.queue.workload_patch import WorkloadDraft


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

    If its carry holds the backlog of the pass before, only those workloads are looked at for which something may have
    changed; else all are.
    """

    def __init__(self, inputs: Inputs[Any, None, QueueIndex], remarks: BudgetSpending | None = None) -> None:
        super().__init__(inputs)
        snapshot, settings = inputs.snapshot, inputs.settings
        self.terms: QueuePolicy = terms_of(settings.queue)
        self.catalog = self.facts.get(OfferingCatalog)
        self.index = index = inputs.index
        self.closed: Mapping[str, str] = closed_flavors(snapshot, self.catalog)
        """Flavors whose machines cannot be had now, and why."""
        self.carry = inputs.carry
        """What the next pass must know, as far as steps have decided."""
        self.remarks = remarks or StatusWriteBudget(per_second=0, most=0, left=0).opened(self.now)
        self.no_place: dict[tuple[int, tuple[str, ...]], str] = {}
        """By the identity of a spec and the reservations of its pod, why no node takes it, as far as that was asked."""
        before: QueueBacklog | None = inputs.carry.backlog if inputs.carry is not None else None
        self._is_anew = before is None or not _lacks_only_changes(before, index) or before.closed != self.closed
        """Whether all workloads are looked at."""
        if before is None or self._is_anew:
            before = QueueBacklog(absent=before.absent) if before is not None else QueueBacklog()
        self.backlog = BacklogDraft(before, index.trees)
        self.ledger = QuotaLedger(index, self.backlog)
        self.flavors = index.config.flavors
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
        self._find_touched(self.remarks.left)

    def draft(self, key: Key) -> WorkloadDraft | None:
        """A workload, if it is there."""
        return self.drafts[key] if key in self.index.workloads else None

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
    def absent(self) -> Mapping[Key, datetime]:
        """Workloads whose jobs are not seen, and since when (``orphaned_workloads``)."""
        return self.backlog.absent

    def current(self, key: Key) -> Workload:
        """A workload with what this pass has decided about it so far."""
        return self.drafts[key].workload if key in self.drafts else self.index.workloads[key]

    def _find_touched(self, remarks: int) -> None:
        """Find who is to be looked at; of so many may be told what was not told yet."""
        index, backlog, changes = self.index, self.backlog, self.index.changes
        if self._is_anew:
            touched = set(index.workloads)
            others = {*self.jobs, *self.pods}
            for key in backlog.absent.keys() - touched:
                del backlog.absent[key]
        else:
            for key in sorted(changes.gone):
                backlog.forget(key)
            for queue in changes.queues:
                backlog.stir(queue)
            touched = {*changes.workloads, *backlog.restless, *backlog.due(self.now)}
            touched |= {*islice(backlog.unsaid, remarks)}
            others = set(changes.owners)
            if changes.is_other_usage_unknown:
                # It is for nobody in these queues as it was.
                touched |= index.workloads.keys()
        supplies = {flavor: self.supply_of(flavor) for flavor in index.refusals.flavors}
        if supplies != backlog.supplies:
            touched |= index.refusals.by_key.keys()
            backlog.supplies = supplies
        touched |= {one.gang.key for one in self.unplaced.values()} & backlog.awaited
        touched |= {key for uid in others if (key := index.key_of(uid)) is not None}
        self.touched = sorted(touched & index.workloads.keys())
        """Workloads for whom something may have changed."""
        for key in self.touched:
            owner = self.drafts[key].before.metadata.controller
            if owner is not None:
                others.add(owner.uid)
        self.owners = sorted(uid for uid in others | backlog.restless_owners if uid in self.jobs or uid in self.pods)

    @contextmanager
    def following(self, key: Key) -> Generator[WorkloadDraft]:
        """Inside, a workload is brought as far as it can go without quota; then is noted what that means for others.

        The first instant that is found to matter is when it is looked at again.
        """
        self.deadlines.clear()
        draft = self.drafts[key]
        yield draft
        self.backlog.wake(key, min((when for when in self.deadlines if when > self.now), default=None))
        is_awaited = draft.before.is_reserving and not draft.workload.holds(PODS_READY)
        (self.backlog.awaited.add if is_awaited else self.backlog.awaited.discard)(key)
        if draft.workload.holds(EVICTED):
            self.ledger.mark_evicted(key)

    @contextmanager
    def listening_to(self, uid: str) -> Generator[None]:
        """Whoever has something said of it in here is looked at again in the next pass: it may not have come true."""
        before = len(self.said)
        yield
        if len(self.said) > before:
            self.backlog.restless_owners.add(uid)
        else:
            self.backlog.restless_owners.discard(uid)

    def workload_of(self, uid: str) -> Workload | None:
        """The workload of whoever has this uid."""
        key = self.index.key_of(uid)
        return self.drafts[key].workload if key is not None else None

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
        if not self.index.unknown_usage:
            return self.index.config.standings
        return standings_in(self.snapshot, dict(self.index.unknown_usage.values()))

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
        self.backlog.backing = backing_in(self.snapshot, self.flavors, self.backlog.backing)
        return self.backlog.backing

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


def _lacks_only_changes(backlog: QueueBacklog, index: QueueIndex) -> bool:
    """Whether the backlog is of the pass before, and what it knows of trees and queues still holds."""
    return not index.changes.is_rebuilt and backlog.seen in (index.previous, index.changes)
