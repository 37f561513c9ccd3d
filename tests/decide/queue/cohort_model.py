"""Cohorts and preemption, said as simply as possible: who gets quota now, and who has to go for whom.

It knows nothing of how the queue is built. It is written from Kueue's rules: nothing is kept up, everything is counted
anew from who holds what, and all heads are looked at again after each step. It is slow and short.

Where Growth means to be unlike Kueue, the model is like Growth, and says so (*on purpose*).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tests.decide.queue.cohort_tree import Amounts, Node, Queue, Quota, Slot, Tree, Uses, Work

NOBODY_TO_GO, OWN_GO, OTHERS_GO, FREE = range(4)
"""How something can be had; the more the better."""
RECLAIM, BORROW, OWN = "InCohortReclamation", "InCohortReclaimWhileBorrowing", "InClusterQueue"


@dataclass(frozen=True)
class Choice:
    """What a workload could have."""

    flavors: tuple[Mapping[str, str], ...]
    usage: Amounts
    way: int
    height: int
    short: frozenset[Slot]
    chosen: tuple[str, ...] = ()


def _height(line: list[Work], choice: Choice | None) -> int:
    """On purpose: of somebody for whom others were sent back it is not asked any more how far up it has to borrow, or
    one of them could come back before it, for ever; nor of those that come before it in its line."""
    has_preemptor = line[0].is_waiting or any(one.is_waiting and not one.queue.is_strict for one in line)
    return choice.height if choice is not None and not has_preemptor else 0


@dataclass(frozen=True)
class Outcome:
    admitted: Mapping[str, tuple[Mapping[str, str], ...]]
    sent_back: Mapping[str, str]
    """By name, why."""


class Pass:
    """One look at everybody."""

    def __init__(self, tree: Tree, works: Iterable[Work], *, preemptors_first: bool = False) -> None:
        self.tree, self.works, self.preemptors_first = tree, list(works), preemptors_first
        self.holders = [one for one in self.works if one.uses is not None]
        self.uses: Uses = [(one.queue.name, one.uses) for one in self.holders if one.uses is not None]
        self.going = {one.name for one in self.holders if one.is_evicted}
        self.given: list[Node] = []
        """The root of whoever got something in this pass, each time."""
        self.admitted: dict[str, tuple[Mapping[str, str], ...]] = {}
        self.sent_back: dict[str, str] = {}
        self.asked: set[str] = set()
        self.lines: dict[str, list[Work]] = {}
        """Who is yet to be asked, by queue."""
        self.promised: dict[str, tuple[str, ...]] = {}
        """On which flavors somebody gets what others had."""

    def run(self) -> Outcome:
        """Whoever need not borrow comes first, then priority, then time.

        On purpose: how far up a head has to borrow is worked out when it becomes the head, and again when its turn
        comes, if somebody of its tree got something since; not for all heads after each step.
        """
        waiting = [one for one in self.works if one.uses is None]
        lines: dict[str, list[Work]] = {}
        for work in sorted(waiting, key=lambda one: one.place(preemptors_first=self.preemptors_first)):
            lines.setdefault(work.queue.name, []).append(work)
        self.lines = lines
        heads: dict[str, tuple[int, Choice | None]] = {}
        while lines:
            for name, line in lines.items():
                if name not in heads:
                    heads[name] = self.given_in_tree(line[0]), self.choose(line[0])
            name = min(lines, key=lambda one: (_height(lines[one], heads[one][1]), lines[one][0].order, one))
            (stamp, choice), work = heads.pop(name), lines[name][0]
            if stamp != self.given_in_tree(work):
                continue
            self.asked.add(work.name)
            is_served = self.serve(work, choice)
            lines[name] = lines[name][1:] if is_served or not work.queue.is_strict else []
            self.lines = lines = {name: line for name, line in lines.items() if line}
        return Outcome(self.admitted, self.sent_back)

    def given_in_tree(self, work: Work) -> int:
        """How often somebody of its tree got something in this pass."""
        return self.given.count(work.queue.path[-1])

    def is_preemptor_ahead(self, work: Work) -> bool:
        """On purpose: who was sent back borrows nothing as long as somebody of its tree waits for others to go and was
        not asked yet. It would be sent back again, for ever."""
        return any(
            one.is_waiting and one.name not in self.asked and (not one.queue.is_strict or line[0] is one)
            for line in self.lines.values()
            for one in line
            if one.queue.path[-1] is work.queue.path[-1]
        )

    def use(self, queue: Queue, usage: Amounts) -> None:
        self.uses.append((queue.name, usage))
        self.given.append(queue.path[-1])

    def serve(self, work: Work, choice: Choice | None) -> bool:
        if choice is None:
            return False
        if choice.way == FREE:
            is_back = work.was_sent_back and not work.is_waiting
            if is_back and choice.height and self.is_preemptor_ahead(work):
                return False
            self.admitted[work.name] = choice.flavors
            self.use(work.queue, choice.usage)
            return True
        victims = self.victims(work, choice.usage, choice.short)
        for victim, reason in victims:
            if victim.name not in self.going:
                self.sent_back[victim.name] = reason
                self.going.add(victim.name)
        if victims:
            # On purpose: what is waited for counts as used, beside what the victims still hold. Those behind it in its
            # queue are tried, even in a strict one: it gets what it waits for.
            self.use(work.queue, choice.usage)
            self.promised[work.name] = choice.chosen
            return True
        if work.queue.is_strict and work.queue.reclaim != "Any":
            # What is its own and could not be taken back is kept for it. (Kueue does it for any queue, for the cycle;
            # on purpose only strict ones do here: with BestEffortFIFO others of the queue are tried.)
            own = {
                slot: max(0, work.queue.quotas.get(slot, Quota()).nominal - self.tree.used(work.queue, slot, self.uses))
                for slot in choice.usage
            }
            self.use(work.queue, {slot: min(n, own[slot]) for slot, n in choice.usage.items()})
        return False

    # Flavors.

    def choose(self, work: Work) -> Choice | None:
        """On purpose: for whom others were sent back gets the flavors for which they were, unless all that it needs is
        free. (In Kueue its first pod set may take another one now, and nothing is left for the next one.)"""
        choice = self.choose_among(work)
        if not work.is_waiting or not work.promised or (choice is not None and choice.way == FREE):
            return choice
        kept = self.choose_among(work, work.promised)
        if kept is not None and (kept.way == FREE or self.victims(work, kept.usage, kept.short)):
            return kept
        return choice

    def choose_among(self, work: Work, promised: tuple[str, ...] = ()) -> Choice | None:
        usage: dict[Slot, int] = {}
        given: list[Mapping[str, str]] = []
        chosen: list[str] = []
        way, height, short = FREE, 0, frozenset[Slot]()
        for needs in work.needs:
            flavors: dict[str, str] = {}
            for resources, names in work.queue.groups:
                wanted = {name: needs[name] for name in resources if name in needs}
                if not wanted:
                    continue
                among = [one for one in names if not promised or one == promised[len(chosen)]]
                best = self.best(work, wanted, among, usage)
                if best is None:
                    return None
                flavor, one_way, one_height, one_short = best
                for resource, amount in wanted.items():
                    usage[flavor, resource] = usage.get((flavor, resource), 0) + amount
                    flavors[resource] = flavor
                chosen.append(flavor)
                way, height, short = min(way, one_way), max(height, one_height), short | one_short
            given.append(flavors)
        return Choice(tuple(given), usage, way, height, short, tuple(chosen))

    def best(
        self, work: Work, wanted: Mapping[str, int], flavors: Iterable[str], taken: Amounts
    ) -> tuple[str, int, int, frozenset[Slot]] | None:
        queue, offers = work.queue, list[tuple[tuple[int, int], str, int, int, frozenset[Slot]]]()
        for flavor in flavors:
            asked = {
                (flavor, resource): amount + taken.get((flavor, resource), 0) for resource, amount in wanted.items()
            }
            prices = [self.price(work, slot, amount) for slot, amount in asked.items()]
            known = [price for price in prices if price is not None]
            if len(known) < len(prices):
                continue
            way, height = min(one[0] for one in known), max(one[1] for one in known)
            short = frozenset(slot for slot, price in zip(asked, known, strict=True) if price[0] != FREE)
            worth = (-height, way) if queue.preference == "PreemptionOverBorrowing" else (way, -height)
            offers.append((worth, flavor, way, height, short))
            is_dear = way in (OWN_GO, OTHERS_GO) and queue.when_can_preempt == "TryNextFlavor"
            is_far = height > 0 and queue.when_can_borrow == "TryNextFlavor"
            if way != NOBODY_TO_GO and not is_dear and not is_far:
                break
        return max(offers, key=lambda offer: offer[0])[1:] if offers else None

    def price(self, work: Work, slot: Slot, amount: int) -> tuple[int, int] | None:
        """How it can be had, and how far up it is borrowed then; None if not at all."""
        tree, queue = self.tree, work.queue
        if not tree.fits(queue, slot, amount, []):
            return None
        lowest = tree.lowest(queue, {slot: amount}, self.uses)
        if tree.fits(queue, slot, amount, self.uses):
            return FREE, tree.height(lowest)
        nominal = queue.quotas.get(slot, Quota()).nominal
        if not (amount <= nominal or lowest.parent is not None or queue.borrows):
            return None
        victims = self.victims(work, {slot: amount}, frozenset({slot}))
        uses = self.without([victim for victim, _ in victims])
        height = tree.height(tree.lowest(queue, {slot: amount}, uses))
        if not victims:
            return NOBODY_TO_GO, height
        return (OWN_GO if any(victim.queue is queue for victim, _ in victims) else OTHERS_GO), height

    # Victims.

    def without(self, gone: Iterable[Work]) -> Uses:
        uses = list(self.uses)
        for one in gone:
            uses.remove((one.queue.name, one.uses or {}))
        return uses

    def victims(self, work: Work, usage: Amounts, short: frozenset[Slot]) -> list[tuple[Work, str]]:
        candidates = sorted(self.candidates(work, usage, short), key=self.turn)
        for may_borrow in self.attempts(work, [claim for _, claim, _ in candidates], short):
            able = candidates
            while gone := self.enough(work, usage, short, able, may_borrow=may_borrow):
                # On purpose: who borrows sends back nobody who would have a right to its place again. (In Kueue its
                # queue must use too much while it is there. It would take its place back at once, for ever.)
                uses = self.without(one for one, _ in gone)
                back = [
                    one
                    for one, claim in gone
                    if claim == BORROW and not self.is_going(one, work) and self.would_return(one, work, uses)
                ]
                if not back or not may_borrow:
                    return gone
                able = [one for one in able if one[0] not in back]
        return []

    def is_going(self, victim: Work, work: Work) -> bool:
        """On purpose: whoever is sent back already goes for anybody who waits for others to go, by whatever right."""
        return work.is_waiting and victim.name in self.going

    def would_return(self, victim: Work, work: Work, uses: Uses) -> bool:
        shared = next(node for node in victim.queue.path if node in work.queue.path)
        return self.has_right(victim.queue, victim.uses or {}, shared, uses)

    def enough(
        self,
        work: Work,
        usage: Amounts,
        short: frozenset[Slot],
        candidates: list[tuple[Work, str, Node | None]],
        *,
        may_borrow: bool,
    ) -> list[tuple[Work, str]]:
        gone: list[tuple[Work, str]] = []
        for victim, claim, shared in candidates:
            uses = self.without(one for one, _ in gone)
            if not self.is_going(victim, work):
                if shared is not None and not self.is_over(victim, shared, short, uses):
                    continue
                if claim == "only to not borrow" and may_borrow:
                    continue
            gone.append((victim, RECLAIM if claim == "only to not borrow" else claim))
            if self.is_enough(work, usage, gone, may_borrow=may_borrow):
                return self.given_back(work, usage, gone, may_borrow=may_borrow)
        return []

    def candidates(self, work: Work, usage: Amounts, short: frozenset[Slot]) -> Iterator[tuple[Work, str, Node | None]]:
        """Who might go, why, and up to which cohort its side must use more than its own."""
        queue = work.queue
        for one in self.holders:
            is_lower, is_going = one.priority < work.priority, self.is_going(one, work)
            if one.uses is None or not any(one.uses.get(slot, 0) for slot in short):
                continue
            if one.queue is queue:
                is_newer = one.priority == work.priority and one.since > work.since
                by_newer = is_newer and queue.within == "LowerOrNewerEqualPriority"
                if is_going or (is_lower and queue.within != "Never") or by_newer:
                    yield one, OWN, None
                continue
            shared = next((node for node in one.queue.path if node in queue.path), None)
            if shared is None:
                continue
            may_go = queue.reclaim == "Any" or (queue.reclaim == "LowerPriority" and is_lower)
            if not is_going and not (may_go and self.is_over(one, shared, short, self.uses)):
                continue
            if self.has_right(queue, usage, shared, self.uses):
                yield one, RECLAIM, shared
            elif (
                queue.borrows
                and is_lower
                and (queue.threshold is None or one.priority <= queue.threshold)
                # On purpose: in Kueue those who were sent back may go on in a circle.
                and not work.was_sent_back
            ):
                yield one, BORROW, shared
            else:
                yield one, "only to not borrow", shared

    def is_over(self, victim: Work, shared: Node, short: frozenset[Slot], uses: Uses) -> bool:
        """Whether its queue, and every cohort up to the one that is shared, uses more than its own."""
        for node in victim.queue.path:
            if node is shared:
                return True
            if all(self.tree.used(node, slot, uses) <= self.tree.subtree(node, slot) for slot in short):
                return False
        raise AssertionError(victim)

    def has_right(self, queue: Queue, usage: Amounts, shared: Node, uses: Uses) -> bool:
        """Whether a part of the tree that is not the other one's, too, has so much of its own."""
        rest = dict(usage)
        for node in queue.path:
            if node is shared:
                return False
            if not self.tree.borrows(node, rest, uses):
                return True
            rest = self.tree.above(node, rest, uses)
        raise AssertionError(shared)

    def turn(self, candidate: tuple[Work, str, Node | None]) -> tuple[bool, int, int, float, str]:
        work, claim, _ = candidate
        place = {RECLAIM: 0, OWN: 2}.get(claim, 1)
        newest = -work.reserved_at.timestamp() if work.reserved_at is not None else 0
        return work.name not in self.going, place, work.priority, newest, work.uid

    def attempts(self, work: Work, claims: list[str], short: frozenset[Slot]) -> tuple[bool, ...]:
        """Whether it may borrow in the end, in the order in which that is tried."""
        queue = work.queue
        is_over = any(
            self.tree.used(queue, slot, self.uses) >= queue.quotas.get(slot, Quota()).nominal for slot in short
        )
        if all(claim == OWN for claim in claims) or (not queue.borrows and is_over):
            return (True,)
        return (False, True) if not queue.borrows and RECLAIM not in claims else (True, False)

    def is_enough(self, work: Work, usage: Amounts, gone: list[tuple[Work, str]], *, may_borrow: bool) -> bool:
        uses = self.without(one for one, _ in gone)
        if not may_borrow and self.tree.borrows(work.queue, usage, uses):
            return False
        return all(self.tree.fits(work.queue, slot, amount, uses) for slot, amount in usage.items())

    def given_back(
        self, work: Work, usage: Amounts, gone: list[tuple[Work, str]], *, may_borrow: bool
    ) -> list[tuple[Work, str]]:
        """Whoever need not go stays, the last one first."""
        for one in gone[-2::-1]:
            others = [other for other in gone if other is not one]
            if self.is_enough(work, usage, others, may_borrow=may_borrow):
                gone = others
        return gone
