"""Column generation: a linear programme over whole machine contents, which asks for better ones until there are none.

The programme knows some contents ("columns": a kind and how many pods of each row lie on it) and buys fractions of
them. Its row prices say what a pod of each row costs at the moment; a content worth more than its machine is a better
column, and the knapsack search looks for one. Prices jump from round to round, so the search works at a mix of old and
new ones. At the end fractions are rounded down and the rest is packed by the greedy planner.
"""

import numpy as np

from growth.decide.solver.greedy_packer import GreedyOptions, fill
from growth.decide.solver.knapsack import Knapsacks, best_content
from growth.decide.solver.linear_program import INFINITE, LinearProgram, LinearSolution, Unsolved
from growth.decide.solver.problem import Bin, Floats, Ints, Packing, PackingProblem, packing_of
from growth.decide.solver.relaxed_problem import RelaxedProblem

Column = tuple[int, tuple[tuple[int, int], ...]]

# How much of the old prices stays in those the search works at.
_INERTIA = 0.5
# Fewer machines are better: in the programme each costs this fraction of the cheapest one more. It shifts a plan by
# hundredths of a percent and keeps rounding from opening machines that hold next to nothing.
_PER_MACHINE = 0.1
# A bin is bought once more if the programme wants at least this much of it. Plans with few machines try several of
# these and take the cheapest; among many machines, rounding hardly matters.
_ROUND_UP_FROM = (0.8, 1.01, 0.5)
_FEW_MACHINES = 300
# The programme is as good as done if this many rounds made it cheaper by no more than this fraction.
_PATIENCE = 10
_STALLED = 4e-4


class ColumnGeneration:
    """The programme and its columns."""

    def __init__(self, problem: PackingProblem, start: list[Bin], row_value: Floats) -> None:
        self.problem = problem
        self._prices = row_value
        self._master = _Master(problem)
        self._master.add([(one.option, one.content) for one in start])
        self._shelves = Knapsacks(problem, np.arange(problem.options))
        self._left: list[int] = problem.count.tolist()
        self.rounds = 0
        self.is_done = False
        self.costs: list[float] = []

    @property
    def known(self) -> list[Column]:
        """All contents so far."""
        return self._master.columns

    def improve(self, rounds: int, steps: int, enough: float) -> None:
        """So many more rounds, or until nothing better is found or the programme costs no more than ``enough``."""
        inertia = _INERTIA
        while self.rounds < rounds and not self.is_done:
            self.rounds += 1
            try:
                answer = self._master.solve()
            except Unsolved:
                self.is_done = True
                return
            self.costs.append(answer.cost)
            if answer.cost <= enough or self._is_stalled():
                self.is_done = True
                return
            row_prices, limit_prices = self._master.split(answer.row_prices)
            mixed = inertia * self._prices + (1 - inertia) * row_prices
            better = self._better_columns(mixed, row_prices, limit_prices, steps if inertia else 4 * steps)
            self._prices = mixed
            if better:
                self._master.add(better)
                inertia = _INERTIA
            elif inertia:
                inertia = inertia / 2 if inertia > 0.1 else 0.0
            else:
                self.is_done = True

    def _is_stalled(self) -> bool:
        return len(self.costs) > _PATIENCE and self.costs[-1] > self.costs[-1 - _PATIENCE] * (1 - _STALLED)

    def _better_columns(self, value: Floats, true_value: Floats, limit_prices: Floats, steps: int) -> list[Column]:
        problem, knapsacks = self.problem, self._shelves
        ceiling = problem.price + _PER_MACHINE * problem.price.min() - limit_prices @ problem.limit_use
        bounds = knapsacks.first_bounds(value)
        found: list[Column] = []
        for option in np.argsort(-bounds / ceiling, kind="stable").tolist():
            dear = ceiling[option] * (1 + 1e-9)
            if bounds[option] <= dear:
                break
            shelf = knapsacks.shelf(option, value, problem.count)
            if shelf.bound <= dear:
                continue
            for seed in (*shelf.leaders, -1):
                _, pairs = best_content(shelf, knapsacks.fields, self._left, steps, seed)
                content = tuple(pairs)
                worth = sum(true_value[row] * pods for row, pods in content)
                if worth > dear and not self._master.knows((option, content)):
                    found.append((option, content))
        return list(dict.fromkeys(found))


class _Master:
    """The linear programme over columns: every row gets its pods, no limit is exceeded."""

    def __init__(self, problem: PackingProblem) -> None:
        self._problem = problem
        self.columns: list[Column] = []
        self._known: set[Column] = set()
        free = np.full(len(problem.limit_left), -INFINITE)
        lower = np.concatenate([problem.count.astype(np.float64), free])
        upper = np.concatenate([np.full(problem.rows, INFINITE), problem.limit_left])
        self._programme = LinearProgram(lower, upper)

    def solve(self) -> LinearSolution:
        return self._programme.solve()

    def knows(self, column: Column) -> bool:
        return column in self._known

    def add(self, columns: list[Column]) -> None:
        problem = self._problem
        starts: list[int] = []
        rows: list[int] = []
        values: list[float] = []
        cost: list[float] = []
        extra = _PER_MACHINE * float(problem.price.min())
        for option, content in columns:
            if (option, content) in self._known:
                continue
            self._known.add((option, content))
            self.columns.append((option, content))
            starts.append(len(rows))
            cost.append(float(problem.price[option]) + extra)
            for row, pods in content:
                rows.append(row)
                values.append(float(pods))
            for limit in np.flatnonzero(problem.limit_use[:, option]).tolist():
                rows.append(problem.rows + limit)
                values.append(float(problem.limit_use[limit, option]))
        if cost:
            self._programme.add_columns(
                np.array(cost),
                np.full(len(cost), INFINITE),
                np.array(starts, dtype=np.int32),
                np.array(rows, dtype=np.int32),
                np.array(values),
            )

    def split(self, prices: Floats) -> tuple[Floats, Floats]:
        """Prices of rows (not negative) and of limits (not positive)."""
        rows = self._problem.rows
        return np.maximum(0.0, prices[:rows]), np.minimum(0.0, prices[rows:])


def rounded(small: RelaxedProblem, columns: list[Column], knapsacks: Knapsacks, taste: GreedyOptions) -> list[Packing]:
    """Whole plans from fractional ones: every column offered in every zone, solved, rounded, the rest packed."""
    problem = knapsacks.problem
    master = _Master(problem)
    offered: list[Column] = []
    for option, content in columns:
        for twin in small.twins[option]:
            inside = small.content_in(int(problem.kind_zone[twin]), content)
            if inside is not None:
                offered.append((twin, inside))
    master.add(offered)
    try:
        amounts = master.solve().amounts
    except Unsolved:
        return []
    packings: list[Packing] = []
    is_few = amounts.sum() < _FEW_MACHINES
    for up_from in _ROUND_UP_FROM if is_few else _ROUND_UP_FROM[:1]:
        bins, left, limits = _whole(problem, master.columns, amounts, up_from)
        more, _, _ = fill(knapsacks, taste, left, limits)
        packings.append(packing_of(problem, bins + more))
    return packings


def _whole(
    problem: PackingProblem, columns: list[Column], amounts: Floats, up_from: float
) -> tuple[list[Bin], Ints, Floats]:
    """So many of each column as the programme wants, in whole numbers, never past the demand or a limit."""
    left: list[int] = problem.count.tolist()
    limits = problem.limit_left.copy()
    bins: list[Bin] = []
    order: list[int] = np.lexsort((np.arange(len(amounts)), -amounts)).tolist()
    for index in order:
        whole = int(amounts[index] + 1e-9)
        option, content = columns[index]
        times = whole + int(amounts[index] - whole >= up_from)
        times = min(times, *(left[row] // pods for row, pods in content)) if times else 0
        use = problem.limit_use[:, option]
        if times and (use > 0).any():
            times = min(times, int(np.floor((limits[use > 0] / use[use > 0]).min() + 1e-9)))
        if times < 1:
            continue
        bins.append(Bin(option, content, times))
        limits -= use * times
        for row, pods in content:
            left[row] -= pods * times
    return bins, np.array(left, dtype=np.int64), limits
