"""What is used, borrowed and lent of each quota: of queues, and of the cohorts in which they are. Pure."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from growth.api.queue.cluster_queues import ClusterQueue
from growth.api.queue.kinds import COHORTS
from growth.cli.queue_offers import borrowed_by, lent_in
from growth.cli.queue_reader import QueueView
from growth.decide.queue.quota_tree import QuotaNode, Slot


class QuotaShare(msgspec.Struct, frozen=True):
    """How much of one resource of one flavor; thousandths of cpu, whole units of everything else."""

    flavor: str
    resource: str
    used: int
    nominal: int
    """What is the queue's own."""
    borrowed: int
    """So much of what is used is not."""
    capacity: int
    """What it could have at most, with all that its cohort lends."""
    lent: int = 0
    """So much of its own others use."""
    closed: str = ""
    """Why nobody is admitted on this flavor, such as because its machines cannot be had; empty if somebody may be."""


class CohortView(msgspec.Struct, frozen=True):
    """A cohort above one of the queues that are shown."""

    name: str
    path: tuple[str, ...]
    """From the highest cohort down to this one."""
    shares: tuple[QuotaShare, ...] = ()
    """The quota that it has itself."""
    trouble: str = ""
    """Why nobody in it is admitted, if its parents are in a circle."""


class LentQuota:
    """Who lends how much; each tree is looked at once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Slot], Mapping[int, int]] = {}

    def by(self, member: QuotaNode, slot: Slot) -> int:
        """So much of its own others use."""
        at = (id(member.root), slot)
        if at not in self._known:
            self._known[at] = lent_in(member.root, slot)
        return self._known[at].get(id(member), 0)


def shares_of(seen: QueueView, queue: ClusterQueue, lent: LentQuota) -> Iterator[QuotaShare]:
    """What is used of a queue's quota."""
    member = seen.context.members[queue.metadata.name]
    for slot, quota in member.quotas.items():
        yield QuotaShare(
            *slot,
            used=member.used(slot),
            nominal=quota.nominal,
            borrowed=borrowed_by(member, slot),
            capacity=member.capacity(slot),
            lent=lent.by(member, slot),
            closed=seen.closed.get(slot[0], ""),
        )


def path_of(seen: QueueView, queue: ClusterQueue) -> tuple[str, ...]:
    """The cohorts above a queue, from the highest down."""
    return tuple(one.name for one in reversed(seen.context.members[queue.metadata.name].path[1:]))


def branch(path: Iterable[str], queue: str = "") -> list[tuple[bool, str]]:
    """Where a queue or a cohort stands in the tree: below each cohort first its queues, then the cohorts in it."""
    return [*((True, name) for name in path), *([(False, queue)] if queue else [])]


def cohorts_of(seen: QueueView, queues: Iterable[ClusterQueue], lent: LentQuota) -> list[CohortView]:
    """All cohorts above these queues, and those beside them that have quota to lend."""
    queue_members = {id(member) for member in seen.context.members.values()}
    found: dict[int, QuotaNode] = {}
    for queue in queues:
        member = seen.context.members[queue.metadata.name]
        found |= {id(one): one for one in member.path[1:]}
        if id(member.root) not in queue_members:
            lenders = [one for one in _below(member.root) if one.quotas and id(one) not in queue_members]
            found |= {id(above): above for one in lenders for above in one.path}
    told = [_cohort(seen, member, lent) for member in found.values()]
    return sorted(told, key=lambda one: branch(one.path))


def _below(member: QuotaNode) -> Iterator[QuotaNode]:
    for child in member.children:
        yield child
        yield from _below(child)


def _cohort(seen: QueueView, member: QuotaNode, lent: LentQuota) -> CohortView:
    path = tuple(one.name for one in reversed(member.path))
    shares = tuple(_own(member, slot, lent) for slot in member.quotas)
    return CohortView(member.name, path, shares, _circle(seen, member.name))


def _own(member: QuotaNode, slot: Slot, lent: LentQuota) -> QuotaShare:
    """Nobody runs in a cohort: what is used of its own quota is lent to its queues."""
    nominal = member.nominal(slot)
    return QuotaShare(*slot, used=0, nominal=nominal, borrowed=0, capacity=nominal, lent=lent.by(member, slot))


def _circle(seen: QueueView, name: str) -> str:
    cohorts, path = seen.context.snapshot.table(COHORTS), list[str]()
    while name and name not in path:
        path.append(name)
        found = cohorts.get(("", name))
        name = found.spec.parent_name if found is not None else ""
    return f"in a circle: {' in '.join([*path[path.index(name) :], name])}" if name else ""
