"""What the solver solves: a self-contained problem in arrays, without a pod, a node or a name in it.

It can be handed to a thread and outlive the Snapshot it was made from. A *row* is a number of pods that are alike for
packing: same requests, same machines allowed, same zone. A *kind* is a machine that can be bought. Amounts are whole
numbers in units of the greatest common divisor of all requests, so nothing is rounded and the numbers stay small.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ANY_ZONE = -1
NO_CLIQUE = -1


@dataclass(frozen=True, slots=True)
class PackingProblem:
    """Pods to be packed into machines yet to be bought."""

    need: Ints
    """[row, resource] what one pod asks for."""

    count: Ints
    """[row] how many pods."""

    zone: Ints
    """[row] where they must be, or ANY_ZONE."""

    clique: Ints
    """[row] which clique they belong to, or NO_CLIQUE: of a clique, a node holds only so many."""

    clique_cap: Ints
    """[clique] how many pods of it one node may hold."""

    allowed: Bools
    """[row, kind] whether the machine takes such a pod at all, zones aside."""

    room: Ints
    """[kind, resource] what one machine brings."""

    price: Floats
    """[kind] per hour."""

    kind_zone: Ints
    """[kind] where it stands."""

    limit_use: Floats
    """[limit, kind] how much of a limit one machine uses up."""

    limit_left: Floats
    """[limit] how much is left of it."""

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.count)

    @property
    def options(self) -> int:
        """How many kinds there are."""
        return len(self.price)

    def visible(self) -> Bools:
        """[row, kind] whether such a pod may lie on such a machine, zones considered."""
        zones = (self.zone[:, None] == ANY_ZONE) | (self.zone[:, None] == self.kind_zone[None, :])
        return self.allowed & zones


@dataclass(frozen=True, slots=True)
class Bin:
    """So many machines of one kind that all hold the same: ``content`` is (row, pods of it on each)."""

    option: int
    content: tuple[tuple[int, int], ...]
    times: int


@dataclass(frozen=True, slots=True)
class Packing:
    """A plan in arrays: what to buy, what lies in it, what found no place."""

    bins: tuple[Bin, ...]
    left: Ints
    """[row] pods without a place."""

    cost: float

    @property
    def nodes(self) -> int:
        """How many machines."""
        return sum(one.times for one in self.bins)

    @property
    def rank(self) -> tuple[int, float, int]:
        """What makes a packing better: fewer left out, then cheaper, then fewer machines."""
        return (int(self.left.sum()), round(self.cost, 9), self.nodes)


@dataclass(frozen=True, slots=True)
class StepBudget:
    """How much thinking is allowed, in steps: seconds would give another plan on another day.

    Each of these only adds plans to choose from, so more budget never makes the plan dearer.
    """

    passes: int = 1
    """Greedy plans with different tastes."""

    rounds: int = 400
    """Rounds of column generation."""

    steps: int = 400
    """Steps of a single search for the best content of one machine."""


def packing_of(problem: PackingProblem, bins: list[Bin]) -> Packing:
    """The packing that these bins make."""
    left = problem.count.copy()
    cost = 0.0
    for one in bins:
        cost += one.times * float(problem.price[one.option])
        for row, pods in one.content:
            left[row] -= pods * one.times
    return Packing(tuple(bins), left, cost)
