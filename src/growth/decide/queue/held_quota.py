"""How much quota a workload holds, as its status says."""

from datetime import datetime

import msgspec

from growth.api.quantity import QuantityError, nano_value
from growth.api.queue.workload import EVICTED, QUOTA_RESERVED, PodSetAssignment, Workload
from growth.decide.queue.flavor_assignment import needs_of
from growth.decide.queue.pending_queue import Strategy, queued_since
from growth.decide.queue.quota_holders import Key, QuotaHolder
from growth.decide.queue.quota_tree import Slot
from growth.observe.pod_requests import counted


def holder_of(key: Key, workload: Workload, strategy: Strategy, now: datetime) -> QuotaHolder | None:
    """Return what it holds; None if it holds nothing."""
    admission, reserved = workload.status.admission, workload.condition(QUOTA_RESERVED)
    if admission is None or not workload.is_reserving:
        return None
    since = reserved.last_transition_time if reserved is not None else None
    return QuotaHolder(
        key,
        workload.metadata.uid,
        admission.cluster_queue,
        workload.priority,
        queued_since(workload, strategy),
        since or workload.metadata.creation_timestamp or now,
        usage_of(workload),
        workload.holds(EVICTED),
    )


def unknown_usage_of(workload: Workload) -> tuple[str, str] | None:
    """Return the queue of whose quota it holds nobody knows how much, and a sentence about that."""
    admission = workload.status.admission
    if admission is None or not workload.is_reserving or is_usage_known(workload):
        return None
    name = f"Workload {workload.metadata.namespace}/{workload.metadata.name}"
    why = "holds quota of this queue, and nobody can read how much. Mend its status, or delete it"
    return admission.cluster_queue, f"{name} {why}"


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
