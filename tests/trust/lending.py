"""What queues may use of their own and of what others lend them, added up from what they say, from the leaves to the
root each time. Growth keeps running totals instead: two ways to the same number.

    has(member)   = its own quota and what its members lend to it
    lends(member) = as much of that as its lendingLimit allows
    takes(member) = what is used under it beyond what it keeps for itself

Who is admitted fits if, on its way up, everybody uses at most what it has and may borrow, and the root what it has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from growth.api.quantity import QuantityError, nano_value
from growth.api.queue.cluster_queues import ClusterQueue, Cohort
from growth.api.queue.quotas import ResourceGroup

Slot = tuple[str, str]
"""Flavor and resource."""
Used = Mapping[str, Mapping[Slot, int]]
"""By queue, in billionths."""


@dataclass(frozen=True)
class Share:
    """What a queue or a cohort says of one resource of one flavor, in billionths."""

    nominal: int = 0
    borrowing: int | None = None
    lending: int | None = None


_NOTHING = Share()


@dataclass(frozen=True)
class Party:
    """A queue or a cohort; ``cohort`` is the one that it belongs to, empty if there is none."""

    shares: Mapping[Slot, Share] = field(default_factory=dict[Slot, Share])
    cohort: str = ""


@dataclass(frozen=True)
class Parties:
    """All queues and cohorts, as they are at one instant."""

    queues: Mapping[str, Party] = field(default_factory=dict[str, Party])
    cohorts: Mapping[str, Party] = field(default_factory=dict[str, Party])

    def with_queue(self, queue: ClusterQueue, *, is_end: bool) -> "Parties":
        """The same after a queue has changed."""
        spec = queue.spec
        party = None if is_end else Party(_shares(spec.resource_groups), spec.cohort_name)
        return Parties(_put(self.queues, queue.metadata.name, party), self.cohorts)

    def with_cohort(self, cohort: Cohort, *, is_end: bool) -> "Parties":
        """The same after a cohort has changed."""
        spec = cohort.spec
        party = None if is_end else Party(_shares(spec.resource_groups), spec.parent_name)
        return Parties(self.queues, _put(self.cohorts, cohort.metadata.name, party))

    def beyond(self, queue: str, used: Used) -> str:
        """What is used on the way up from a queue that is more than there is, in words; empty if nothing is."""
        above = list[str]()
        name = self.queues[queue].cohort
        while name:
            if name in above:
                return f"something of cohorts that are in each other, {' and '.join(above)}"
            above.append(name)
            name = self._cohort(name).cohort
        return ", ".join(
            f"{uses / 10**9:g} {slot[1]} of {slot[0]}, which has {has / 10**9:g}{where}"
            for slot in sorted(used[queue])
            for uses, has, where in self._levels(queue, above, slot, used)
            if uses > has
        )

    def _levels(self, queue: str, above: Sequence[str], slot: Slot, used: Used) -> list[tuple[int, int, str]]:
        """What is used and what there is, in the queue and in each cohort above it."""
        own = self.queues[queue].shares.get(slot, _NOTHING)
        found = [(used[queue].get(slot, 0), own.nominal, own.borrowing, "" if not above else f" in {queue}")]
        for name in above:
            share = self._cohort(name).shares.get(slot, _NOTHING)
            found.append((self._uses(name, slot, used), self._has(name, slot), share.borrowing, f" in cohort {name}"))
        *bounded, (uses, has, _, where) = found
        limited = [(uses, has + most, where) for uses, has, most, where in bounded if most is not None]
        return [*limited, (uses, has, where)]

    def _cohort(self, name: str) -> Party:
        """One that is only named has nothing of its own, and no parent."""
        return self.cohorts.get(name, Party())

    def _has(self, cohort: str, slot: Slot) -> int:
        queues = [one.shares.get(slot, _NOTHING) for one in self.queues.values() if one.cohort == cohort]
        lent = sum(_lends(share.nominal, share) for share in queues)
        lent += sum(self._cohort_lends(name, slot) for name, one in self.cohorts.items() if one.cohort == cohort)
        return self._cohort(cohort).shares.get(slot, _NOTHING).nominal + lent

    def _cohort_lends(self, cohort: str, slot: Slot) -> int:
        return _lends(self._has(cohort, slot), self._cohort(cohort).shares.get(slot, _NOTHING))

    def _uses(self, cohort: str, slot: Slot, used: Used) -> int:
        """What is used under a cohort beyond what its members keep for themselves."""
        taken = 0
        for name, one in self.queues.items():
            if one.cohort == cohort:
                share = one.shares.get(slot, _NOTHING)
                kept = share.nominal - _lends(share.nominal, share)
                taken += max(0, used.get(name, {}).get(slot, 0) - kept)
        for name, one in self.cohorts.items():
            if one.cohort == cohort:
                kept = self._has(name, slot) - self._cohort_lends(name, slot)
                taken += max(0, self._uses(name, slot, used) - kept)
        return taken


def amount_of(written: int | str) -> int:
    """In billionths; nothing, if somebody wrote what is no quantity."""
    try:
        return nano_value(str(written))
    except QuantityError:
        return 0


def _lends(has: int, share: Share) -> int:
    return has if share.lending is None else min(has, share.lending)


def _put(parties: Mapping[str, Party], name: str, party: Party | None) -> dict[str, Party]:
    others = {one: parties[one] for one in parties if one != name}
    return others if party is None else {**others, name: party}


def _shares(groups: Sequence[ResourceGroup]) -> dict[Slot, Share]:
    return {
        (flavor.name, resource.name): Share(
            amount_of(resource.nominal_quota), _limit(resource.borrowing_limit), _limit(resource.lending_limit)
        )
        for group in groups
        for flavor in group.flavors
        for resource in flavor.resources
    }


def _limit(written: int | str | None) -> int | None:
    return None if written is None else amount_of(written)
