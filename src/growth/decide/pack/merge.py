"""Two machines into one, wherever that costs no more: fewer machines are better, and rounding leaves some over."""

from dataclasses import replace

import numpy as np

from growth.decide.pack.problem import NO_CLIQUE, Bin, Bools, Ints, Packing, Problem, packing_of

# So many are tried, the emptiest first, and so many united; beyond that there is little to gain.
_MOVERS = 40
_MERGES = 100


def merged(problem: Problem, packing: Packing) -> Packing:
    """The same packing, with machines united where one machine holds both contents for no more money."""
    bins: list[Bin] = list(packing.bins)
    if packing.nodes < 2:
        return packing
    total = np.array([_total(problem, one) for one in bins])
    kinds = np.array([one.kind for one in bins])
    times = np.array([one.times for one in bins])
    room = problem.room[kinds]
    slack = (1 - total / np.maximum(room, 1)).min(axis=1, where=room > 0, initial=1.0)
    visible = problem.visible()
    order: list[int] = np.lexsort((np.arange(len(bins)), -slack)).tolist()
    # A machine that holds a clique's pod is wanted as it is.
    movers = [at for at in order if all(problem.clique[row] == NO_CLIQUE for row, _ in bins[at].content)]
    for mover in movers[:_MOVERS]:
        while times[mover] and len(bins) - len(packing.bins) < _MERGES:
            times[mover] -= 1
            found = _home(problem, visible, bins, (total, kinds, times), mover)
            if found is None:
                times[mover] += 1
                break
            target, kind = found
            times[target] -= 1
            bins.append(Bin(kind, _united(bins[mover], bins[target]), 1))
            total = np.vstack([total, total[mover] + total[target]])
            kinds, times = np.append(kinds, kind), np.append(times, 1)
    kept = [replace(one, times=int(number)) for one, number in zip(bins, times.tolist(), strict=True) if number]
    return packing_of(problem, kept)


def _home(
    problem: Problem, visible: Bools, bins: list[Bin], arrays: tuple[Ints, Ints, Ints], mover: int
) -> tuple[int, int] | None:
    """A machine of the same zone, and the kind that holds what both hold for no more than both cost."""
    total, kinds, times = arrays
    price = problem.price[kinds] + problem.price[bins[mover].kind] + 1e-9
    zone = problem.kind_zone[bins[mover].kind]
    here = (times > 0) & (problem.kind_zone[kinds] == zone)
    rows = [row for row, _ in bins[mover].content]
    usable = (problem.kind_zone == zone) & (problem.price <= price.max()) & visible[rows].all(axis=0)
    together = total + total[mover]
    for kind in np.flatnonzero(usable)[np.argsort(problem.price[usable], kind="stable")].tolist():
        # A machine of another kind uses up other limits, which would have to be counted anew.
        fits = here & (price >= problem.price[kind]) & (together <= problem.room[kind]).all(axis=1)
        for target in np.flatnonzero(fits).tolist():
            same = (problem.limit_use[:, kind] <= problem.limit_use[:, kinds[target]]).all()
            if same and visible[[row for row, _ in bins[target].content], kind].all():
                return target, kind
    return None


def _total(problem: Problem, one: Bin) -> Ints:
    return sum((pods * problem.need[row] for row, pods in one.content), np.zeros(problem.need.shape[1], dtype=np.int64))


def _united(one: Bin, other: Bin) -> tuple[tuple[int, int], ...]:
    content = dict(one.content)
    for row, pods in other.content:
        content[row] = content.get(row, 0) + pods
    return tuple(sorted(content.items()))
