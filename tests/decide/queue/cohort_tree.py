"""A tree of cohorts and what is used of it, counted anew each time: what the model of the queue stands on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache

Slot = tuple[str, str]
"""A flavor and a resource."""
Amounts = Mapping[Slot, int]
Uses = list[tuple[str, Amounts]]
"""What is used: of which queue, how much."""


@dataclass(frozen=True)
class Quota:
    nominal: int = 0
    borrow: int | None = None
    lend: int | None = None


@dataclass(eq=False)
class Node:
    """A queue or a cohort."""

    name: str
    parent: "Node | None" = None
    quotas: Mapping[Slot, Quota] = field(default_factory=dict[Slot, Quota])

    @property
    def path(self) -> list["Node"]:
        return [self, *(self.parent.path if self.parent is not None else ())]


@dataclass(eq=False)
class Queue(Node):
    groups: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    """Resources, and the flavors that have them."""
    is_strict: bool = False
    within: str = "Never"
    reclaim: str = "Never"
    borrows: bool = False
    threshold: int | None = None
    when_can_borrow: str = "MayStopSearch"
    when_can_preempt: str = "TryNextFlavor"
    preference: str | None = None


@dataclass
class Work:
    """A workload. It holds what it uses, or it waits."""

    name: str
    uid: str
    queue: Queue
    priority: int
    since: datetime
    needs: tuple[Mapping[str, int], ...]
    """Of each pod set."""
    uses: Amounts | None = None
    reserved_at: datetime | None = None
    is_evicted: bool = False
    is_waiting: bool = False
    """Whether others were sent back for it, as it is said on it."""
    promised: tuple[str, ...] = ()
    """On which flavors, one for each of its pod sets and groups."""
    was_sent_back: bool = False
    """And has had nothing since."""

    @property
    def order(self) -> tuple[int, datetime, str]:
        return -self.priority, self.since, self.uid

    def place(self, *, preemptors_first: bool) -> tuple[int, bool, tuple[int, datetime, str]]:
        """On purpose: whoever waits for others to go comes first among those of its priority. (In Kueue, of all.)"""
        rank = 0 if preemptors_first else -self.priority
        return rank, self.queue.is_strict or not self.is_waiting, self.order


class Tree:
    """Who may use how much of what."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self.nodes = list(nodes)
        self.subtree = cache(self._subtree)
        self.height = cache(self._height)

    def children(self, node: Node) -> list[Node]:
        return [one for one in self.nodes if one.parent is node]

    def _height(self, node: Node) -> int:
        return max((1 + self.height(child) for child in self.children(node)), default=0)

    def _subtree(self, node: Node, slot: Slot) -> int:
        """Its own, and what its members lend it."""
        own = node.quotas.get(slot, Quota()).nominal
        return own + sum(self.subtree(child, slot) - self.local(child, slot) for child in self.children(node))

    def local(self, node: Node, slot: Slot) -> int:
        """What it never lends."""
        lend = node.quotas.get(slot, Quota()).lend
        return 0 if lend is None else max(0, self.subtree(node, slot) - lend)

    def used(self, node: Node, slot: Slot, uses: Uses) -> int:
        """By its own workloads, and by its members beyond what they never lend."""
        own = sum(amounts.get(slot, 0) for name, amounts in uses if name == node.name)
        return own + sum(
            max(0, self.used(child, slot, uses) - self.local(child, slot)) for child in self.children(node)
        )

    def is_right(self, slot: Slot, uses: Uses) -> bool:
        """Whether nobody uses more than it may: the law that no admission may break."""
        for node in self.nodes:
            used, subtree, borrow = (
                self.used(node, slot, uses),
                self.subtree(node, slot),
                node.quotas.get(slot, Quota()).borrow,
            )
            if node.parent is None and used > subtree:
                return False
            if node.parent is not None and borrow is not None and used > subtree + borrow:
                return False
        return True

    def fits(self, node: Node, slot: Slot, amount: int, uses: Uses) -> bool:
        """Whether so much more may be used.

        On purpose: who stays within what it never lends does not care how full the cohort is; nobody above notices.
        (In Kueue a cohort that is used beyond its quota, because that was made less, takes it from its members.)
        """
        used, subtree, local = self.used(node, slot, uses), self.subtree(node, slot), self.local(node, slot)
        if node.parent is None:
            return used + amount <= subtree
        free = max(0, local - used)
        if amount <= free:
            return True
        borrow = node.quotas.get(slot, Quota()).borrow
        if borrow is not None and used + amount > subtree + borrow:
            return False
        return self.fits(node.parent, slot, amount - free, uses)

    def borrows(self, node: Node, amounts: Amounts, uses: Uses) -> bool:
        """Whether so much more is more than its own."""
        return any(self.used(node, slot, uses) + amount > self.subtree(node, slot) for slot, amount in amounts.items())

    def above(self, node: Node, amounts: Amounts, uses: Uses) -> dict[Slot, int]:
        """What of so much more its parent would notice.

        As in Kueue, who wants nothing more of something there is asked about it all the same: where others use too much
        of it already, it has no right to the rest.
        """
        return {
            slot: max(0, amount - max(0, self.local(node, slot) - self.used(node, slot, uses)))
            for slot, amount in amounts.items()
        }

    def lowest(self, node: Node, amounts: Amounts, uses: Uses) -> Node:
        """The lowest part of the tree that has so much of its own; the root if none has."""
        while node.parent is not None and self.borrows(node, amounts, uses):
            amounts = self.above(node, amounts, uses)
            node = node.parent
        return node
