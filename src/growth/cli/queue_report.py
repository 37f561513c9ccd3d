"""What ``growth queue`` says, as one value: what was seen in, a report out. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from growth.api.queue.cluster_queues import ACTIVE, SHORT, ClusterQueue
from growth.api.status import condition_of
from growth.cli.queue_entry import HOLDING, WorkloadPhase, WorkloadRow, entry_of
from growth.cli.queue_reader import QueueView
from growth.cli.queue_shares import CohortView, LentQuota, QuotaShare, branch, cohorts_of, path_of, shares_of
from growth.decide.queue.cluster_queue_status import standing_of_door


class Queue(msgspec.Struct, frozen=True):
    """One ClusterQueue, and who is in it."""

    name: str
    strategy: str
    cohort: str
    path: tuple[str, ...]
    """The cohorts above it, from the highest down to its own."""
    is_active: bool
    why: str
    """Why it is, or is not."""
    is_reported: bool
    """Whether anybody has said so: if not, nobody runs the queue yet."""
    warnings: tuple[str, ...] = ()
    shares: tuple[QuotaShare, ...] = ()
    admitted: tuple[WorkloadRow, ...] = ()
    pending: tuple[WorkloadRow, ...] = ()
    """In the order in which they are tried; then those that are in no line."""


class QueueReport(msgspec.Struct, frozen=True):
    """Everything; ``--output json`` prints this."""

    at: datetime
    queues: tuple[Queue, ...] = ()
    """Those of one cohort stand together."""
    cohorts: tuple[CohortView, ...] = ()
    """All that are above one of these queues, or lend to it."""
    homeless: tuple[WorkloadRow, ...] = ()
    """Workloads without a ClusterQueue."""
    unmade: tuple[str, ...] = ()
    """Jobs that name a queue and have no Workload."""
    finished: int = 0
    knows_deadlines: bool = True
    """Whether the settings say by when pods must be ready."""
    notices: tuple[str, ...] = ()
    """What holds for all: why nobody decides anything, and what cannot be read."""
    narrowed_to: str = ""
    """The namespace whose workloads alone are shown; empty: all."""

    @property
    def entries(self) -> Iterator[WorkloadRow]:
        """All workloads that are shown."""
        for queue in self.queues:
            yield from queue.admitted
            yield from queue.pending
        yield from self.homeless

    @property
    def is_unattended(self) -> bool:
        """Whether there are queues, and nobody has said anything about one of them."""
        return any(not queue.is_reported for queue in self.queues)


def report_of(seen: QueueView, queue: str = "", namespace: str = "") -> QueueReport:
    """What there is to say; of one ClusterQueue, or of one namespace, if they are named."""
    context = seen.context
    entries = [entry_of(seen, key) for key in context.drafts if not namespace or key[0] == namespace]
    names = {door.spec.cluster_queue for (where, _), door in context.clients.items() if where == namespace}
    names |= {entry.cluster_queue for entry in entries}
    wanted = [
        one for name, one in context.queues.items() if (not queue or name == queue) and (not namespace or name in names)
    ]
    wanted.sort(key=lambda one: branch(path_of(seen, one), one.metadata.name))
    alive = [entry for entry in entries if entry.standing is not WorkloadPhase.FINISHED]
    inside = defaultdict[str, list[WorkloadRow]](list)
    for entry in alive:
        inside[entry.cluster_queue].append(entry)
    lent = LentQuota()
    return QueueReport(
        at=context.now,
        notices=seen.notices,
        queues=tuple(_queue(seen, one, inside[one.metadata.name], lent) for one in wanted),
        cohorts=tuple(cohorts_of(seen, wanted, lent)),
        homeless=() if queue else tuple(_ordered(inside[""])),
        unmade=() if queue else tuple(_unmade(seen, namespace)),
        finished=sum(
            entry.standing is WorkloadPhase.FINISHED and queue in ("", entry.cluster_queue) for entry in entries
        ),
        knows_deadlines=context.terms.readiness is not None,
        narrowed_to=namespace,
    )


def _queue(seen: QueueView, queue: ClusterQueue, own: Sequence[WorkloadRow], lent: LentQuota) -> Queue:
    name, said = queue.metadata.name, condition_of(queue.status.conditions, ACTIVE)
    phase = seen.context.standings[name]
    return Queue(
        name=name,
        strategy=queue.spec.queueing_strategy,
        cohort=queue.spec.cohort_name,
        path=path_of(seen, queue),
        is_active=phase.is_active if said is None else said.status == "True",
        why=phase.why if said is None else said.message,
        is_reported=said is not None,
        warnings=tuple(_warnings(seen, queue)),
        shares=tuple(shares_of(seen, queue, lent)),
        admitted=tuple(_ordered(entry for entry in own if entry.standing in HOLDING)),
        pending=tuple(_ordered(entry for entry in own if entry.standing not in HOLDING)),
    )


def _ordered(entries: Iterable[WorkloadRow]) -> list[WorkloadRow]:
    order = list(WorkloadPhase)
    return sorted(entries, key=lambda one: (order.index(one.standing), one.position, _instant(one), one.title))


def _instant(entry: WorkloadRow) -> float:
    """Who comes back first; of all others who has waited for longest."""
    instant = entry.until or entry.since
    return instant.timestamp() if instant is not None else 0


def _warnings(seen: QueueView, queue: ClusterQueue) -> Iterator[str]:
    # What is out of stock stands beside the flavor.
    told_elsewhere = {ACTIVE, SHORT} if seen.closed else {ACTIVE}
    warnings = [one for one in queue.status.conditions if one.type not in told_elsewhere and one.status == "True"]
    yield from (one.message for one in warnings)
    for (namespace, name), door in sorted(seen.context.clients.items()):
        if door.spec.cluster_queue == queue.metadata.name and door.spec.stop_policy != "None":
            yield f"LocalQueue {namespace}/{name}: {standing_of_door(door, seen.context.standings).why}"


def _unmade(seen: QueueView, namespace: str) -> Iterator[str]:
    """Jobs for which a Workload should be made, and is not yet."""
    owners = {owner.uid for draft in seen.context.drafts.values() if (owner := draft.before.metadata.controller)}
    for job in seen.context.jobs.values():
        meta = job.metadata
        is_over = job.ended is not None or meta.deletion_timestamp is not None or meta.uid in owners
        if not is_over and namespace in ("", meta.namespace):
            yield f"{meta.namespace}/{meta.name}"
