"""When limits keep somebody out: plans that spare what is scarce, whatever they cost.

The search looks for cheap machines, and cheap ones may use up a limit too soon: one node of 8 CPU holds what four of 2
CPU do, and if a pool may have one node only the large one helps. So each limit that binds is taken for the price.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from growth.decide.pack.bound import fluid_bound
from growth.decide.pack.exact import cheapest
from growth.decide.pack.problem import Bools, Budget, Floats, Packing, Problem, packing_of
from growth.decide.pack.search import packings

# So many limits are looked at, those that are nearest to being used up first.
_MOST: Final = 6
# Among machines that use equally much of a limit the cheaper one is better.
_OF_PRICE: Final = 1e-3


def sparing(problem: Problem, best: Packing, budget: Budget) -> list[Packing]:
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


def _binding(problem: Problem, packing: Packing) -> list[int]:
    """Limits of which less is left than some machine uses, the scarcest first."""
    left = problem.limit_left.copy()
    for one in packing.bins:
        left -= problem.limit_use[:, one.kind] * one.times
    is_binding: Bools = np.asarray((problem.limit_use > left[:, None] + 1e-9).any(axis=1))
    share: Floats = left / np.maximum(problem.limit_left, 1e-9)
    order: list[int] = np.argsort(share, kind="stable").tolist()
    return [limit for limit in order if is_binding[limit]][:_MOST]


def _by_limit(problem: Problem, limit: int) -> Floats:
    use = problem.limit_use[limit] / max(float(problem.limit_use[limit].max()), 1e-9)
    return use + _OF_PRICE * problem.price / max(float(problem.price.max()), 1e-9)
