"""May a queue admit anybody, and if not, why? What only Kueue's webhooks would refuse is found here, too."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from growth.api.quantity import QuantityError, nano_value
from growth.api.queue.queues import ClusterQueue, LocalQueue
from growth.api.queue.quotas import ResourceFlavor, ResourceQuota

# As many as Kueue's webhook allows in one ClusterQueue, and of pairs in one resource group.
_MAX_NAMES: Final = 256
_MAX_PAIRS: Final = 512


class Standing(msgspec.Struct, frozen=True):
    """Whether it is at work: the condition Active, with its reason and sentence."""

    is_active: bool
    reason: str
    why: str


READY = Standing(is_active=True, reason="Ready", why="it can admit workloads")


def standing_of(queue: ClusterQueue, flavors: Mapping[str, ResourceFlavor]) -> Standing:
    """How a ClusterQueue stands."""
    if queue.metadata.deletion_timestamp is not None:
        return Standing(is_active=False, reason="Terminating", why="it is being deleted")
    if queue.spec.stop_policy != "None":
        return Standing(is_active=False, reason="Stopped", why=f"its stopPolicy is {queue.spec.stop_policy}")
    named = [flavor.name for group in queue.spec.resource_groups for flavor in group.flavors]
    missing = sorted({name for name in named if name not in flavors})
    if missing:
        why = f"there is no ResourceFlavor {', '.join(missing)}: create it, or take it out of the queue"
        return Standing(is_active=False, reason="FlavorNotFound", why=why)
    problem = next(_problems(queue, flavors), "")
    return Standing(is_active=False, reason="Misconfigured", why=problem) if problem else READY


def standing_of_door(door: LocalQueue, queues: Mapping[str, Standing]) -> Standing:
    """How a LocalQueue stands; ``queues`` are the ClusterQueues."""
    if door.spec.stop_policy != "None":
        return Standing(is_active=False, reason="Stopped", why=f"its stopPolicy is {door.spec.stop_policy}")
    name = door.spec.cluster_queue
    behind = queues.get(name)
    if behind is None:
        why = f"there is no ClusterQueue {name!r}: create it, or name another one in a new LocalQueue"
        return Standing(is_active=False, reason="ClusterQueueDoesNotExist", why=why)
    if not behind.is_active:
        why = f"ClusterQueue {name} admits nobody: {behind.why}"
        return Standing(is_active=False, reason="ClusterQueueIsInactive", why=why)
    return READY


def _problems(queue: ClusterQueue, known: Mapping[str, ResourceFlavor]) -> Iterator[str]:
    groups = queue.spec.resource_groups
    resources = Counter(resource for group in groups for resource in group.covered_resources)
    yield from (f"resource {name} is in {count} resource groups" for name, count in resources.items() if count > 1)
    flavors = Counter(flavor.name for group in groups for flavor in group.flavors)
    yield from (f"flavor {name} is named {count} times" for name, count in flavors.items() if count > 1)
    yield from _too_many(queue)
    for name in flavors:
        taints = Counter((taint.key, taint.effect) for taint in known[name].spec.node_taints)
        yield from (f"flavor {name} has the taint {key}:{effect} twice" for (key, effect), n in taints.items() if n > 1)
    for group in groups:
        for flavor in group.flavors:
            names = tuple(resource.name for resource in flavor.resources)
            if names != group.covered_resources:
                expected = ", ".join(group.covered_resources)
                yield f"flavor {flavor.name} has quota for {', '.join(names)}: expected {expected}, in this order"
            for resource in flavor.resources:
                yield from _bad_amounts(flavor.name, resource, queue.spec.cohort_name)


def _too_many(queue: ClusterQueue) -> Iterator[str]:
    groups = queue.spec.resource_groups
    for what, counts in (
        ("flavors", [len(group.flavors) for group in groups]),
        ("resources", [len(group.covered_resources) for group in groups]),
    ):
        if sum(counts) > _MAX_NAMES:
            yield f"it has {sum(counts)} {what}: expected {_MAX_NAMES} at most"
    for group in groups:
        pairs = len(group.flavors) * len(group.covered_resources)
        if pairs > _MAX_PAIRS:
            yield f"a resource group has {pairs} quotas: expected {_MAX_PAIRS} at most"


def _bad_amounts(flavor: str, resource: ResourceQuota, cohort: str) -> Iterator[str]:
    where = f"of {resource.name} in flavor {flavor}"
    amounts = {
        "nominalQuota": resource.nominal_quota,
        "borrowingLimit": resource.borrowing_limit,
        "lendingLimit": resource.lending_limit,
    }
    for field, written in amounts.items():
        if written is None:
            continue
        if not _is_quantity(written):
            yield f"{field} {where} is {written!r}: expected a quantity, such as 9, 1500m or 36Gi"
        elif nano_value(str(written)) < 0:
            yield f"{field} {where} is {written}: expected a quantity of at least 0"
    for field in ("borrowingLimit", "lendingLimit"):
        if amounts[field] is not None and not cohort:
            yield f"{field} {where} needs a cohort (cohortName)"
    lent, nominal = resource.lending_limit, resource.nominal_quota
    if (
        lent is not None
        and _is_quantity(lent)
        and _is_quantity(nominal)
        and nano_value(str(lent)) > nano_value(str(nominal))
    ):
        yield f"lendingLimit {where} is {lent}: expected no more than its nominalQuota, {nominal}"


def _is_quantity(written: int | str) -> bool:
    try:
        nano_value(str(written))
    except QuantityError:
        return False
    return True
