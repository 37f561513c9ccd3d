"""The fluid bound: what the pods would cost if machines and pods could be cut into any fractions.

No real plan can be cheaper, so the distance to it says how much a plan could still be improved at most. The programme
also prices things: what a pod of each row costs at the margin (``row_value``), which guides the search.

The proof does not trust the programme. Whatever prices it returns are first made to satisfy "no machine is worth more
than it costs"; any such prices give a valid bound, so rounding errors and merged rows can weaken it but never make it
wrong.
"""

from dataclasses import dataclass

import numpy as np

from growth.decide.solver.linear_program import INFINITE, LinearProgram, Unsolved
from growth.decide.solver.problem import Bools, Floats, Ints, PackingProblem

# Above so many different rows, rows that point in nearly the same direction are merged for the programme.
MAX_LP_ROWS = 250
_DIRECTIONS = 24
# Up to so many pairs of rows and nodes it is found out which fits on which; beyond, only which could on any.
_MAX_PAIRS = 500_000


@dataclass(frozen=True, slots=True)
class FluidBound:
    """The proven bound and the prices that prove it."""

    cost: float
    row_value: Floats


@dataclass(frozen=True, slots=True)
class FreeSpace:
    """Room that costs nothing: what is free on nodes that exist, taken as one pool, and which rows may use it."""

    room: Ints
    allowed: Bools


def spare_of(free: Ints, need: Ints) -> FreeSpace:
    """The spare room of nodes with so much free, [node, resource], for rows that need so much, [row, resource].

    Room on a node that is too small for every pod is no use, and neither is any room to a pod that fits on no node.
    """
    free = np.maximum(free, 0)
    is_useful = (free >= need.min(axis=0)).all(axis=1)
    free = free[is_useful]
    most = free.max(axis=0) if len(free) else np.zeros(need.shape[1], dtype=np.int64)
    allowed: Bools = np.asarray((need <= most).all(axis=1))
    if len(free) * len(need) <= _MAX_PAIRS:
        fits = np.ones((len(need), len(free)), dtype=np.bool_)
        for resource in range(need.shape[1]):
            fits &= need[:, [resource]] <= free[None, :, resource]
        allowed, free = np.asarray(fits.any(axis=1)), free[fits.any(axis=0)]
    return FreeSpace(free.sum(axis=0), allowed)


def fluid_bound(problem: PackingProblem, spare: FreeSpace | None = None) -> FluidBound:
    """A lower bound of the cost of placing every pod that some kind takes, and a price for each row."""
    usable = problem.allowed.any(axis=1) & (problem.count > 0)
    options = undominated(problem)
    if not usable.any() or not len(options):
        return FluidBound(0.0, np.zeros(problem.rows))
    need, room = problem.need.astype(np.float64), problem.room[options].astype(np.float64)
    allowed = problem.allowed[:, options]
    free = None if spare is None or not spare.room.any() else spare
    if free is not None:
        room = np.vstack([room, free.room.astype(np.float64)])
        allowed = np.hstack([allowed, free.allowed[:, None]])
    members = _merged(need[usable], allowed[usable])
    weight = np.where(usable, problem.count, 0).astype(np.float64)
    total = np.zeros((int(members.max()) + 1, need.shape[1]))
    np.add.at(total, members, need[usable] * weight[usable, None])
    merged_allowed = np.zeros((len(total), allowed.shape[1]), dtype=np.bool_)
    merged_allowed[members] = allowed[usable]
    price = problem.price[options]
    limit_use, limit_left = problem.limit_use[:, options], problem.limit_left
    try:
        worth, limit_price = _prices(total, merged_allowed, room, price, (limit_use, limit_left))
    except Unsolved:
        # The limits leave no room for everything, even cut into fractions: then they do not bind the bound.
        limit_use, limit_left = limit_use[:0], limit_left[:0]
        worth, limit_price = _prices(total, merged_allowed, room, price, (limit_use, limit_left))
    # Whatever the programme said, no machine may be worth more than its price and the limits it uses up.
    ceiling = price + limit_price @ limit_use
    sums = (room[: len(options)] * worth[: len(options)]).sum(axis=1)
    worth[: len(options)] *= np.minimum(1.0, ceiling / np.maximum(sums, 1e-300))[:, None]
    value = _row_values(need, worth, allowed)
    cost = float((value * weight).sum() - limit_price @ limit_left)
    if free is not None:
        cost -= float(room[-1] @ worth[-1])
    return FluidBound(max(0.0, cost * (1 - 1e-12)), np.where(usable, value, 0.0))


def undominated(problem: PackingProblem) -> Ints:
    """Kinds that some mix of demand could need in the fluid picture: no other gives more per price and limit."""
    signature = np.column_stack(
        [problem.room, problem.price, problem.limit_use.T, np.packbits(problem.allowed, axis=0).T]
    )
    _, first = np.unique(signature, axis=0, return_index=True)
    options = np.sort(first)
    options = options[problem.allowed[:, options].any(axis=0)]
    price = np.maximum(problem.price[options], 1e-12)[:, None]
    rate = problem.room[options] / price
    use = problem.limit_use[:, options].T / price
    takes = problem.allowed[:, options].astype(np.float32)
    kept: list[int] = []
    # Best rates first, so that one pass of comparisons with what is kept is enough.
    for index in np.lexsort((np.arange(len(options)), -takes.sum(axis=0), -rate.sum(axis=1))):
        one = int(index)
        others = np.array(kept, dtype=np.int64)
        if kept and bool(
            (
                (rate[others] >= rate[one] * (1 - 1e-12)).all(axis=1)
                & (use[others] <= use[one] * (1 + 1e-12)).all(axis=1)
                & (takes[:, others] >= takes[:, [one]]).all(axis=0)
            ).any()
        ):
            continue
        kept.append(one)
    return options[np.sort(np.array(kept, dtype=np.int64))]


def _row_values(need: Floats, worth: Floats, allowed: Bools) -> Floats:
    """What a pod of each row costs at these prices: the least over all machines that take it."""
    value = np.full(len(need), np.inf)
    for option in range(len(worth)):
        value = np.minimum(value, np.where(allowed[:, option], need @ worth[option], np.inf))
    return np.where(np.isfinite(value), value, 0.0)


def _merged(need: Floats, allowed: Bools) -> Ints:
    """Which merged row each row belongs to. Rows that differ in size only are one row of the fluid."""
    share = need / np.maximum(need.max(axis=0), 1)
    direction = share / np.maximum(share.max(axis=1, keepdims=True), 1e-300)
    masks = np.packbits(allowed, axis=1)
    members = np.zeros(len(need), dtype=np.int64)
    for steps in (10**6, _DIRECTIONS, _DIRECTIONS // 3, 1):
        rounded = np.rint(direction * steps)
        key = np.column_stack([rounded, masks])
        _, inverse = np.unique(key, axis=0, return_inverse=True)
        members = inverse.reshape(-1).astype(np.int64)
        if members.max() < MAX_LP_ROWS:
            break
    return members


def _prices(
    total: Floats, allowed: Bools, room: Floats, price: Floats, limits: tuple[Floats, Floats]
) -> tuple[Floats, Floats]:
    """Solve the fluid programme; returns what a unit of each resource is worth on each kind, and each limit's price.

    Unknowns: which fraction of row r lies on kind k, and how many machines of kind k. A kind beyond ``price`` is the
    spare room: there is one of it, for nothing.
    """
    rows, options, resources = len(total), len(room), total.shape[1]
    launched = len(price)
    limit_use, limit_left = limits
    lower = np.concatenate(
        [np.ones(rows), np.full(options * resources, -INFINITE), np.full(len(limit_left), -INFINITE)]
    )
    spare_rows = np.zeros((options, resources))
    spare_rows[launched:] = 1.0
    upper = np.concatenate([np.ones(rows), spare_rows.reshape(-1), limit_left])
    programme = LinearProgram(lower, upper)
    row, option = np.nonzero(allowed)
    share = total[row] / np.maximum(room[option], 1e-300)
    own: Ints = np.add.outer(
        rows + np.arange(options, dtype=np.int64) * resources, np.arange(resources, dtype=np.int64)
    )
    index = np.column_stack([row, own[option]])
    values = np.column_stack([np.ones(len(row)), np.minimum(share, 1e9)])
    starts = np.arange(len(row), dtype=np.int32) * (resources + 1)
    programme.add_columns(
        np.zeros(len(row)),
        np.full(len(row), INFINITE),
        starts,
        index.reshape(-1).astype(np.int32),
        values.reshape(-1),
    )
    all_limits = np.tile(np.arange(len(limit_left)) + rows + options * resources, (launched, 1))
    index = np.column_stack([own[:launched], all_limits])
    values = np.column_stack([np.full((launched, resources), -1.0), limit_use.T])
    programme.add_columns(
        price,
        np.full(launched, INFINITE),
        np.arange(launched, dtype=np.int32) * (resources + len(limit_left)),
        index.reshape(-1).astype(np.int32),
        values.reshape(-1),
    )
    prices = programme.solve().row_prices
    shares = np.maximum(0.0, -prices[rows : rows + options * resources].reshape(options, resources))
    worth = shares / np.maximum(room, 1e-300)
    return np.where(room > 0, worth, 0.0), np.maximum(0.0, -prices[rows + options * resources :])
