"""When limits keep somebody out: plans that spare what is scarce, whatever they cost.

The search looks for cheap machines, and cheap ones may use up a limit too soon: one node of 8 CPU holds what four of 2
CPU do, and if a pool may have one node only the large one helps. So each limit that binds is taken for the price.

Buying machines for portions: tier by tier, within the limits.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from growth.api.pod import Pod
from growth.decide.solver.colocation import NeighborTags
from growth.decide.solver.equivalence_groups import EquivalenceGroup
from growth.decide.solver.exact_packer import cheapest
from growth.decide.solver.lower_bound import fluid_bound
from growth.decide.solver.pod_assignment import AssignedMachine, PodAssignment
from growth.decide.solver.problem import Bin, Bools, Floats, Ints, Packing, PackingProblem, StepBudget, packing_of
from growth.decide.solver.problem_rows import NodeOptionTable, ProblemRows, rows_of
from growth.decide.solver.search import packings
from growth.decide.solver.zone_assignment import Portion

# So many limits are looked at, those that are nearest to being used up first.
_MOST: Final = 6
# Among machines that use equally much of a limit the cheaper one is better.
_OF_PRICE: Final = 1e-3


def sparing(problem: PackingProblem, best: Packing, budget: StepBudget) -> list[Packing]:
    """Plans that leave fewer out than the best so far, each better than the one before."""
    better: list[Packing] = []
    for limit in _binding(problem, best):
        scarce = replace(problem, price=_by_limit(problem, limit))
        found = cheapest(scarce) or list(packings(scarce, fluid_bound(scarce), budget))[-1]
        packing = packing_of(problem, list(found.bins))
        if packing.rank < best.rank:
            best = packing
            better.append(packing)
    return better


def _binding(problem: PackingProblem, packing: Packing) -> list[int]:
    """Limits of which less is left than some machine uses, the scarcest first."""
    left = problem.limit_left.copy()
    for one in packing.bins:
        left -= problem.limit_use[:, one.option] * one.times
    is_binding: Bools = np.asarray((problem.limit_use > left[:, None] + 1e-9).any(axis=1))
    share: Floats = left / np.maximum(problem.limit_left, 1e-9)
    order: list[int] = np.argsort(share, kind="stable").tolist()
    return [limit for limit in order if is_binding[limit]][:_MOST]


def _by_limit(problem: PackingProblem, limit: int) -> Floats:
    use = problem.limit_use[limit] / max(float(problem.limit_use[limit].max()), 1e-9)
    return use + _OF_PRICE * problem.price / max(float(problem.price.max()), 1e-9)


@dataclass(slots=True)
class NodeSelection:
    """Machines with their pods, pods that found no slot, and whether the packing is proven to be the cheapest."""

    nodes: list[AssignedMachine]
    unplaced: list[Pod]
    left: list[Portion]
    limits: Floats
    """What is left of the market's limits."""

    is_optimal: bool
    bound: float | None
    """The proven bound of the whole, if it was bought as one problem."""

    queues: dict[int, list[Pod]]
    """The pods of each group that were handed to no machine."""

    is_first: bool
    """Whether the search found no plan before this one."""


class NodeSelector:
    """Buys for the portions of one plan."""

    def __init__(
        self,
        table: NodeOptionTable,
        groups: Sequence[EquivalenceGroup],
        allowed: Sequence[Bools],
        tags: Sequence[NeighborTags],
        budget: StepBudget,
    ) -> None:
        self._table, self._groups, self._allowed = table, groups, allowed
        self._tags, self._budget = tags, budget
        self._limits = table.limit_left.copy()
        self._found: dict[tuple[tuple[int, int, int], tuple[int, ...], bytes], _Found] = {}

    def purchases(self, portions: Sequence[Portion], queues: dict[int, list[Pod]]) -> Iterator[NodeSelection]:
        """The best plan for these portions first, then those that were found before it, each dearer than the last.

        Somebody who repairs what a plan leaves open may find that an earlier plan needs less of it.
        """
        back = 0
        while True:
            purchase = self._buy(portions, {number: list(pods) for number, pods in queues.items()}, back)
            yield purchase
            if purchase.is_first:
                return
            back += 1

    def _buy(self, portions: Sequence[Portion], queues: dict[int, list[Pod]], back: int) -> NodeSelection:
        whole = self._by_tiers(portions, self._limits, back)
        nodes: list[AssignedMachine] = []
        unplaced: list[Pod] = []
        for rows, options, bins in whole.batches:
            bins.sort(key=partial(_slack, rows))  # the fullest first: see PlacementSolution.buy
            placed, without = PodAssignment(self._tags, rows, queues).run(bins)
            for node in placed:
                node.option = int(options[node.option])
            nodes += [node for node in placed if node.pods]
            unplaced += without
        return NodeSelection(
            nodes, unplaced, whole.left, whole.limits, whole.is_optimal, whole.bound, queues, whole.is_first
        )

    def _by_tiers(self, portions: Sequence[Portion], limits: Floats, back: int) -> "_Batches":
        """All portions at once: what a higher tier takes, no lower one sees."""
        tiers = sorted({option.tier for option in self._table.node_options.options}, reverse=True)
        result = _Batches([], list(portions), limits.copy(), is_optimal=len(tiers) == 1)
        for tier in tiers:
            if not result.left:
                break
            options = np.array([at for at, kind in enumerate(self._table.node_options.options) if kind.tier == tier])
            found = self._search(tier, result.left, options, result.limits)
            rows, at = found.rows, max(0, len(found.packings) - 1 - back)
            packing = found.packings[at]
            result.is_first = result.is_first and at == 0
            result.is_optimal = result.is_optimal and found.is_optimal
            result.bound = found.bound if len(tiers) == 1 and not packing.left.any() else None
            for one in packing.bins:
                result.limits -= rows.problem.limit_use[:, one.option] * one.times
            kept, result.left = _split(rows, packing)
            result.batches.append((kept, options, list(packing.bins)))
        return result

    def _search(
        self, tier: tuple[int, int, int], portions: Sequence[Portion], options: Ints, limits: Floats
    ) -> "_Found":
        """Plans for one tier, searched for once however often they are asked for."""
        key = (tier, tuple(map(id, portions)), limits.tobytes())
        found = self._found.get(key)
        if found is None:
            rows = rows_of(self._table, self._groups, portions, self._allowed, options)
            found = self._found[key] = self._packed(rows, list(portions), limits)
        return found

    def _packed(self, rows: ProblemRows, portions: list[Portion], limits: Floats) -> "_Found":
        problem = replace(rows.problem, limit_left=limits)
        exact = cheapest(problem)
        if exact is not None:
            return _Found(rows, [exact], exact.cost, portions, is_optimal=True)
        bound = fluid_bound(problem)
        found = list(packings(problem, bound, self._budget))
        if len(limits) and found[-1].left.any():
            found += sparing(problem, found[-1], self._budget)
        return _Found(rows, found, bound.cost, portions, is_optimal=False)


@dataclass(slots=True)
class _Found:
    rows: ProblemRows
    packings: list[Packing]
    """Each better than the one before."""

    bound: float
    """Proven."""

    portions: list[Portion]
    """Held, so that their identities stay theirs."""

    is_optimal: bool


@dataclass(slots=True)
class _Batches:
    batches: list[tuple[ProblemRows, Ints, list[Bin]]]
    left: list[Portion]
    limits: Floats
    is_optimal: bool
    bound: float | None = None
    is_first: bool = True


def _slack(rows: ProblemRows, one: Bin) -> float:
    """How much of a machine's scarcest resource would stay free: 0 is full."""
    problem = rows.problem
    used = sum(problem.need[row] * pods for row, pods in one.content)
    room = np.maximum(problem.room[one.option], 1)
    return float(((room - used) / room).min())


def _split(rows: ProblemRows, packing: Packing) -> tuple[ProblemRows, list[Portion]]:
    """Portions that got slots, and those that did not: of a row, the last ones go without."""
    if not packing.left.any():
        return rows, []
    kept: list[list[Portion]] = []
    left: list[Portion] = []
    for portions, missing in zip(rows.portions, packing.left.tolist(), strict=True):
        here: list[Portion] = []
        for portion in reversed(portions):
            without = min(missing, portion.count)
            missing -= without  # noqa: PLW2901 - what is still to be left out
            if without:
                left.append(replace(portion, count=without))
            if portion.count > without:
                here.append(replace(portion, count=portion.count - without))
        kept.append(here[::-1])
    return replace(rows, portions=kept), left
