"""Whose quota is it that somebody borrows? Nobody writes that down: a cohort's quota is one heap.

So it is shared out: what is borrowed is first of the quota that the cohort itself has, then of those members that have
some left, in proportion to it, the nearest cohort first. So all that is borrowed is lent by somebody, and no more.

Pure.

What stands between a workload and quota that its cohort has: limits on borrowing and on lending. Pure.

What a workload asks for against what each flavor has left, and what would have to change. Pure.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Literal

import msgspec

from growth.api.quantity import QuantityError
from growth.api.queue.cluster_queues import ClusterQueue
from growth.api.queue.workload import Workload
from growth.cli.formatting import amount, amounts
from growth.cli.memory_list import named
from growth.cli.queue_entry import WorkloadPhase, WorkloadRow
from growth.cli.queue_failures import failure
from growth.cli.queue_reader import QueueView, title_of
from growth.decide.queue.cluster_queue_status import standing_of
from growth.decide.queue.context import Key
from growth.decide.queue.failed_flavors import FailedFlavors, failures_of, supplies_seen_by
from growth.decide.queue.flavor_assignment import PodSetNeeds, assign, needs_of
from growth.decide.queue.quota_holders import QuotaHolder
from growth.decide.queue.quota_tree import ENDLESS, QuotaNode, Slot


class _Balance(msgspec.Struct, frozen=True):
    """What a member with all below it lacks, or could lend to others; and what it settles among its own."""

    member: QuotaNode
    below: "tuple[_Balance, ...]"
    lacks: int
    spare: int
    settled: int


def borrowed_by(member: QuotaNode, slot: Slot) -> int:
    """How much of what a queue uses is not its own. Without a cohort nobody lends: then it is simply too much, as after
    its quota was lowered."""
    return max(0, member.used(slot) - member.nominal(slot)) if member.parent is not None else 0


def lent_in(root: QuotaNode, slot: Slot) -> dict[int, int]:
    """How much of its own each member of a tree lends, by ``id``; those that lend nothing are left out."""
    balance = _balance(root, slot)
    return {id(member): amount for member, amount in _shared_out(balance, slot, 0) if amount}


def _balance(member: QuotaNode, slot: Slot) -> _Balance:
    limit = member.quotas[slot].lending_limit if slot in member.quotas else None
    most = ENDLESS if limit is None else limit
    if not member.children:
        left = member.nominal(slot) - member.used(slot)
        return _Balance(member, (), max(0, -left), max(0, min(most, left)), 0)
    below = tuple(_balance(child, slot) for child in member.children)
    lacks = sum(one.lacks for one in below)
    spare = member.nominal(slot) + sum(one.spare for one in below)
    settled = min(lacks, spare)
    return _Balance(member, below, lacks - settled, min(most, spare - settled), settled)


def _shared_out(balance: _Balance, slot: Slot, asked: int) -> Iterator[tuple[QuotaNode, int]]:
    """Who lends what is asked for from outside, and what is borrowed inside."""
    if not balance.below:
        yield balance.member, asked
        return
    total = asked + balance.settled
    own = min(total, balance.member.nominal(slot))
    yield balance.member, own
    parts = _in_proportion(total - own, [one.spare for one in balance.below])
    for one, part in zip(balance.below, parts, strict=True):
        yield from _shared_out(one, slot, part)


def _in_proportion(total: int, weights: Sequence[int]) -> list[int]:
    """Whole numbers with this sum, none above its weight as long as the sum of all is not."""
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    marks = [total * weight // whole for weight in accumulate(weights, initial=0)]
    return [after - before for before, after in pairwise(marks)]


class QuotaLimit(msgspec.Struct, frozen=True):
    """One that somebody could raise."""

    of: str
    """The queue or cohort that has it."""
    field: Literal["borrowingLimit", "lendingLimit"]
    words: str


def limits_on(member: QuotaNode, slot: Slot) -> Iterator[QuotaLimit]:
    """Why a queue cannot have more of this now, although somebody of its cohort may have some.

    If it may borrow no more, that alone is told: until that is raised, nothing else would help.
    """
    for one in member.path:
        limit = one.quotas[slot].borrowing_limit if slot in one.quotas else None
        if limit is None or one.parent is None or one.available(slot) >= one.parent.available(slot):
            continue
        if one is member:
            has = amount(slot[1], borrowed_by(member, slot))
            words = f"it may borrow {amount(slot[1], limit)} at most (borrowingLimit), and has borrowed {has}"
        else:
            words = f"cohort {one.name} may borrow {amount(slot[1], limit)} at most (borrowingLimit)"
        yield QuotaLimit(one.name, "borrowingLimit", words)
        return
    path = member.path
    beside = [other for one in path[1:] for other in _below(one) if other not in path]
    for one in dict.fromkeys(beside):
        # What is left of what it does not lend.
        kept = one.kept(slot)
        if kept > 0:
            words = f"{one.name} keeps {amount(slot[1], kept)} to itself (lendingLimit)"
            yield QuotaLimit(one.name, "lendingLimit", words)


def _below(member: QuotaNode) -> Iterator[QuotaNode]:
    for child in member.children:
        yield child
        yield from _below(child)


_SHOWN_HOLDERS = 3


class FlavorOffer(msgspec.Struct, frozen=True):
    """What one flavor has for the pods of one pod set; thousandths of cpu, whole units of everything else."""

    pod_set: str
    flavor: str
    asked: dict[str, int]
    left: dict[str, int]
    at_most: dict[str, int]
    """So much there could be, if nobody used any."""
    why: str
    """Why this flavor does not serve these pods; empty if it does."""
    limits: dict[str, tuple[QuotaLimit, ...]] = {}
    """By resource that is short, what keeps it from what others of its cohort have."""
    failed: str = ""
    """Why it could not start on this flavor, if it was tried."""
    is_closed: bool = False
    """Whether its machines cannot be had now."""
    is_unplaced: bool = False
    """Whether a plan had no place there for all of its pods."""

    @property
    def lacks(self) -> dict[str, int]:
        """How much more of what would be needed."""
        return {name: asked - self.left[name] for name, asked in self.asked.items() if asked > self.left[name]}

    @property
    def is_too_small(self) -> bool:
        """Whether it would not do if nobody used any of it."""
        return any(asked > self.at_most[name] for name, asked in self.asked.items())


def offers_for(seen: QueueView, workload: Workload) -> Iterator[FlavorOffer]:
    """Each flavor is asked alone, by the function that admits: so its own reason is told, and no other's."""
    queue = seen.context.queue_of(workload)
    if queue is None:
        return
    member = seen.context.members[queue.metadata.name]
    refused = frozenset(supplies_seen_by(workload))
    for needs in _needs(seen, workload):
        for group in queue.spec.resource_groups:
            asked = {name: needs.amounts[name] for name in group.covered_resources if name in needs.amounts}
            only = msgspec.structs.replace(needs, amounts=asked)
            for flavor in group.flavors if asked else ():
                alone = msgspec.structs.replace(group, flavors=(flavor,))
                found = assign(
                    *(_with(queue, alone), member, seen.context.flavors, [only]),
                    closed=seen.closed,
                    tried=FailedFlavors(refused=refused),
                )
                left = {name: max(0, member.available((flavor.name, name))) for name in asked}
                yield FlavorOffer(
                    pod_set=needs.name,
                    flavor=flavor.name,
                    asked=asked,
                    left=left,
                    at_most={name: member.capacity((flavor.name, name)) for name in asked},
                    why=found.why.removeprefix(f"{needs.name}: "),
                    limits={
                        name: tuple(limits_on(member, (flavor.name, name)))
                        for name, wanted in asked.items()
                        if wanted > left[name]
                    },
                    is_closed=flavor.name in seen.closed,
                    is_unplaced=flavor.name in refused,
                    failed=failure(failures_of(workload).get(flavor.name, "")),
                )


def _needs(seen: QueueView, workload: Workload) -> tuple[PodSetNeeds, ...]:
    try:
        return needs_of(workload, seen.context.filling)
    except (QuantityError, msgspec.ValidationError):
        return ()


def _with(queue: ClusterQueue, *groups: object) -> ClusterQueue:
    spec = msgspec.structs.replace(queue.spec, resource_groups=groups)
    return msgspec.structs.replace(queue, spec=spec)


def holders_of(seen: QueueView, key: Key, offers: Iterable[FlavorOffer]) -> Iterator[str]:
    """By flavor, who of its ClusterQueue, or of its cohort, holds most of what is short."""
    queue = seen.context.queue_of(seen.context.drafts[key].before)
    if queue is None:
        return
    root = seen.context.members[queue.metadata.name].root
    holders = [
        holder
        for name, there in seen.context.holders.items()
        if name in seen.context.members and seen.context.members[name].root is root
        for holder in there.values()
    ]
    for offer in {one.flavor: one for one in offers if one.lacks and not one.is_too_small}.values():
        # Where its own queue may borrow no more, only those help who are in it.
        is_bound = any(limit.of == queue.metadata.name for limits in offer.limits.values() for limit in limits)
        near = [one for one in holders if one.queue == queue.metadata.name or not is_bound]
        held = [(one, {name: one.usage.get((offer.flavor, name), 0) for name in offer.lacks}) for one in near]
        held.sort(key=lambda pair: (*(-value for value in pair[1].values()), pair[0].key))
        told = [
            f"{title_of(seen, one.key)} ({amounts(usage)}{_elsewhere(one, queue)})"
            for one, usage in held
            if any(usage.values())
        ]
        if told:
            yield f"flavor {offer.flavor}: {named(told, _SHOWN_HOLDERS)}"


def _elsewhere(holder: QuotaHolder, queue: ClusterQueue) -> str:
    return f", queue {holder.queue}" if holder.queue != queue.metadata.name else ""


def changes_for(
    seen: QueueView, workload: Workload, entry: WorkloadRow, offers: Iterable[FlavorOffer]
) -> Iterator[str]:
    """What a person could do; nothing where time does it."""
    if entry.standing is WorkloadPhase.INACTIVE:
        yield f"mend what kept it from starting, then: {entry.remedy}"
    if entry.standing is WorkloadPhase.HELD:
        yield from _openings(seen, workload)
    if entry.standing is not WorkloadPhase.QUEUED or (entry.namespace, entry.name) in seen.served or entry.waits_for:
        return
    queue = seen.context.queue_of(workload)
    covered = {one for group in queue.spec.resource_groups for one in group.covered_resources} if queue else set[str]()
    for resource in entry.asks:
        if resource not in covered:
            yield f"give ClusterQueue {entry.cluster_queue} quota for {resource}, or ask for none"
    for one in offers:
        if one.why:
            yield _change(one)
            yield from _loosened(seen, queue, one) if queue is not None else ()


def _change(offer: FlavorOffer) -> str:
    if offer.is_too_small:
        wanted = {name: asked for name, asked in offer.asked.items() if asked > offer.at_most[name]}
        most = amounts({name: offer.at_most[name] for name in wanted})
        told = f"flavor {offer.flavor} has {most} at most"
        return f"{told}: raise its nominalQuota to {amounts(wanted)}, or ask for less"
    if offer.lacks:
        missing = amounts(offer.lacks)
        return f"{missing} more of flavor {offer.flavor}: somebody who holds it ends, or its nominalQuota is raised"
    if offer.is_closed or offer.is_unplaced:
        return f"{offer.why}: Growth tries again by itself; another server type or location in the NodePool would help"
    return f"{offer.why}: change what its pods ask for, or the flavor"


def _loosened(seen: QueueView, queue: ClusterQueue, offer: FlavorOffer) -> Iterator[str]:
    """Which limits of its cohort could be less strict."""
    member, name = seen.context.members[queue.metadata.name], queue.metadata.name
    for resource, limits in offer.limits.items():
        slot, told = (offer.flavor, resource), f"of {resource}, flavor {offer.flavor}"
        for field in dict.fromkeys(one.field for one in limits):
            who = named([one.of for one in limits if one.field == field], _SHOWN_HOLDERS)
            yield f"raise the {field} {told}, in {who}"
        lent = lent_in(member.root, slot).get(id(member), 0)
        if lent and queue.spec.preemption.reclaim_within_cohort == "Never":
            told = f"others have borrowed {amount(resource, lent)} of it"
            yield f"{told}: with preemption.reclaimWithinCohort ClusterQueue {name} would take that back"


def _openings(seen: QueueView, workload: Workload) -> Iterator[str]:
    door, queue = seen.context.local_queue_of(workload), seen.context.queue_of(workload)
    patch = '--type merge -p \'{"spec":{"stopPolicy":"None"}}\''
    if door is not None and door.spec.stop_policy != "None":
        meta = door.metadata
        yield f"open its LocalQueue: kubectl -n {meta.namespace} patch localqueues {meta.name} {patch}"
    if queue is not None and queue.spec.stop_policy != "None":
        yield f"open its ClusterQueue: kubectl patch clusterqueues {queue.metadata.name} {patch}"
    elif queue is not None and not standing_of(queue, seen.context.flavors).is_active:
        yield f"mend ClusterQueue {queue.metadata.name}: {standing_of(queue, seen.context.flavors).why}"
    elif door is None:
        meta = workload.metadata
        yield f"create LocalQueue {workload.spec.queue_name} in namespace {meta.namespace}, or name another one"
