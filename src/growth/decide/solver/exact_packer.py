"""The cheapest packing, proven, when there is little to pack: a dynamic programme over all demands that could be left.

A *state* says how many pods of each row are still to be placed. Every content of a machine leads from one state to a
smaller one, so the cheapest way from the whole demand to nothing is found by looking at states in the order of how many
pods they hold. Only contents that cannot grow without a dearer machine are needed: taking too much never hurts.
"""

import numpy as np
from numpy.typing import NDArray

from growth.decide.solver.problem import NO_CLIQUE, Bin, Bools, Floats, Ints, Packing, PackingProblem, packing_of

MAX_STATES = 10_000
# More contents in more states than this, and the ordinary search is quicker than the proof; it would take 12 MB, too.
_MAX_WORK = 3_000_000
# So many kinds are compared with each other, which takes less than to ask them all about all states.
_MAX_COMPARED = 128
# Among equal prices fewer machines are better.
_PER_MACHINE = 1e-7


def states_of(problem: PackingProblem) -> int:
    """How many demands there are between nothing and everything; capped well above MAX_STATES."""
    states = 1
    for count in problem.count.tolist():
        states *= count + 1
        if states > 1 << 40:
            break
    return states


def cheapest(problem: PackingProblem) -> Packing | None:
    """The optimum, or None if there is too much to look at, or if the limits forbid what would be cheapest."""
    # What is sold only in other zones than a row's own is not for it: such rows stay left.
    rows = np.flatnonzero((problem.count > 0) & problem.visible().any(axis=1))
    if not len(rows) or states_of(problem) > MAX_STATES:
        return None
    digits, radix = _all_states(problem.count[rows])
    option, price = _cheapest_kinds(problem, rows, digits)
    useful = _that_cannot_grow(digits, radix, price)
    if len(useful) * len(digits) > _MAX_WORK:
        return None
    price = price + _PER_MACHINE * problem.price.min()
    step = _steps(digits, radix, useful)
    chosen = _solved(digits.sum(axis=1), step, price[useful])
    bins: dict[tuple[int, tuple[tuple[int, int], ...]], int] = {}
    state = len(digits) - 1
    while state:
        content = int(chosen[state])
        after = int(step[content, state])
        taken = digits[state] - digits[after]
        key = (int(option[useful[content]]), tuple((int(rows[at]), int(taken[at])) for at in np.flatnonzero(taken)))
        bins[key] = bins.get(key, 0) + 1
        state = after
    packing = packing_of(problem, [Bin(*key, times) for key, times in sorted(bins.items())])
    return packing if _is_within_limits(problem, packing) else None


def _all_states(count: Ints) -> tuple[Ints, Ints]:
    """[state, row] every demand, and what one pod of each row adds to a state's number."""
    radix = np.concatenate([np.ones(1, dtype=np.int64), np.cumprod(count + 1)[:-1]])
    number = np.arange(int(np.prod(count + 1)))
    return number[:, None] // radix % (count + 1), radix


def _cheapest_kinds(problem: PackingProblem, rows: Ints, digits: Ints) -> tuple[Ints, Floats]:
    """[state] the cheapest machine that holds all of it at once, and its price (infinite if none does)."""
    total = digits @ problem.need[rows]
    fits_cliques = np.ones(len(digits), dtype=np.bool_)
    for clique, cap in enumerate(problem.clique_cap.tolist()):
        inside = problem.clique[rows] == clique
        if clique != NO_CLIQUE and inside.any():
            fits_cliques &= digits[:, inside].sum(axis=1) <= cap
    best = np.full(len(digits), np.inf)
    kind_of = np.full(len(digits), -1)
    visible = problem.visible()[rows]
    present = digits > 0
    for option in _worth_asking(problem, visible):
        open_states = np.flatnonzero(fits_cliques & (kind_of < 0))
        fits = (total[open_states] <= problem.room[option]).all(axis=1)
        hidden = ~visible[:, option]
        if hidden.any():
            fits &= ~present[np.ix_(open_states, np.flatnonzero(hidden))].any(axis=1)
        fitting = open_states[fits]
        best[fitting] = problem.price[option]
        kind_of[fitting] = option
    best[0] = np.inf
    return kind_of, best


def _worth_asking(problem: PackingProblem, visible: Bools) -> list[int]:
    """Kinds, the cheapest first, without those that hold nothing which one before them does not hold: most are the same
    machine in another place, or a dearer one of the same size."""
    order = np.lexsort((np.arange(problem.options), problem.price))
    if len(order) <= _MAX_COMPARED:
        room, seen = problem.room[order], visible[:, order]
        covers = (room[:, None, :] >= room[None, :, :]).all(axis=2)
        covers &= (seen[:, :, None] >= seen[:, None, :]).all(axis=0)
        order = order[~np.triu(covers, 1).any(axis=0)]
    return order.tolist()


def _that_cannot_grow(digits: Ints, radix: Ints, price: Floats) -> Ints:
    """Contents to which no pod can be added at the same price."""
    full = digits[-1]
    stays = np.isfinite(price)
    for row, step in enumerate(radix.tolist()):
        growing = np.flatnonzero(stays & (digits[:, row] < full[row]))
        stays[growing[price[growing + step] <= price[growing]]] = False
    return np.flatnonzero(stays)


def _steps(digits: Ints, radix: Ints, useful: Ints) -> NDArray[np.int32]:
    """[content, state] where each content leads from each state: the largest table of all, so in half the bytes."""
    step = np.zeros((len(useful), len(digits)), dtype=np.int32)
    for row, unit in enumerate(radix.tolist()):
        amounts = np.arange(int(digits[-1, row]) + 1)
        after = np.maximum(amounts[None, :] - digits[useful, row][:, None], 0) * unit
        step += after.astype(np.int32)[:, digits[:, row]]
    return step


def _solved(pods: Ints, step: NDArray[np.int32], price: Floats) -> Ints:
    """[state] which content to begin with."""
    cost = np.full(len(pods), np.inf)
    cost[0] = 0.0
    chosen = np.zeros(len(pods), dtype=np.int64)
    for layer in range(1, int(pods.max(initial=0)) + 1):
        states = np.flatnonzero(pods == layer)
        after = step[:, states]
        # A content that takes nothing from a state leads nowhere.
        total = np.where(after == states, np.inf, cost[after] + price[:, None])
        chosen[states] = total.argmin(axis=0)
        cost[states] = total.min(axis=0)
    return chosen


def _is_within_limits(problem: PackingProblem, packing: Packing) -> bool:
    used = np.zeros(len(problem.limit_left))
    for one in packing.bins:
        used += problem.limit_use[:, one.option] * one.times
    return bool((used <= problem.limit_left + 1e-9).all())
