"""Thousands of different shapes: a window of some of them at a time.

A machine holds a dozen pods; to fill it well, a hundred different shapes to choose from are plenty, and looking at nine
thousand only costs time. So rows are dealt out like cards, largest first, into windows that each hold a fair sample of
all sizes. Of each window only the well-filled machines are kept; what lies in the others goes to the next window.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from growth.decide.pack.fill import Taste, fill
from growth.decide.pack.problem import Bin, Floats, Ints, Problem
from growth.decide.pack.shelves import Shelves

MAX_ROWS = 400
_WINDOW = 120
# The worst-filled machines, by what they hold for their price, are not kept: so much of a window's cost.
_POOR = 0.12


def fill_by_windows(problem: Problem, kinds: Ints, taste: Taste) -> list[Bin]:
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
        own = Taste(taste.value[rows], taste.size[rows], taste.steps)
        found, _, _ = fill(Shelves(small, kinds), own, small.count, limits)
        for one in found if is_last else _well_filled(problem, found, own.value):
            content = tuple(sorted((int(rows[row]), pods) for row, pods in one.content))
            bins.append(Bin(one.kind, content, one.times))
            limits -= problem.limit_use[:, one.kind] * one.times
            for row, pods in content:
                left[row] -= pods * one.times
        carried = rows[left[rows] > 0]
    return bins


def _dealt(size: Floats) -> Iterator[Ints]:
    order = np.lexsort((np.arange(len(size)), -size))
    hands = max(1, len(size) // _WINDOW)
    for hand in range(hands):
        yield order[hand::hands]


def _part(problem: Problem, rows: Ints, left: Ints) -> Problem:
    return replace(
        problem,
        need=problem.need[rows],
        count=left[rows],
        zone=problem.zone[rows],
        clique=problem.clique[rows],
        allowed=problem.allowed[rows],
    )


def _well_filled(problem: Problem, bins: list[Bin], value: Floats) -> list[Bin]:
    """All but the worst."""
    rates = [
        sum(float(value[row]) * pods for row, pods in one.content) / float(problem.price[one.kind]) for one in bins
    ]
    costs = [float(problem.price[one.kind]) * one.times for one in bins]
    poor = _POOR * sum(costs)
    dropped: set[int] = set()
    for at in sorted(range(len(bins)), key=lambda at: (rates[at], at)):
        poor -= costs[at]
        if poor < 0:
            break
        dropped.add(at)
    return [one for at, one in enumerate(bins) if at not in dropped]
