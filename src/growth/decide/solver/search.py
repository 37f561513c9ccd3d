"""Thousands of different shapes: a window of some of them at a time.

A machine holds a dozen pods; to fill it well, a hundred different shapes to choose from are plenty, and looking at nine
thousand only costs time. So rows are dealt out like cards, largest first, into windows that each hold a fair sample of
all sizes. Of each window only the well-filled machines are kept; what lies in the others goes to the next window.

The search for a cheap packing: better and better plans, one after the other, until the budget is used up.

The budget only decides how far down a fixed list of attempts the search goes. So more of it never gives a dearer plan,
and the same problem always gives the same one.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from growth.decide.solver.column_generation import ColumnGeneration, rounded
from growth.decide.solver.greedy_packer import GreedyOptions, dominant_price, fill
from growth.decide.solver.improvement import merged
from growth.decide.solver.knapsack import Knapsacks
from growth.decide.solver.lower_bound import FluidBound
from growth.decide.solver.problem import Bin, Floats, Ints, Packing, PackingProblem, StepBudget, packing_of
from growth.decide.solver.relaxed_problem import collapsed, promising_kinds

MAX_ROWS = 400
_WINDOW = 120
# The worst-filled machines, by what they hold for their price, are not kept: so much of a window's cost.
_POOR = 0.12


def fill_by_windows(problem: PackingProblem, options: Ints, taste: GreedyOptions) -> list[Bin]:
    """Pack everything, window after window."""
    left = problem.count.copy()
    limits = problem.limit_left.copy()
    bins: list[Bin] = []
    carried = np.zeros(0, dtype=np.int64)
    windows = list(_dealt(taste.size))
    for number, window in enumerate(windows):
        rows = np.concatenate([carried, window])
        is_last = number == len(windows) - 1
        small = _part(problem, rows, left)
        own = GreedyOptions(taste.value[rows], taste.size[rows], taste.steps)
        found, _, _ = fill(Knapsacks(small, options), own, small.count, limits)
        for one in found if is_last else _well_filled(problem, found, own.value):
            content = tuple(sorted((int(rows[row]), pods) for row, pods in one.content))
            bins.append(Bin(one.option, content, one.times))
            limits -= problem.limit_use[:, one.option] * one.times
            for row, pods in content:
                left[row] -= pods * one.times
        carried = rows[left[rows] > 0]
    return bins


def _dealt(size: Floats) -> Iterator[Ints]:
    order = np.lexsort((np.arange(len(size)), -size))
    hands = max(1, len(size) // _WINDOW)
    for hand in range(hands):
        yield order[hand::hands]


def _part(problem: PackingProblem, rows: Ints, left: Ints) -> PackingProblem:
    return replace(
        problem,
        need=problem.need[rows],
        count=left[rows],
        zone=problem.zone[rows],
        clique=problem.clique[rows],
        allowed=problem.allowed[rows],
    )


def _well_filled(problem: PackingProblem, bins: list[Bin], value: Floats) -> list[Bin]:
    """All but the worst."""
    rates = [
        sum(float(value[row]) * pods for row, pods in one.content) / float(problem.price[one.option]) for one in bins
    ]
    costs = [float(problem.price[one.option]) * one.times for one in bins]
    poor = _POOR * sum(costs)
    dropped: set[int] = set()
    for at in sorted(range(len(bins)), key=lambda at: (rates[at], at)):
        poor -= costs[at]
        if poor < 0:
            break
        dropped.add(at)
    return [one for at, one in enumerate(bins) if at not in dropped]


# Tastes of the greedy planner: how much of a row's value is its dominant price (the rest is the bound's price), and
# the power it is raised to.
_TASTES = ((0.5, 1.0), (0.5, 1.1), (0.7, 1.05), (0.3, 1.0))
# After so many rounds of column generation a whole plan is made of what is known by then.
_CHECKPOINTS = (60, 150, 400, 1000)
# The programme need not come nearer to the bound than this: rounding loses more.
_NEAR = 2e-4


def packings(problem: PackingProblem, bound: FluidBound, budget: StepBudget) -> Iterator[Packing]:
    """Plans, each better than the one before."""
    options = promising_kinds(problem)
    if not len(options) or not problem.rows:
        yield packing_of(problem, [])
        return
    best: Packing | None = None
    size = dominant_price(problem)
    starts: list[Bin] = []
    if problem.rows > MAX_ROWS:
        attempts = _windowed(problem, bound, size, options, budget)
    else:
        knapsacks = Knapsacks(problem, options)
        attempts = chain(
            _greedy(knapsacks, bound, size, budget, starts), _generated(knapsacks, bound, size, budget, starts)
        )
    for packing in (merged(problem, attempt) for attempt in attempts):
        if best is None or packing.rank < best.rank:
            best = packing
            yield best
        if best.cost <= bound.cost * (1 + _NEAR) and not best.left.any():
            return


def _tastes(bound: FluidBound, size: Floats, budget: StepBudget) -> Iterator[GreedyOptions]:
    for share, power in _TASTES:
        yield GreedyOptions((share * size + (1 - share) * bound.row_value) ** power, size, budget.steps)


def _windowed(
    problem: PackingProblem, bound: FluidBound, size: Floats, options: Ints, budget: StepBudget
) -> Iterator[Packing]:
    for taste in islice(_tastes(bound, size, budget), max(1, budget.passes // 3)):
        quick = replace(taste, steps=max(20, budget.steps // 3))
        yield packing_of(problem, fill_by_windows(problem, options, quick))


def _greedy(
    knapsacks: Knapsacks, bound: FluidBound, size: Floats, budget: StepBudget, starts: list[Bin]
) -> Iterator[Packing]:
    problem = knapsacks.problem
    for number, taste in enumerate(islice(_tastes(bound, size, budget), max(1, budget.passes))):
        # The first plan should be there soon.
        quick = taste if number else replace(taste, steps=max(20, budget.steps // 3))
        bins, _, _ = fill(knapsacks, quick, problem.count, problem.limit_left)
        starts += bins
        yield packing_of(problem, bins)


def _generated(
    knapsacks: Knapsacks, bound: FluidBound, size: Floats, budget: StepBudget, starts: list[Bin]
) -> Iterator[Packing]:
    """Column generation, as long as everything has a place: what limits forbid, it cannot cure."""
    problem = knapsacks.problem
    if not budget.rounds or packing_of(problem, starts[:0]).left.sum() == 0:
        return
    small = collapsed(problem, knapsacks.options)
    begin = [here for one in starts if (here := small.bin_here(one)) is not None]
    value = np.zeros(small.problem.rows)
    value[small.row_of] = bound.row_value
    columns = ColumnGeneration(small.problem, begin, value)
    taste = next(_tastes(bound, size, budget))
    for checkpoint in _CHECKPOINTS:
        if checkpoint > budget.rounds or columns.is_done:
            return
        columns.improve(checkpoint, budget.steps, bound.cost * (1 + _NEAR))
        yield from rounded(small, columns.known, knapsacks, taste)
