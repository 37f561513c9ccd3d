"""How much is left for whom: quota as a tree of queues and cohorts.

Each member has quota of its own and may use what others of its tree do not. What it keeps for itself (all that it does
not lend) is *local*; what it uses beyond that is used of its parent.

    subtree(member)   = its own quota and what its members lend to it
    local(member)     = what it does not lend: 0 without a lendingLimit
    available(root)   = subtree - used
    available(member) = what is left of local, and the least of what its parent has left and what it may still borrow

A queue without a cohort is a root.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from growth.api.quantity import QuantityError, nano_value
from growth.api.queue.quotas import ResourceGroup
from growth.observe.pod_requests import counted

Slot = tuple[str, str]
"""A flavor and a resource."""

Amounts = Mapping[Slot, int]

ENDLESS: Final = 2**63 - 1


class Quota(msgspec.Struct, frozen=True):
    """What a member has of one resource of one flavor."""

    nominal: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None


class QuotaNode:
    """A queue or a cohort. ``parent`` is None for a root."""

    def __init__(self, name: str, quotas: Mapping[Slot, Quota], parent: "QuotaNode | None" = None) -> None:
        self.name, self.quotas, self.parent = name, quotas, parent
        self.children: list[QuotaNode] = []
        self.height = 0
        """How many cohorts are between it and its farthest queue."""
        self._subtree: dict[Slot, int] = {slot: quota.nominal for slot, quota in quotas.items()}
        self._used: dict[Slot, int] = {}
        if parent is not None:
            parent.adopt(self)
            for slot, amount in self._subtree.items():
                parent.add_lent(slot, amount - self._local(slot))

    def adopt(self, child: "QuotaNode") -> None:
        """It is one of ours."""
        self.children.append(child)
        member, height = self, child.height + 1
        while member is not None and member.height < height:
            member.height = height
            member, height = member.parent, height + 1

    @property
    def root(self) -> "QuotaNode":
        """The highest of its path."""
        member = self
        while member.parent is not None:
            member = member.parent
        return member

    @property
    def path(self) -> "list[QuotaNode]":
        """From itself up to the root."""
        return [self, *(self.parent.path if self.parent is not None else ())]

    def add_lent(self, slot: Slot, amount: int) -> None:
        """A member lends this to all: it is ours to give, and our parent's as far as we lend it on."""
        before = self._subtree.get(slot, 0) - self._local(slot)
        self._subtree[slot] = self._subtree.get(slot, 0) + amount
        after = self._subtree[slot] - self._local(slot)
        if self.parent is not None and after != before:
            self.parent.add_lent(slot, after - before)

    def use(self, slot: Slot, amount: int) -> None:
        """So much more is used, or less if it is negative."""
        before = max(0, self._used.get(slot, 0) - self._local(slot))
        self._used[slot] = self._used.get(slot, 0) + amount
        after = max(0, self._used[slot] - self._local(slot))
        if self.parent is not None and after != before:
            self.parent.use(slot, after - before)

    def use_all(self, amounts: Amounts, sign: int = 1) -> None:
        """The same for several; with ``sign`` -1 they are given back."""
        for slot, amount in amounts.items():
            self.use(slot, sign * amount)

    def used(self, slot: Slot) -> int:
        """How much is used here."""
        return self._used.get(slot, 0)

    def nominal(self, slot: Slot) -> int:
        """How much is its own, whatever its members have."""
        quota = self.quotas.get(slot)
        return quota.nominal if quota is not None else 0

    def is_within_its_own(self, slots: Iterable[Slot]) -> bool:
        """Whether it, with all its members, uses nothing that others lend it."""
        used, subtree = self._used, self._subtree
        # A loop, here and below: these are asked for each queue of a cohort, for each who waits in one of them.
        for slot in slots:  # noqa: SIM110
            if used.get(slot, 0) > subtree.get(slot, 0):
                return False
        return True

    def holds_as_its_own(self, amounts: Amounts) -> bool:
        """Whether it could use so much more without anything that others lend it."""
        used, subtree = self._used, self._subtree
        for slot, amount in amounts.items():  # noqa: SIM110
            if used.get(slot, 0) + amount > subtree.get(slot, 0):
                return False
        return True

    def beyond_local(self, amounts: Amounts) -> dict[Slot, int]:
        """What of so much more would be used of its parent."""
        return {slot: max(0, amount - self.kept(slot)) for slot, amount in amounts.items()}

    def kept(self, slot: Slot) -> int:
        """How much is free that it lends to nobody."""
        return max(0, self._local(slot) - self.used(slot))

    def reach(self, slot: Slot, amount: int) -> "QuotaNode":
        """How far up one has to go for so much more: the lowest of its path that would not have to borrow it, or the
        root."""
        member, left = self, {slot: amount}
        while member.parent is not None and not member.holds_as_its_own(left):
            member, left = member.parent, member.beyond_local(left)
        return member

    def capacity(self, slot: Slot) -> int:
        """How much there could be at most, if nobody used anything."""
        if self.parent is None:
            return self._subtree.get(slot, 0)
        own, local = self._subtree.get(slot, 0), self._local(slot)
        return local + min(self.parent.capacity(slot), own - local + self._may_borrow(slot))

    def available(self, slot: Slot) -> int:
        """How much is left for it now; below zero if more is used than there is, and it is a root."""
        subtree, used, local = self._subtree.get(slot, 0), self._used.get(slot, 0), self._local(slot)
        if self.parent is None:
            return subtree - used
        still_to_borrow = subtree - local - max(0, used - local) + self._may_borrow(slot)
        # If the cohort uses more than it has, that is no reason not to use what this one never lends.
        return max(0, local - used) + max(0, min(self.parent.available(slot), still_to_borrow))

    def _may_borrow(self, slot: Slot) -> int:
        quota = self.quotas.get(slot)
        limit = quota.borrowing_limit if quota is not None else None
        return ENDLESS if limit is None else limit

    def _local(self, slot: Slot) -> int:
        quota = self.quotas.get(slot)
        if quota is None or quota.lending_limit is None:
            return 0
        return max(0, self._subtree.get(slot, 0) - quota.lending_limit)


def quotas_of(groups: Iterable[ResourceGroup]) -> dict[Slot, Quota]:
    """The quota of all resource groups, in counted units."""
    return {
        (flavor.name, resource.name): Quota(
            _amount(resource.name, resource.nominal_quota) or 0,
            _amount(resource.name, resource.borrowing_limit),
            _amount(resource.name, resource.lending_limit),
        )
        for group in groups
        for flavor in group.flavors
        for resource in flavor.resources
    }


def _amount(resource: str, quantity: int | str | None) -> int | None:
    if quantity is None:
        return None
    try:
        return counted(resource, nano_value(str(quantity)))
    except QuantityError:
        # Its queue is not at work and says so; the others go on, and borrow nothing of this.
        return 0
