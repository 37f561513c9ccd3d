"""What is wrong with the quota of a ClusterQueue or of a Cohort, though the server took it.

Kueue refuses these by webhooks, because a definition cannot express them. We have none: whoever breaks one is told.

May a queue admit anybody, and if not, why? What only Kueue's webhooks would refuse is found here, too.

What cannot be read is not taken for absent: a queue that depends on it admits nobody until it can be.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from growth.api.quantity import QuantityError, nano_value
from growth.api.queue.cluster_queues import ClusterQueue, Cohort, LocalQueue
from growth.api.queue.quotas import ResourceFlavor, ResourceGroup, ResourceQuota

# As many as Kueue's webhook allows in one ClusterQueue, and of pairs in one resource group.
_MAX_NAMES: Final = 256
_MAX_PAIRS: Final = 512


class LendingPath(msgspec.Struct, frozen=True):
    """Where what is not used could be lent to, and how the field is called that says it."""

    name: str
    field: str
    is_lending_bound: bool = False
    """Whether nobody may lend more than its own: a Cohort lends what its members gave it, too."""


def problems_of(
    groups: Sequence[ResourceGroup], known: Mapping[str, ResourceFlavor], above: LendingPath
) -> Iterator[str]:
    """Each rule that is broken, as a sentence."""
    resources = Counter(resource for group in groups for resource in group.covered_resources)
    yield from (f"resource {name} is in {count} resource groups" for name, count in resources.items() if count > 1)
    flavors = Counter(flavor.name for group in groups for flavor in group.flavors)
    yield from (f"flavor {name} is named {count} times" for name, count in flavors.items() if count > 1)
    yield from _too_many(groups)
    for name in flavors:
        yield from _bad_taints(name, known.get(name))
    for group in groups:
        for flavor in group.flavors:
            names = tuple(resource.name for resource in flavor.resources)
            if names != group.covered_resources:
                expected = ", ".join(group.covered_resources)
                yield f"flavor {flavor.name} has quota for {', '.join(names)}: expected {expected}, in this order"
            for resource in flavor.resources:
                yield from _bad_amounts(flavor.name, resource, above)


def _bad_taints(name: str, flavor: ResourceFlavor | None) -> Iterator[str]:
    taints = Counter((taint.key, taint.effect) for taint in (flavor.spec.node_taints if flavor is not None else ()))
    yield from (f"flavor {name} has the taint {key}:{effect} twice" for (key, effect), n in taints.items() if n > 1)


def _too_many(groups: Sequence[ResourceGroup]) -> Iterator[str]:
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


def _bad_amounts(flavor: str, resource: ResourceQuota, above: LendingPath) -> Iterator[str]:
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
        if amounts[field] is not None and not above.name:
            yield f"{field} {where} needs a cohort ({above.field})"
    if above.is_lending_bound:
        yield from _too_much_lent(where, resource.lending_limit, resource.nominal_quota)


def _too_much_lent(where: str, lent: int | str | None, nominal: int | str) -> Iterator[str]:
    if lent is None or not _is_quantity(lent) or not _is_quantity(nominal):
        return
    if nano_value(str(lent)) > nano_value(str(nominal)):
        yield f"lendingLimit {where} is {lent}: expected no more than its nominalQuota, {nominal}"


def _is_quantity(written: int | str) -> bool:
    try:
        nano_value(str(written))
    except QuantityError:
        return False
    return True


class ClusterQueueCheck(msgspec.Struct, frozen=True):
    """Whether it is at work: the condition Active, with its reason and sentence."""

    is_active: bool
    reason: str
    why: str


class UnreadableQueues(msgspec.Struct, frozen=True):
    """Sentences about what is there and cannot be read, by name."""

    queues: Mapping[str, str] = {}
    flavors: Mapping[str, str] = {}
    cohorts: Mapping[str, str] = {}
    holders: Mapping[str, str] = {}
    """By ClusterQueue, about a workload that holds some of its quota: how much, nobody knows."""


READY = ClusterQueueCheck(is_active=True, reason="Ready", why="it can admit workloads")
_NOTHING = UnreadableQueues()


def standing_of(
    queue: ClusterQueue,
    flavors: Mapping[str, ResourceFlavor],
    cohorts: Mapping[str, Cohort] | None = None,
    unread: UnreadableQueues = _NOTHING,
) -> ClusterQueueCheck:
    """How a ClusterQueue stands."""
    if queue.metadata.deletion_timestamp is not None:
        return ClusterQueueCheck(is_active=False, reason="Terminating", why="it is being deleted")
    if queue.spec.stop_policy != "None":
        return ClusterQueueCheck(is_active=False, reason="Stopped", why=f"its stopPolicy is {queue.spec.stop_policy}")
    named = _flavors_in(queue.spec.resource_groups)
    missing = sorted(name for name in named if name not in flavors and name not in unread.flavors)
    if missing:
        why = f"there is no ResourceFlavor {', '.join(missing)}: create it, or take it out of the queue"
        return ClusterQueueCheck(is_active=False, reason="FlavorNotFound", why=why)
    problem = _problem(queue, named, flavors, cohorts or {}, unread)
    return _misconfigured(problem) if problem else READY


def standings_of(
    queues: Mapping[str, ClusterQueue],
    flavors: Mapping[str, ResourceFlavor],
    cohorts: Mapping[str, Cohort],
    unread: UnreadableQueues = _NOTHING,
) -> dict[str, ClusterQueueCheck]:
    """How all ClusterQueues stand, also those that cannot be read."""
    strangers = {name: _misconfigured(sentence) for name, sentence in unread.queues.items()}
    return strangers | {name: standing_of(queue, flavors, cohorts, unread) for name, queue in queues.items()}


def standing_of_door(local_queue: LocalQueue, queues: Mapping[str, ClusterQueueCheck]) -> ClusterQueueCheck:
    """How a LocalQueue stands; ``queues`` are the ClusterQueues."""
    if local_queue.spec.stop_policy != "None":
        return ClusterQueueCheck(
            is_active=False, reason="Stopped", why=f"its stopPolicy is {local_queue.spec.stop_policy}"
        )
    name = local_queue.spec.cluster_queue
    behind = queues.get(name)
    if behind is None:
        why = f"there is no ClusterQueue {name!r}: create it, or name another one in a new LocalQueue"
        return ClusterQueueCheck(is_active=False, reason="ClusterQueueDoesNotExist", why=why)
    if not behind.is_active:
        why = f"ClusterQueue {name} admits nobody: {behind.why}"
        return ClusterQueueCheck(is_active=False, reason="ClusterQueueIsInactive", why=why)
    return READY


def problem_of_cohort(name: str, cohorts: Mapping[str, Cohort], flavors: Mapping[str, ResourceFlavor]) -> str:
    """What is wrong with a cohort by itself; empty if nothing is. One that is only named has nothing of its own."""
    cohort = cohorts.get(name)
    if cohort is None:
        return ""
    above = LendingPath(cohort.spec.parent_name, "parentName")
    return next(problems_of(cohort.spec.resource_groups, flavors, above), "")


def _problem(
    queue: ClusterQueue,
    named: Sequence[str],
    flavors: Mapping[str, ResourceFlavor],
    cohorts: Mapping[str, Cohort],
    unread: UnreadableQueues,
) -> str:
    for name in named:
        if name in unread.flavors:
            return unread.flavors[name]
    if queue.metadata.name in unread.holders:
        return unread.holders[queue.metadata.name]
    above = LendingPath(queue.spec.cohort_name, "cohortName", is_lending_bound=True)
    own = next(problems_of(queue.spec.resource_groups, flavors, above), "")
    return own or _problem_above(queue.spec.cohort_name, cohorts, flavors, unread)


def _problem_above(
    name: str, cohorts: Mapping[str, Cohort], flavors: Mapping[str, ResourceFlavor], unread: UnreadableQueues
) -> str:
    """What is wrong with the cohorts above a queue: how much could be lent is known only if nothing is."""
    path: list[str] = []
    while name:
        if name in path:
            circle = " in ".join([*path[path.index(name) :], name])
            return f"its cohorts are in each other ({circle}): change one's parentName"
        path.append(name)
        if name in unread.cohorts:
            return unread.cohorts[name]
        problem = problem_of_cohort(name, cohorts, flavors)
        if problem:
            return f"Cohort {name}: {problem}"
        cohort = cohorts.get(name)
        name = cohort.spec.parent_name if cohort is not None else ""
    return ""


def _flavors_in(groups: Sequence[ResourceGroup]) -> list[str]:
    return list(dict.fromkeys(flavor.name for group in groups for flavor in group.flavors))


def _misconfigured(why: str) -> ClusterQueueCheck:
    return ClusterQueueCheck(is_active=False, reason="Misconfigured", why=why)
