"""The same problem without zones, and with only those machines that could matter: what column generation works on.

A zone only says where a machine stands, so a good content of a machine is good in every zone that sells it. Searching
once instead of once per zone finds it in a third of the time; afterwards each content is offered in all zones.
"""

from dataclasses import dataclass, replace

import numpy as np

from growth.decide.solver.problem import ANY_ZONE, NO_CLIQUE, Bin, Bools, Floats, Ints, PackingProblem

# More kinds than this add search time and hardly ever a better content.
MAX_KINDS = 24


@dataclass(frozen=True, slots=True)
class RelaxedProblem:
    """A problem in which zones do not exist, and the way back."""

    problem: PackingProblem
    row_of: Ints
    """[row of the original] row here."""

    members: dict[tuple[int, int], int]
    """(row here, zone) to the row of the original."""

    kind_of: Ints
    """[kind of the original] kind here, or -1 if it was left out."""

    twins: list[list[int]]
    """[kind here] kinds of the original, one in each zone."""

    def content_in(self, zone: int, content: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...] | None:
        """The content in terms of the original rows, or None where a row has nothing to do in that zone."""
        original: list[tuple[int, int]] = []
        for row, pods in content:
            member = self.members.get((row, zone), self.members.get((row, ANY_ZONE)))
            if member is None:
                return None
            original.append((member, pods))
        return tuple(sorted(original))

    def bin_here(self, one: Bin) -> Bin | None:
        """A bin of the original in terms of this problem."""
        option = int(self.kind_of[one.option])
        if option < 0:
            return None
        content: dict[int, int] = {}
        for row, pods in one.content:
            here = int(self.row_of[row])
            content[here] = content.get(here, 0) + pods
        return Bin(option, tuple(sorted(content.items())), one.times)


def collapsed(problem: PackingProblem, options: Ints) -> RelaxedProblem:
    """Merge rows and kinds that differ in nothing but their zone."""
    is_free = (problem.zone == ANY_ZONE)[:, None]
    masks = np.packbits(problem.allowed[:, options], axis=1)
    # A free row is always one of its own, and so are equal rows of one zone: merged, nobody could say which of the two
    # a slot means.
    key = np.column_stack([problem.need, problem.clique, is_free, masks]).astype(np.int64)
    key = np.column_stack([key, _ordinals(np.column_stack([key, problem.zone]))])
    _, first, row_of = np.unique(key, axis=0, return_index=True, return_inverse=True)
    row_of = row_of.reshape(-1)
    members: dict[tuple[int, int], int] = {}
    for row, (here, zone) in enumerate(zip(row_of.tolist(), problem.zone.tolist(), strict=True)):
        members.setdefault((here, zone), row)
    kind_key = np.column_stack(
        [problem.room[options], problem.price[options], problem.limit_use[:, options].T, problem.allowed[:, options].T]
    )
    _, kind_first, kind_here = np.unique(kind_key, axis=0, return_index=True, return_inverse=True)
    kind_here = kind_here.reshape(-1)
    twins: list[list[int]] = [[] for _ in kind_first]
    kind_of = np.full(problem.options, -1)
    for option, here in zip(options.tolist(), kind_here.tolist(), strict=True):
        kind_of[option] = here
        if problem.kind_zone[option] not in [problem.kind_zone[twin] for twin in twins[here]]:
            twins[here].append(option)
    kept = options[kind_first]
    count = np.zeros(len(first), dtype=np.int64)
    np.add.at(count, row_of, problem.count)
    smaller = replace(
        problem,
        need=problem.need[first],
        count=count,
        zone=np.full(len(first), ANY_ZONE),
        clique=problem.clique[first],
        allowed=problem.allowed[np.ix_(first, kept)],
        room=problem.room[kept],
        price=problem.price[kept],
        kind_zone=np.zeros(len(kept), dtype=np.int64),
        limit_use=problem.limit_use[:, kept],
    )
    return RelaxedProblem(smaller, row_of, members, kind_of, twins)


def _ordinals(keys: Ints) -> Ints:
    """For each row of keys, how many equal ones stand before it."""
    _, inverse = np.unique(keys, axis=0, return_inverse=True)
    inverse = inverse.reshape(-1)
    order = np.argsort(inverse, kind="stable")
    starts = np.searchsorted(inverse[order], inverse[order], side="left")
    ordinals = np.empty(len(keys), dtype=np.int64)
    ordinals[order] = np.arange(len(keys)) - starts
    return ordinals


def promising_kinds(problem: PackingProblem) -> Ints:
    """Kinds worth looking at: none that another one replaces, none far too large, and not too many."""
    options = _without_oversized(problem, np.flatnonzero(problem.allowed.any(axis=0)))
    options = _without_replaceable(problem, options)
    return _thinned(problem, options)


def _without_replaceable(problem: PackingProblem, options: Ints) -> Ints:
    """Leave out kinds for which another one in the same zone takes the same pods, has the room and costs no more.

    If no row is bound to a zone, zones make no difference.
    """
    is_free = bool((problem.zone == ANY_ZONE).all())
    zone = np.zeros(problem.options, dtype=np.int64) if is_free else problem.kind_zone
    key = np.column_stack([zone, problem.limit_use.T, problem.price, problem.room])
    _, first = np.unique(key[options], axis=0, return_index=True)
    first = options[first]
    kept: list[int] = []
    for here in np.unique(zone[first]).tolist():
        kept += _best_in_zone(problem, first[zone[first] == here])
    return np.sort(np.array(kept, dtype=np.int64))


def _best_in_zone(problem: PackingProblem, options: Ints) -> list[int]:
    options = options[np.lexsort((options, problem.price[options]))]
    room, use, takes = problem.room[options], problem.limit_use[:, options], problem.allowed[:, options]
    kept: list[int] = []
    for at in range(len(options)):
        before = room[kept]
        if kept and (before >= room[at]).all(axis=1).any():
            others = np.array(kept)[(before >= room[at]).all(axis=1)]
            is_free = (use[:, others] <= use[:, [at]]).all(axis=0) & (takes[:, others] >= takes[:, [at]]).all(axis=0)
            if is_free.any():
                continue
        kept.append(at)
    return options[kept].tolist()


def _without_oversized(problem: PackingProblem, options: Ints) -> Ints:
    """If cliques force many machines, those much larger than the average share of the demand only strand room."""
    in_clique = problem.clique != NO_CLIQUE
    if not in_clique.any():
        return options
    sizes = np.bincount(problem.clique[in_clique], weights=problem.count[in_clique], minlength=len(problem.clique_cap))
    machines = float((sizes / problem.clique_cap).max())
    average = (problem.need * problem.count[:, None]).sum(axis=0) / max(machines, 1.0)
    fine = ~(problem.room[options] > 2 * average).all(axis=1)
    takes_all = problem.allowed[:, options[fine]].any(axis=1) == problem.allowed[:, options].any(axis=1)
    return options[fine] if bool(takes_all.all()) else options


def _thinned(problem: PackingProblem, options: Ints) -> Ints:
    """At most MAX_KINDS in each zone, spread over all sizes, the cheapest for its size first."""
    kept: list[int] = []
    for zone in np.unique(problem.kind_zone[options]).tolist():
        here = options[problem.kind_zone[options] == zone]
        if len(here) > MAX_KINDS:
            here = _spread_over_sizes(problem, here)
        kept += here.tolist()
    return np.sort(np.array(kept, dtype=np.int64))


def _spread_over_sizes(problem: PackingProblem, options: Ints) -> Ints:
    room: Floats = problem.room[options] / np.maximum(problem.room[options].max(axis=0), 1)
    size = np.maximum(room.mean(axis=1), 1e-12)
    rate = problem.price[options] / size
    step = (np.log(size.max()) - np.log(size.min())) / MAX_KINDS + 1e-12
    level = ((np.log(size) - np.log(size.min())) / step).astype(np.int64)
    best: dict[int, int] = {}
    cheap = np.rint(rate * 1e12)
    for index in np.lexsort((options, size, cheap)).tolist():
        best.setdefault(int(level[index]), int(options[index]))
    chosen = set(best.values())
    # Whatever takes a row that nothing chosen takes must stay.
    taken: Bools = np.asarray(problem.allowed[:, sorted(chosen)].any(axis=1))
    wanted: Bools = np.asarray(problem.allowed[:, options].any(axis=1))
    missing = wanted > taken
    for index in np.argsort(rate, kind="stable").tolist():
        takes = problem.allowed[:, options[index]]
        if bool((missing & takes).any()):
            chosen.add(int(options[index]))
            missing &= ~takes
    return np.array(sorted(chosen), dtype=np.int64)
