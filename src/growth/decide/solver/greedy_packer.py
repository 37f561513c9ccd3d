"""The greedy planner: seed a machine with the largest pod left, fill it as well as possible, repeat.

A first plan in tens of milliseconds, and the finisher for what column generation leaves over. Rows have prices, and a
machine's content is worth the sum of them; the machine with the best worth for its own price wins. Prices are raised to
a power a little above one: large pods are dear, small ones are kept for filling gaps.
"""

import math
from dataclasses import dataclass

import numpy as np

from growth.decide.solver.knapsack import KnapsackRows, Knapsacks, best_content
from growth.decide.solver.problem import ANY_ZONE, Bin, Floats, Ints, PackingProblem

# How much of the demand may be used up before machines are weighed anew; more where there are few pods of each row.
_EPOCH = 0.12
_EPOCH_OF_SINGLES = 0.35
_MANY = 1 << 40


def dominant_price(problem: PackingProblem) -> Floats:
    """What a pod costs if it pays by the resource of which it takes the largest share, where that is cheapest."""
    share = np.zeros((problem.rows, problem.options))
    for resource in range(problem.need.shape[1]):
        np.maximum(share, problem.need[:, [resource]] / np.maximum(problem.room[None, :, resource], 1e-300), out=share)
    cost = np.where(problem.allowed, share * problem.price, np.inf)
    return np.where(problem.allowed.any(axis=1), cost.min(axis=1, initial=np.inf), 0.0)


@dataclass(frozen=True, slots=True)
class GreedyOptions:
    """What the greedy planner goes by."""

    value: Floats
    """[row] what placing a pod is worth; a machine with the most worth for its price is bought."""

    size: Floats
    """[row] by which the largest is found, which is placed first."""

    steps: int
    """How long to search for one machine's content."""


def fill(knapsacks: Knapsacks, taste: GreedyOptions, left: Ints, limit_left: Floats) -> tuple[list[Bin], Ints, Floats]:
    """Pack what is left into new machines: the bins, what still is left, and what is left of the limits."""
    return _Filling(knapsacks, taste, left, limit_left).run()


class _Filling:
    def __init__(self, knapsacks: Knapsacks, taste: GreedyOptions, left: Ints, limit_left: Floats) -> None:
        problem = knapsacks.problem
        self._shelves, self._value, self._steps = knapsacks, taste.value, taste.steps
        self._problem = problem
        self._left = left.copy()
        self._left_list: list[int] = left.tolist()
        self._limits: list[float] = limit_left.tolist()
        self._uses: dict[int, list[tuple[int, float]]] = {}  # by kind: which limits it uses up, and how fast
        self._kinds: list[int] = knapsacks.options.tolist()
        self._price: list[float] = problem.price.tolist()
        self._visible = problem.visible()
        self._order: list[int] = np.lexsort((np.arange(problem.rows), -taste.size)).tolist()
        self._bins: list[Bin] = []
        self._is_fresh: set[int] = set()
        self._shelf: dict[int, KnapsackRows] = {}
        # Bounds only fall while demand is used up, so an old one is still a bound.
        bounds = (knapsacks.first_bounds(taste.value) / problem.price[knapsacks.options]).tolist()
        self._rate: dict[int, float] = dict(zip(self._kinds, bounds, strict=True))
        self._used_since = 0
        self._epoch = _EPOCH if left.sum() > 4 * len(left) else _EPOCH_OF_SINGLES
        self._choices: dict[bytes, list[int]] = {}
        self._zone_load = np.zeros(int(problem.kind_zone.max(initial=0)) + 1)

    def run(self) -> tuple[list[Bin], Ints, Floats]:
        """Until nothing is left that can be placed."""
        left = self._left_list
        remaining = sum(left)
        self._new_epoch()
        for seed in self._order:
            candidates = self._candidates(seed) if left[seed] > 0 else []
            while left[seed] > 0:
                if self._used_since > self._epoch * remaining:
                    self._new_epoch()
                    candidates = self._candidates(seed)
                found = self._best_for(seed, candidates)
                if found is None:
                    break
                option, content = found
                times = min(left[row] // pods for row, pods in content)
                times = min(times, self._times_within_limits(option))
                self._bins.append(Bin(option, tuple(content), times))
                for row, pods in content:
                    left[row] -= pods * times
                    self._left[row] -= pods * times
                    self._used_since += pods * times
                remaining -= sum(pods for _, pods in content) * times
                for limit, use in self._uses_of(option):
                    self._limits[limit] -= use * times
        return self._bins, self._left, np.array(self._limits, dtype=np.float64)

    def _new_epoch(self) -> None:
        self._is_fresh.clear()
        self._choices.clear()
        self._used_since = 0
        zoned = self._problem.zone != ANY_ZONE
        self._zone_load = np.bincount(
            self._problem.zone[zoned], weights=self._left[zoned], minlength=len(self._zone_load)
        )

    def _best_for(self, seed: int, candidates: list[int]) -> tuple[int, list[tuple[int, int]]] | None:
        """The kind and content with the best worth for the price, among those that take the seed."""
        best_rate, best = 0.0, None
        fields, left = self._shelves.fields, self._left_list
        candidates.sort(key=self._rate.__getitem__, reverse=True)
        for option in candidates:
            if self._rate[option] <= best_rate:
                break
            if self._times_within_limits(option) < 1:
                continue
            shelf = self._fresh_shelf(option)
            if self._rate[option] <= best_rate:
                continue
            worth, content = best_content(shelf, fields, left, self._steps, seed)
            if worth > best_rate * self._price[option]:
                best_rate, best = worth / self._price[option], (option, content)
        return best

    def _fresh_shelf(self, option: int) -> KnapsackRows:
        if option not in self._is_fresh:
            self._shelf[option] = self._shelves.shelf(option, self._value, self._left)
            self._rate[option] = min(self._rate[option], self._shelf[option].bound / self._price[option])
            self._is_fresh.add(option)
        return self._shelf[option]

    def _candidates(self, seed: int) -> list[int]:
        """Kinds that take the seed; of twins in several zones the one to whose zone most pods are bound."""
        visible = self._visible[seed]
        key = visible.tobytes()
        known = self._choices.get(key)
        if known is None:
            known = [option for option in self._kinds if visible[option]]
            if int(self._problem.zone[seed]) == ANY_ZONE:
                known = self._one_of_each_twin(known)
            self._choices[key] = known
        return known

    def _one_of_each_twin(self, options: list[int]) -> list[int]:
        best: dict[int, int] = {}
        load, zone = self._zone_load, self._problem.kind_zone
        for option in options:
            if self._times_within_limits(option) < 1:
                continue
            twin = self._shelves.twins[option]
            known = best.get(twin)
            if known is None or load[zone[option]] > load[zone[known]]:
                best[twin] = option
        return sorted(best.values())

    def _times_within_limits(self, option: int) -> int:
        uses = self._uses_of(option)
        return math.floor(min([self._limits[limit] / use for limit, use in uses]) + 1e-9) if uses else _MANY

    def _uses_of(self, option: int) -> list[tuple[int, float]]:
        known = self._uses.get(option)
        if known is None:
            use = self._problem.limit_use[:, option]
            bounding: list[int] = np.flatnonzero(use > 0).tolist()
            known = self._uses[option] = list(zip(bounding, use[bounding].tolist(), strict=True))
        return known
