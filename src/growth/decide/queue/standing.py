"""May a queue admit anybody, and if not, why? What only Kueue's webhooks would refuse is found here, too.

What cannot be read is not taken for absent: a queue that depends on it admits nobody until it can be.
"""

from collections.abc import Mapping, Sequence

import msgspec

from growth.api.queue.cluster_queues import ClusterQueue, Cohort, LocalQueue
from growth.api.queue.quotas import ResourceFlavor, ResourceGroup
from growth.decide.queue.rules import Above, problems_of


class Standing(msgspec.Struct, frozen=True):
    """Whether it is at work: the condition Active, with its reason and sentence."""

    is_active: bool
    reason: str
    why: str


class Unread(msgspec.Struct, frozen=True):
    """Sentences about what is there and cannot be read, by name."""

    queues: Mapping[str, str] = {}
    flavors: Mapping[str, str] = {}
    cohorts: Mapping[str, str] = {}
    holders: Mapping[str, str] = {}
    """By ClusterQueue, about a workload that holds some of its quota: how much, nobody knows."""


READY = Standing(is_active=True, reason="Ready", why="it can admit workloads")
_NOTHING = Unread()


def standing_of(
    queue: ClusterQueue,
    flavors: Mapping[str, ResourceFlavor],
    cohorts: Mapping[str, Cohort] | None = None,
    unread: Unread = _NOTHING,
) -> Standing:
    """How a ClusterQueue stands."""
    if queue.metadata.deletion_timestamp is not None:
        return Standing(is_active=False, reason="Terminating", why="it is being deleted")
    if queue.spec.stop_policy != "None":
        return Standing(is_active=False, reason="Stopped", why=f"its stopPolicy is {queue.spec.stop_policy}")
    named = _flavors_in(queue.spec.resource_groups)
    missing = sorted(name for name in named if name not in flavors and name not in unread.flavors)
    if missing:
        why = f"there is no ResourceFlavor {', '.join(missing)}: create it, or take it out of the queue"
        return Standing(is_active=False, reason="FlavorNotFound", why=why)
    problem = _problem(queue, named, flavors, cohorts or {}, unread)
    return _misconfigured(problem) if problem else READY


def standings_of(
    queues: Mapping[str, ClusterQueue],
    flavors: Mapping[str, ResourceFlavor],
    cohorts: Mapping[str, Cohort],
    unread: Unread = _NOTHING,
) -> dict[str, Standing]:
    """How all ClusterQueues stand, also those that cannot be read."""
    strangers = {name: _misconfigured(sentence) for name, sentence in unread.queues.items()}
    return strangers | {name: standing_of(queue, flavors, cohorts, unread) for name, queue in queues.items()}


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


def problem_of_cohort(name: str, cohorts: Mapping[str, Cohort], flavors: Mapping[str, ResourceFlavor]) -> str:
    """What is wrong with a cohort by itself; empty if nothing is. One that is only named has nothing of its own."""
    cohort = cohorts.get(name)
    if cohort is None:
        return ""
    above = Above(cohort.spec.parent_name, "parentName")
    return next(problems_of(cohort.spec.resource_groups, flavors, above), "")


def _problem(
    queue: ClusterQueue,
    named: Sequence[str],
    flavors: Mapping[str, ResourceFlavor],
    cohorts: Mapping[str, Cohort],
    unread: Unread,
) -> str:
    for name in named:
        if name in unread.flavors:
            return unread.flavors[name]
    if queue.metadata.name in unread.holders:
        return unread.holders[queue.metadata.name]
    above = Above(queue.spec.cohort_name, "cohortName", is_lending_bound=True)
    own = next(problems_of(queue.spec.resource_groups, flavors, above), "")
    return own or _problem_above(queue.spec.cohort_name, cohorts, flavors, unread)


def _problem_above(
    name: str, cohorts: Mapping[str, Cohort], flavors: Mapping[str, ResourceFlavor], unread: Unread
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


def _misconfigured(why: str) -> Standing:
    return Standing(is_active=False, reason="Misconfigured", why=why)
