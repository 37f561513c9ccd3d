"""How to empty nodes that must go, whatever that costs: one move for each, so that none waits for another.

None of them is a place for the others' pods, so all are closed from the beginning; but who works there is there until
its turn comes, or stays if it cannot be emptied, and its rules hold for others, too. What is bought for one is there
for those that come after it. What a pool keeps ready (``min``) is bought anew before it goes, unless that
cannot be had: at a pool's limits it comes afterwards. Nodes that must go, too, and may not yet, are no place either,
unless there is no other: at a pool's limits they may be all that there is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from growth.api.offering import INSTANCE_TYPE, POOL
from growth.api.pod import Pod
from growth.decide.capacity.pool_inventory import Shortage
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.consolidation.move_search import house_ghosts, pods_on
from growth.decide.consolidation.problem import Candidate, ConsolidationProblem, Move, shun
from growth.decide.solver.minimum_nodes import warmed
from growth.decide.solver.node_options import NodeOptions
from growth.decide.solver.placement_solution import PlacementSolution, PlannedNode
from growth.decide.solver.planner import plan


class ForcedMovePlan(msgspec.Struct, frozen=True):
    """What to do, and who cannot be emptied."""

    moves: tuple[Move, ...] = ()
    """One for each node, in the order in which they were asked about."""
    stuck: Mapping[str, str] = {}
    """By node, which of its pods finds no place, in words."""


def empty(question: ConsolidationProblem, shunned: Sequence[str] = ()) -> ForcedMovePlan:
    """Think. The same question has the same answer; budgets have been asked by whoever chose the candidates. Nobody
    goes to nodes that are ``shunned`` if that can be helped."""
    mark = question.simulated.mark()
    try:
        shun(question.simulated, shunned)
        found = _Walk(question).run()
        if not found.stuck or not shunned:
            return found
        question.simulated.back_to(mark)
        another = _Walk(question).run()
        return another if len(another.stuck) < len(found.stuck) else found
    finally:
        question.simulated.back_to(mark)


class _Walk:
    """One node after the other, on the stage."""

    def __init__(self, question: ConsolidationProblem) -> None:
        self._question, self._simulated = question, question.simulated
        self._planned: list[PlannedNode] = []
        # Machines that go count as long as they are there: they do while others are bought.
        self._bought = [*question.others, *(one.launched for one in question.candidates)]
        self._kept = {
            (pool.metadata.name, one.name.lower()): one.min for pool in question.pools for one in pool.spec.server_types
        }

    def run(self) -> ForcedMovePlan:
        terminating = {one.name for one in self._question.candidates}
        shun(self._simulated, terminating)
        house_ghosts(self._question)
        staying = (node for name, node in self._simulated.nodes.items() if name not in terminating and node.is_ready)
        ready = Counter(
            (labels.get(POOL, ""), labels.get(INSTANCE_TYPE, "").lower())
            for labels in (node.metadata.labels for node in staying)
        )
        node_options, moves, stuck = self._market(), list[Move](), dict[str, str]()
        for one in self._question.candidates:
            kind = one.pool, one.launched.server_type.lower()
            before, pods = self._simulated.mark(), pods_on(self._simulated, one.name)
            self._simulated.remove_node(one.name)
            spare = self._spare(one, node_options) if ready[kind] < self._kept.get(kind, 0) else ()
            solution = plan(self._simulated, pods, self._market(spare) if spare else node_options)
            if solution.left_out:
                self._simulated.back_to(before)
                ready[kind] += 1
                stuck[one.name] = _words(solution)
                continue
            ready.update(
                (new.pool.metadata.name, new.offering.server_type.lower()) for new in (*spare, *solution.launch)
            )
            moves.append(self._made(one, spare, solution, node_options, pods))
            if moves[-1].launching:
                node_options = self._market()
        return ForcedMovePlan(tuple(moves), stuck)

    def _market(self, spare: Sequence[PlannedNode] = ()) -> NodeOptions:
        return self._question.node_options([*self._bought, *map(_bought, spare)], [*self._planned, *spare])

    def _spare(self, node: Candidate, node_options: NodeOptions) -> tuple[PlannedNode, ...]:
        """Another one of its type, put on the stage: there as many are ready as its pool wants, and room for its
        pods."""
        kinds, _ = warmed(node_options, [Shortage(node.pool, node.launched.server_type, 1)])
        spare = tuple(PlannedNode(f"instead-of-{node.name}", kind.pool, kind.offering, ()) for kind in kinds)
        for one in spare:
            node_options.maker.make(one.name, one.pool, one.offering).enter(self._simulated)
        return spare

    def _made(
        self,
        node: Candidate,
        spare: Sequence[PlannedNode],
        solution: PlacementSolution,
        node_options: NodeOptions,
        pods: Iterable[Pod],
    ) -> Move:
        """Make it on the stage."""
        to = {pod.metadata.uid: one.name for one in solution.launch for pod in one.pods}
        to |= {pod.metadata.uid: filled.node for filled in solution.existing for pod in filled.pods}
        for one in solution.launch:
            node_options.maker.make(one.name, one.pool, one.offering).enter(self._simulated)
        for pod in pods:
            self._simulated.place(pod, to[pod.metadata.uid])
        launching = (*spare, *solution.launch)
        self._bought += map(_bought, launching)
        self._planned += launching
        after = sum(one.offering.price_per_hour for one in launching)
        return Move((node.name,), launching, tuple(sorted(to.items())), node.price_per_hour, after)


def _bought(planned: PlannedNode) -> PoolUsage:
    return PoolUsage.of(planned.pool.metadata.name, planned.offering)


def _words(solution: PlacementSolution) -> str:
    first = min(solution.left_out, key=lambda one: (one.pod.metadata.namespace, one.pod.metadata.name))
    more = f" (nor do {len(solution.left_out) - 1} more)" if len(solution.left_out) > 1 else ""
    return f"pod {first.pod.metadata.namespace}/{first.pod.metadata.name} would find no place{more}: {first.reason}"
