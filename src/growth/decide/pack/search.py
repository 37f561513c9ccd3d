"""The search for a cheap packing: better and better plans, one after the other, until the budget is used up.

The budget only decides how far down a fixed list of attempts the search goes. So more of it never gives a dearer plan,
and the same problem always gives the same one.
"""

from collections.abc import Iterator

import numpy as np

from growth.decide.pack.bound import FluidBound
from growth.decide.pack.collapse import collapsed, promising_kinds
from growth.decide.pack.columns import Columns, rounded
from growth.decide.pack.fill import Taste, dominant_price, fill
from growth.decide.pack.problem import Bin, Budget, Packing, Problem, packing_of
from growth.decide.pack.shelves import Shelves
from growth.decide.pack.windows import MAX_ROWS, fill_by_windows

# Tastes of the greedy planner: how much of a row's value is its dominant price (the rest is the bound's price), and
# the power it is raised to.
_TASTES = ((0.5, 1.0), (0.5, 1.1), (0.7, 1.05), (0.3, 1.0))
# After so many rounds of column generation a whole plan is made of what is known by then.
_CHECKPOINTS = (12, 50, 150, 400, 1000)
# The programme need not come nearer to the bound than this: rounding loses more.
_NEAR = 2e-4


def packings(problem: Problem, bound: FluidBound, budget: Budget) -> Iterator[Packing]:
    """Plans, each better than the one before."""
    best: Packing | None = None
    starts: list[Bin] = []
    for packing in _greedy(problem, bound, budget):
        starts += packing.bins
        if best is None or packing.rank < best.rank:
            best = packing
            yield best
    if best is None or not budget.rounds or best.left.any() or problem.rows > MAX_ROWS:
        return
    for packing in _generated(problem, bound, budget, starts, best):
        if packing.rank < best.rank:
            best = packing
            yield best


def _greedy(problem: Problem, bound: FluidBound, budget: Budget) -> Iterator[Packing]:
    kinds = promising_kinds(problem)
    if not len(kinds) or not problem.rows:
        yield packing_of(problem, [])
        return
    size = dominant_price(problem)
    shelves = Shelves(problem, kinds) if problem.rows <= MAX_ROWS else None
    passes = budget.passes if shelves is not None else budget.passes // 3
    for share, power in _TASTES[: max(1, passes)]:
        taste = Taste((share * size + (1 - share) * bound.row_value) ** power, size, budget.steps)
        if shelves is None:
            yield packing_of(problem, fill_by_windows(problem, kinds, taste))
        else:
            yield packing_of(problem, fill(shelves, taste, problem.count, problem.limit_left)[0])


def _generated(
    problem: Problem, bound: FluidBound, budget: Budget, starts: list[Bin], best: Packing
) -> Iterator[Packing]:
    kinds = promising_kinds(problem)
    small = collapsed(problem, kinds)
    begin = [here for one in starts if (here := small.bin_here(one)) is not None]
    value = np.zeros(small.problem.rows)
    value[small.row_of] = bound.row_value
    columns = Columns(small.problem, begin, value)
    shelves = Shelves(problem, kinds)
    size = dominant_price(problem)
    taste = Taste(0.5 * size + 0.5 * bound.row_value, size, budget.steps)
    for checkpoint in _CHECKPOINTS:
        if checkpoint > budget.rounds or columns.is_done or best.cost <= bound.cost * (1 + _NEAR):
            return
        columns.improve(checkpoint, budget.steps, bound.cost * (1 + _NEAR))
        for packing in rounded(small, columns.known, shelves, taste):
            if packing.rank < best.rank:
                best = packing
            yield packing
