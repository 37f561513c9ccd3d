"""Who may lie beside whom on one node, in bits.

A selector that somebody caps by node is a bit. A node remembers which bits some pod of it carries, which two or more
carry, and which are capped; so asking whether a pod may join is a few operations on whole numbers. Caps above one are
rare and counted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from growth.decide.solver.equivalence_groups import EquivalenceGroup
from growth.decide.solver.pod_constraints import PodConstraints
from growth.decide.solver.problem_rows import Cliques


@dataclass(slots=True)
class NodeNeighbors:
    """The pods of one node as their neighbours see them. ``caps`` never rise again, which errs on the safe side."""

    has: int = 0
    has_two: int = 0
    cap_none: int = 0
    cap_one: int = 0
    counts: dict[int, int] = field(default_factory=dict[int, int])
    caps: dict[int, int] = field(default_factory=dict[int, int])


@dataclass(frozen=True, slots=True)
class NeighborTags:
    """What a group means for its neighbours."""

    carries: int = 0
    apart_from: int = 0
    """Nobody else who carries these."""

    alone_in: int = 0
    """Carried and capped at one: nobody else who carries these either."""

    beside_one: int = 0
    """Capped at one and not carried: at most one who carries these."""

    more: tuple[tuple[int, int], ...] = ()
    """(selector, cap) above one."""

    numbers: tuple[int, ...] = ()
    """The carried selectors by number."""

    def __bool__(self) -> bool:
        return bool(self.carries or self.apart_from or self.beside_one or self.more)

    @property
    def has_caps(self) -> bool:
        """Whether it restricts its neighbours, and is not only restricted by them."""
        return bool(self.apart_from or self.alone_in or self.beside_one or self.more)

    def may_join(self, company: NodeNeighbors) -> bool:
        """Whether a pod of the group may lie there, as far as neighbours go."""
        if self.carries & (company.cap_none | company.cap_one & company.has):
            return False
        if (self.apart_from | self.alone_in) & company.has or self.beside_one & company.has_two:
            return False
        if not self.more and not company.caps:
            return True
        carried = self.numbers
        return all(company.counts.get(s, 0) + (s in carried) <= cap for s, cap in self.more) and all(
            company.counts.get(s, 0) < company.caps.get(s, 1 << 60) for s in carried
        )

    def join(self, company: NodeNeighbors) -> None:
        """A pod of the group lies there now."""
        company.has_two |= company.has & self.carries
        company.has |= self.carries
        company.cap_none |= self.apart_from
        company.cap_one |= self.alone_in | self.beside_one
        for selector in self.numbers:
            company.counts[selector] = company.counts.get(selector, 0) + 1
        for selector, cap in self.more:
            company.caps[selector] = min(cap, company.caps.get(selector, cap))


NO_TAGS = NeighborTags()


def tags_of(groups: Sequence[EquivalenceGroup], cliques: Cliques) -> list[NeighborTags]:
    """The tags of each group. Cliques are kept by the packing itself, if all their members are packed by them."""
    kept = {
        selector
        for selector, clique in cliques.of_selector.items()
        if all(cliques.of(group) == clique for group in groups if group.carries >> selector & 1)
    }
    capped = {s for g in groups for s in (*g.rules.host_apart, *(n for n, _ in g.rules.host_caps))} - kept
    order = sorted(capped)
    known: dict[tuple[int, PodConstraints], NeighborTags] = {}
    for group in groups:
        if (group.carries, group.rules) not in known:
            known[group.carries, group.rules] = _tags(group, order)
    return [known[group.carries, group.rules] for group in groups]


def _tags(group: EquivalenceGroup, capped: Sequence[int]) -> NeighborTags:
    numbers = tuple(s for s in capped if group.carries >> s & 1)
    carries = _bits(numbers)
    apart = [s for s in group.rules.host_apart if s in capped]
    caps = [(s, cap) for s, cap in group.rules.host_caps if s in capped]
    ones = _bits([s for s, cap in caps if cap == 1]) | _bits([s for s in apart if s in numbers])
    tags = NeighborTags(
        carries,
        _bits([s for s in apart if s not in numbers]),
        ones & carries,
        ones & ~carries,
        tuple((s, cap) for s, cap in caps if cap > 1),
        numbers,
    )
    return tags or NO_TAGS


def _bits(numbers: Sequence[int]) -> int:
    bits = 0
    for number in numbers:
        bits |= 1 << number
    return bits
