"""Real pods to the slots of a packing, so that the rules about pods on one node hold.

The packing knows how many pods of each row lie on each machine. Pods of one row may still differ in who may lie beside
whom. Those with rules are handed out first, from the groups with the most left; a pod that finds no slot swaps places
with one of the same row that can. Whoever is left after that is placed one by one, with Fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from growth.api.pod import Pod
from growth.decide.solver.colocation import NO_TAGS, NeighborTags, NodeNeighbors
from growth.decide.solver.problem import Bin
from growth.decide.solver.problem_rows import ProblemRows


@dataclass(slots=True)
class AssignedMachine:
    """One machine of the plan with its pods."""

    option: int
    pods: list[Pod] = field(default_factory=list[Pod])
    places: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    """(row, group) of each pod, in the order of ``pods``."""

    company: NodeNeighbors = field(default_factory=NodeNeighbors)
    holes: list[int] = field(default_factory=list[int])
    """Rows of which a slot stayed empty."""


@dataclass(slots=True)
class _Waiting:
    """Groups with tags that wait for slots of one row, those that restrict their neighbours first."""

    left: dict[int, int]
    order: list[int] = field(default_factory=list[int])
    age: int = 0


class PodAssignment:
    """Hands the pods of groups to the bins of a packing; ``queues`` holds each group's pods and is used up."""

    def __init__(self, tags: Sequence[NeighborTags], rows: ProblemRows, queues: dict[int, list[Pod]]) -> None:
        self._tags, self._queues = tags, queues
        self._tagged: list[_Waiting] = []
        self._plain: list[list[list[int]]] = []
        for portions in rows.portions:
            tagged: dict[int, int] = {}
            plain: list[list[int]] = []
            for portion in portions:
                if tags[portion.group] is NO_TAGS:
                    plain.append([portion.group, portion.count])
                else:
                    tagged[portion.group] = tagged.get(portion.group, 0) + portion.count
            self._tagged.append(_Waiting(tagged))
            self._plain.append(plain)

    def run(self, bins: Sequence[Bin]) -> tuple[list[AssignedMachine], list[Pod]]:
        """The machines with their pods, and pods that found no slot."""
        nodes: list[AssignedMachine] = []
        for one in bins:
            for _ in range(one.times):
                node = AssignedMachine(one.option)
                nodes.append(node)
                for row, pods in one.content:
                    self._fill(node, row, pods)
        return nodes, self._swap(nodes)

    def _fill(self, node: AssignedMachine, row: int, pods: int) -> None:
        while pods and self._tagged[row].left:
            group = self._next(node, row)
            if group < 0:
                break
            self._put(node, row, group)
            pods -= 1
        plain = self._plain[row]
        while pods and plain:
            group, left = plain[-1]
            taken = min(pods, left)
            queue = self._queues[group]
            node.pods += queue[-taken:]
            del queue[-taken:]
            node.places += [(row, group)] * taken
            pods -= taken
            plain[-1][1] -= taken
            if not plain[-1][1]:
                plain.pop()
        node.holes += [row] * pods

    def _next(self, node: AssignedMachine, row: int) -> int:
        """A group that may join, among the first of those with the most left; they are sorted anew now and then."""
        waiting, tags = self._tagged[row], self._tags
        if waiting.age <= 0:
            left = waiting.left
            waiting.order = sorted(left, key=lambda g: (not tags[g].has_caps, -left[g], g))
            waiting.age = len(left) // 2 + 1
        waiting.age -= 1
        for group in waiting.order:
            if group in waiting.left and tags[group].may_join(node.company):
                return group
        return -1

    def _put(self, node: AssignedMachine, row: int, group: int) -> None:
        self._tags[group].join(node.company)
        node.pods.append(self._queues[group].pop())
        node.places.append((row, group))
        left = self._tagged[row].left
        left[group] -= 1
        if not left[group]:
            del left[group]

    def _swap(self, nodes: Sequence[AssignedMachine]) -> list[Pod]:
        """Pods without a slot take one from a pod of the same row that can fill a hole."""
        unplaced: list[Pod] = []
        for row, waiting in enumerate(self._tagged):
            for group in list(waiting.left):
                while waiting.left.get(group):
                    if not self._swap_one(nodes, row, group):
                        unplaced += [self._queues[group].pop() for _ in range(waiting.left.pop(group))]
        return unplaced

    def _swap_one(self, nodes: Sequence[AssignedMachine], row: int, group: int) -> bool:
        holes = [node for node in nodes if row in node.holes]
        for node in nodes:
            if not any(here == row for here, _ in node.places):
                continue
            for at, (here, other) in enumerate(node.places):
                if here != row:
                    continue
                hole = next((h for h in holes if h is not node and self._tags[other].may_join(h.company)), None)
                if hole is None:
                    continue
                company = self._company_without(node, at)
                if self._tags[group].may_join(company):
                    hole.pods.append(node.pods.pop(at))
                    hole.places.append(node.places.pop(at))
                    hole.holes.remove(row)
                    self._tags[other].join(hole.company)
                    node.company = company
                    self._put(node, row, group)
                    return True
        return False

    def _company_without(self, node: AssignedMachine, terminating: int) -> NodeNeighbors:
        company = NodeNeighbors()
        for at, (_, group) in enumerate(node.places):
            if at != terminating:
                self._tags[group].join(company)
        return company
