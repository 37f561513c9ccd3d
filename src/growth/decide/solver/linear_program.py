"""Linear programmes, behind a small typed surface: the one module that knows HiGHS.

A programme here is always "buy so much of each column, as cheaply as possible, so that every row gets what it needs".
Columns may be added after a solve; the next one starts from where the last one ended. One thread and no presolve, so
that the same programme always takes the same path to the same answer. HiGHS gives up the interpreter lock while it
works, so a solve on a thread does not stop the event loop.
"""

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

INFINITE = highspy.kHighsInf


@dataclass(frozen=True, slots=True)
class LinearSolution:
    """An optimal answer: how much of each column, and what one more unit of each row's need would cost."""

    cost: float
    amounts: Floats
    row_prices: Floats


class Unsolved(RuntimeError):
    """HiGHS ended without an optimal answer, which a programme of ours should never cause."""


class LinearProgram:
    """Minimise cost over columns, each row between its bounds."""

    def __init__(self, lower: Floats, upper: Floats) -> None:
        self._highs = highspy.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("presolve", "off"), ("random_seed", 1)):
            self._highs.setOptionValue(option, value)
        nothing = np.zeros(0, dtype=np.int32)
        self._highs.addRows(len(lower), lower, upper, 0, nothing, nothing, np.zeros(0))

    def add_columns(self, cost: Floats, upper: Floats, starts: Ints, rows: Ints, values: Floats) -> None:
        """More columns; ``starts`` says where in ``rows`` and ``values`` each one begins."""
        self._highs.addCols(len(cost), cost, np.zeros(len(cost)), upper, len(rows), starts, rows, values)

    def solve(self) -> LinearSolution:
        """The cheapest answer, or Unsolved."""
        self._highs.run()
        status = self._highs.getModelStatus()
        if status != highspy.HighsModelStatus.kOptimal:
            raise Unsolved(f"the linear programme ended as {self._highs.modelStatusToString(status)}")
        solution = self._highs.getSolution()
        return LinearSolution(
            cost=float(self._highs.getObjectiveValue()),
            amounts=np.asarray(solution.col_value, dtype=np.float64),
            row_prices=np.asarray(solution.row_dual, dtype=np.float64),
        )
