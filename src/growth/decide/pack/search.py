"""The search for a cheap packing: better and better plans, one after the other, until the budget is used up.

The budget only decides how far down a fixed list of attempts the search goes. So more of it never gives a dearer plan,
and the same problem always gives the same one.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from growth.decide.pack.bound import FluidBound
from growth.decide.pack.collapse import collapsed, promising_kinds
from growth.decide.pack.columns import Columns, rounded
from growth.decide.pack.fill import Taste, dominant_price, fill
from growth.decide.pack.merge import merged
from growth.decide.pack.problem import Bin, Budget, Floats, Ints, Packing, Problem, packing_of
from growth.decide.pack.shelves import Shelves
from growth.decide.pack.windows import MAX_ROWS, fill_by_windows

# Tastes of the greedy planner: how much of a row's value is its dominant price (the rest is the bound's price), and
# the power it is raised to.
_TASTES = ((0.5, 1.0), (0.5, 1.1), (0.7, 1.05), (0.3, 1.0))
# After so many rounds of column generation a whole plan is made of what is known by then.
_CHECKPOINTS = (60, 150, 400, 1000)
# The programme need not come nearer to the bound than this: rounding loses more.
_NEAR = 2e-4


def packings(problem: Problem, bound: FluidBound, budget: Budget) -> Iterator[Packing]:
    """Plans, each better than the one before."""
    kinds = promising_kinds(problem)
    if not len(kinds) or not problem.rows:
        yield packing_of(problem, [])
        return
    best: Packing | None = None
    size = dominant_price(problem)
    starts: list[Bin] = []
    if problem.rows > MAX_ROWS:
        attempts = _windowed(problem, bound, size, kinds, budget)
    else:
        shelves = Shelves(problem, kinds)
        attempts = chain(
            _greedy(shelves, bound, size, budget, starts), _generated(shelves, bound, size, budget, starts)
        )
    for packing in (merged(problem, attempt) for attempt in attempts):
        if best is None or packing.rank < best.rank:
            best = packing
            yield best
        if best.cost <= bound.cost * (1 + _NEAR) and not best.left.any():
            return


def _tastes(bound: FluidBound, size: Floats, budget: Budget) -> Iterator[Taste]:
    for share, power in _TASTES:
        yield Taste((share * size + (1 - share) * bound.row_value) ** power, size, budget.steps)


def _windowed(problem: Problem, bound: FluidBound, size: Floats, kinds: Ints, budget: Budget) -> Iterator[Packing]:
    for taste in islice(_tastes(bound, size, budget), max(1, budget.passes // 3)):
        quick = replace(taste, steps=max(20, budget.steps // 3))
        yield packing_of(problem, fill_by_windows(problem, kinds, quick))


def _greedy(shelves: Shelves, bound: FluidBound, size: Floats, budget: Budget, starts: list[Bin]) -> Iterator[Packing]:
    problem = shelves.problem
    for number, taste in enumerate(islice(_tastes(bound, size, budget), max(1, budget.passes))):
        # The first plan should be there soon.
        quick = taste if number else replace(taste, steps=max(20, budget.steps // 3))
        bins, _, _ = fill(shelves, quick, problem.count, problem.limit_left)
        starts += bins
        yield packing_of(problem, bins)


def _generated(
    shelves: Shelves, bound: FluidBound, size: Floats, budget: Budget, starts: list[Bin]
) -> Iterator[Packing]:
    """Column generation, as long as everything has a place: what limits forbid, it cannot cure."""
    problem = shelves.problem
    if not budget.rounds or packing_of(problem, starts[:0]).left.sum() == 0:
        return
    small = collapsed(problem, shelves.kinds)
    begin = [here for one in starts if (here := small.bin_here(one)) is not None]
    value = np.zeros(small.problem.rows)
    value[small.row_of] = bound.row_value
    columns = Columns(small.problem, begin, value)
    taste = next(_tastes(bound, size, budget))
    for checkpoint in _CHECKPOINTS:
        if checkpoint > budget.rounds or columns.is_done:
            return
        columns.improve(checkpoint, budget.steps, bound.cost * (1 + _NEAR))
        yield from rounded(small, columns.known, shelves, taste)
