"""What people see on the queues: how full they are, who waits, and whether they are at work."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from growth.api.actions import PatchObject, held_and_reported
from growth.api.kinds import Kind
from growth.api.queue.cluster_queues import (
    ACTIVE,
    MAY_BLOCK,
    SHORT,
    ClusterQueue,
    ClusterQueueStatus,
    FlavorUsage,
    LocalQueue,
    LocalQueueStatus,
    ResourceUsage,
)
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES
from growth.api.references import reference_to
from growth.api.status import StatusCondition, condition_of
from growth.decide.queue.cluster_queue_status import ClusterQueueCheck, standing_of_door
from growth.decide.queue.context import QueueContext
from growth.decide.queue.flavor_assignment import OUT_OF_STOCK
from growth.decide.queue.quota_holders import Key
from growth.decide.queue.quota_tree import QuotaNode, Slot
from growth.decide.queue.status_write_budget import BudgetSpending, StatusWriteBudget
from growth.decide.queue.usage_counts import UsageTally
from growth.decide.queue.usage_figures import QueueFigures
from growth.decide.queue.workload_patch import saying
from growth.observe.pod_requests import as_quantity


class QueueReports(msgspec.Struct, frozen=True):
    """What was told of queues, and how much more may be."""

    figures: Mapping[str, QueueFigures] = {}
    seen: Mapping[Key, object] = {}
    """Queues as they were seen when there was nothing to write on them."""
    budget: StatusWriteBudget = StatusWriteBudget(per_second=20, most=100, left=100)
    again_at: datetime | None = None
    standings: Mapping[str, ClusterQueueCheck] = {}


def report(context: QueueContext, before: QueueReports) -> QueueReports:
    """Write on each queue what has changed about it."""
    spending, changed = before.budget.opened(context.now), context.backlog.changed
    # Both are worked out anew, with all else, when a flavor closes or opens.
    is_as_it_was = context.backlog.is_reported and before.standings == context.standings
    known_queues: Mapping[Key, object] = before.seen if is_as_it_was else {}
    figures, seen = dict[str, QueueFigures](), dict[Key, object]()
    context.backlog.changed, context.backlog.is_reported = set(), True
    for name, queue in sorted(context.queues.items()):
        key, known = ("", name), before.figures.get(name)
        if why := _shortage(context, queue):
            subject = reference_to(CLUSTER_QUEUES, queue.metadata)
            context.said += held_and_reported(subject, reason=OUT_OF_STOCK, why=why, action="Queueing")
        if known is not None and known_queues.get(key) is queue and key not in changed:
            figures[name], seen[key] = known, queue
            continue
        figures[name] = _figures(context, queue)
        if _write(context, CLUSTER_QUEUES, queue, _queue_status(context, queue), spending):
            seen[key] = queue
    for key, local_queue in sorted(context.clients.items()):
        is_reported = known_queues.get(key) is local_queue and key not in changed
        if is_reported or _write(context, LOCAL_QUEUES, local_queue, _door_status(context, key, local_queue), spending):
            seen[key] = local_queue
    return QueueReports(figures, seen, spending.closed(), spending.again_at, context.standings)


def _slots(queue: ClusterQueue) -> list[Slot]:
    groups = queue.spec.resource_groups
    return [(flavor.name, one.name) for group in groups for flavor in group.flavors for one in flavor.resources]


def _figures(context: QueueContext, queue: ClusterQueue) -> QueueFigures:
    tally, member = _tally(context, queue), context.members[queue.metadata.name]
    slots = _slots(queue)
    return QueueFigures(
        tally.active,
        tally.inadmissible,
        tally.reserving,
        tally.admitted,
        {slot: tally.reserved.get(slot, 0) for slot in slots},
        {slot: member.quotas[slot].nominal for slot in slots},
    )


def _queue_status(context: QueueContext, queue: ClusterQueue) -> ClusterQueueStatus:
    tally, member = _tally(context, queue), context.members[queue.metadata.name]
    slots = _slots(queue)
    standing = context.standings[queue.metadata.name]
    return ClusterQueueStatus(
        _usage(slots, tally.reserved, _borrowed(member, tally.reserved)),
        _usage(slots, tally.used, _borrowed(member, tally.used)),
        tally.waiting,
        tally.reserving,
        tally.admitted,
        conditions=_stocked(
            context, queue, _warned(context, queue, _conditions(context, queue.status.conditions, standing))
        ),
    )


def _tally(context: QueueContext, queue: ClusterQueue) -> UsageTally:
    return context.backlog.queue_tallies.get(queue.metadata.name, UsageTally())


def _borrowed(member: QuotaNode, used: Mapping[Slot, int]) -> dict[Slot, int]:
    """What of it is not the queue's own. What somebody waits for is not used yet, though nobody else gets it."""
    return {slot: max(0, amount - member.nominal(slot)) for slot, amount in used.items()}


def _door_status(context: QueueContext, key: Key, local_queue: LocalQueue) -> LocalQueueStatus:
    tally = context.backlog.local_queue_tallies.get(key, UsageTally())
    return LocalQueueStatus(
        _usage(sorted(tally.reserved), tally.reserved, {}),
        _usage(sorted(tally.used), tally.used, {}),
        tally.waiting,
        tally.reserving,
        tally.admitted,
        conditions=_conditions(
            context, local_queue.status.conditions, standing_of_door(local_queue, context.standings)
        ),
    )


def _usage(slots: list[Slot], used: Mapping[Slot, int], borrowed: dict[Slot, int]) -> tuple[FlavorUsage, ...]:
    flavors = dict.fromkeys(flavor for flavor, _ in slots)
    return tuple(
        FlavorUsage(
            flavor,
            tuple(
                ResourceUsage(
                    resource,
                    as_quantity(resource, used.get((flavor, resource), 0)),
                    as_quantity(resource, borrowed.get((flavor, resource), 0)),
                )
                for known, resource in slots
                if known == flavor
            ),
        )
        for flavor in flavors
    )


def _conditions(
    context: QueueContext, known: tuple[StatusCondition, ...], standing: ClusterQueueCheck
) -> tuple[StatusCondition, ...]:
    status = "True" if standing.is_active else "False"
    return _saying(context, known, StatusCondition(ACTIVE, status, standing.reason, standing.why))


def _saying(
    context: QueueContext, known: tuple[StatusCondition, ...], new: StatusCondition
) -> tuple[StatusCondition, ...]:
    """With this statement; since when it holds is kept."""
    before = condition_of(known, new.type)
    since = before.last_transition_time if before is not None and before.status == new.status else context.now
    return saying(known, msgspec.structs.replace(new, last_transition_time=since))


def _warned(
    context: QueueContext, queue: ClusterQueue, known: tuple[StatusCondition, ...]
) -> tuple[StatusCondition, ...]:
    """With a warning if whoever cannot start comes back to the front, and holds up all others there."""
    is_strict = queue.spec.queueing_strategy == "StrictFIFO" and context.terms.requeuing.timestamp == "Creation"
    if not is_strict or context.terms.readiness is None:
        return tuple(one for one in known if one.type != MAY_BLOCK)
    why = (
        "a workload whose pods never get ready returns to the front of this StrictFIFO queue again and again "
        "(requeuingStrategy.timestamp Creation): use BestEffortFIFO, or the timestamp Eviction"
    )
    return _saying(context, known, StatusCondition(MAY_BLOCK, "True", "StrictFIFOWithCreation", why))


def _stocked(
    context: QueueContext, queue: ClusterQueue, known: tuple[StatusCondition, ...]
) -> tuple[StatusCondition, ...]:
    """With a statement if machines of some of its flavors cannot be had."""
    why = _shortage(context, queue)
    if not why:
        return tuple(one for one in known if one.type != SHORT)
    return _saying(context, known, StatusCondition(SHORT, "True", OUT_OF_STOCK, why))


def _shortage(context: QueueContext, queue: ClusterQueue) -> str:
    closed = context.closed
    if not closed:
        return ""
    flavors = dict.fromkeys(flavor for flavor, _ in _slots(queue) if flavor in closed)
    return "; ".join(f"flavor {flavor}: {closed[flavor]}" for flavor in flavors)


def _write(
    context: QueueContext,
    kind: Kind[Any],
    queue: ClusterQueue | LocalQueue,
    status: msgspec.Struct,
    spending: BudgetSpending,
) -> bool:
    """Write its status if there is something new, and that can be paid for; whether there is nothing new."""
    meta = queue.metadata
    if status == queue.status:
        return True
    if spending.pays((kind.plural, meta.namespace, meta.name), meta.resource_version):
        context.said.append(
            PatchObject(
                subject=reference_to(kind, meta),
                why="who waits, and what is used, has changed",
                body={"status": msgspec.to_builtins(status)},
                subresource="status",
                resource_version=meta.resource_version,
            )
        )
    return False
