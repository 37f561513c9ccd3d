"""What is used, borrowed and lent of each quota: of queues, and of the cohorts in which they are. Pure."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from growth.api.queue.kinds import COHORTS
from growth.api.queue.queues import ClusterQueue
from growth.cli.queue_lending import borrowed_by, lent_in
from growth.cli.queue_seeing import Seen
from growth.decide.queue.tree import Member, Slot


class Share(msgspec.Struct, frozen=True):
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


class CohortSeen(msgspec.Struct, frozen=True):
    """A cohort above one of the queues that are shown."""

    name: str
    path: tuple[str, ...]
    """From the highest cohort down to this one."""
    shares: tuple[Share, ...] = ()
    """The quota that it has itself."""
    trouble: str = ""
    """Why nobody in it is admitted, if its parents are in a circle."""


class Lent:
    """Who lends how much; each tree is looked at once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Slot], Mapping[int, int]] = {}

    def by(self, member: Member, slot: Slot) -> int:
        """So much of its own others use."""
        at = (id(member.root), slot)
        if at not in self._known:
            self._known[at] = lent_in(member.root, slot)
        return self._known[at].get(id(member), 0)


def shares_of(seen: Seen, queue: ClusterQueue, lent: Lent) -> Iterator[Share]:
    """What is used of a queue's quota."""
    member = seen.scene.members[queue.metadata.name]
    for slot, quota in member.quotas.items():
        yield Share(
            *slot,
            used=member.used(slot),
            nominal=quota.nominal,
            borrowed=borrowed_by(member, slot),
            capacity=member.capacity(slot),
            lent=lent.by(member, slot),
            closed=seen.closed.get(slot[0], ""),
        )


def path_of(seen: Seen, queue: ClusterQueue) -> tuple[str, ...]:
    """The cohorts above a queue, from the highest down."""
    return tuple(one.name for one in reversed(seen.scene.members[queue.metadata.name].path[1:]))


def cohorts_above(seen: Seen, queues: Iterable[ClusterQueue], lent: Lent) -> Iterator[CohortSeen]:
    """Each once, in the order in which they are come across."""
    told: set[int] = set()
    for queue in queues:
        above = seen.scene.members[queue.metadata.name].path[1:]
        for depth, member in enumerate(reversed(above), 1):
            if id(member) not in told:
                told.add(id(member))
                path = tuple(one.name for one in reversed(above))[:depth]
                shares = tuple(_own(member, slot, lent) for slot in member.quotas)
                yield CohortSeen(member.name, path, shares, _circle(seen, member.name))


def _own(member: Member, slot: Slot, lent: Lent) -> Share:
    """Nobody runs in a cohort: what is used of its own quota is lent to its queues."""
    nominal = member.nominal(slot)
    return Share(*slot, used=0, nominal=nominal, borrowed=0, capacity=nominal, lent=lent.by(member, slot))


def _circle(seen: Seen, name: str) -> str:
    cohorts, path = seen.scene.snapshot.table(COHORTS), list[str]()
    while name and name not in path:
        path.append(name)
        found = cohorts.get(("", name))
        name = found.spec.parent_name if found is not None else ""
    return f"in a circle: {' in '.join([*path[path.index(name) :], name])}" if name else ""
