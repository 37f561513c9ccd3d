"""Rows and kinds made ready for the search for a machine's best content.

All resources of a pod are packed into one whole number, a field for each with a guard bit above it, so "does it fit in
every resource" is one subtraction and one comparison, however many resources there are; a clique is one resource more.
Rows stand in two lists, those that press more on the first of the two scarcest resources and those that press more on
the second, each in the order of value per weighted size, with the weights that make the bound on a machine's content
tightest.

The best content of one machine: a bounded knapsack in several resources, searched depth first.

The next pod is always taken from the list whose resource has more left: filling from one list alone would use up CPU
and strand memory. The search goes down greedily, comes back pod by pod, and skips whatever the bound says cannot beat
the best found so far. In steps, not in seconds, so it always ends with the same answer.
"""

from dataclasses import dataclass

import numpy as np

from growth.decide.solver.problem import NO_CLIQUE, Floats, Ints, PackingProblem

# Weights tried for the two resources that demand presses on most.
_GRID = 17
_LEAST_WEIGHT = 0.02
_LEADERS = 3


@dataclass(frozen=True, slots=True)
class PackedFields:
    """How amounts are packed into one number: a field per resource and per clique."""

    guard: int
    pods: list[int]
    """[row] one pod, packed."""

    rooms: list[int]
    """[kind] an empty machine, packed, all guard bits set."""


def packed_fields(problem: PackingProblem) -> PackedFields:
    """Pack all rows and kinds of a problem."""
    widths = [int(most).bit_length() + 1 for most in problem.room.max(axis=0, initial=0)]
    cliques = [int(cap).bit_length() + 1 for cap in problem.clique_cap]
    shifts: list[int] = []
    guard = at = 0
    for width in widths + cliques:
        shifts.append(at)
        guard |= 1 << (at + width - 1)
        at += width
    first_clique = len(widths)
    pods: list[int] = []
    needs: list[list[int]] = problem.need.tolist()
    for need, clique in zip(needs, problem.clique.tolist(), strict=True):
        # A pod that is larger than every machine is never packed; its amounts must still fit their fields.
        number = sum(min(amount, (1 << w - 1) - 1) << s for amount, s, w in zip(need, shifts, widths, strict=False))
        member = 1 << shifts[first_clique + int(clique)] if clique != NO_CLIQUE else 0
        pods.append(number + member)
    caps = sum(int(cap) << shift for cap, shift in zip(problem.clique_cap, shifts[first_clique:], strict=True))
    rooms = [
        guard + caps + sum(amount << shift for amount, shift in zip(room, shifts, strict=False))
        for room in problem.room.tolist()
    ]
    return PackedFields(guard, pods, rooms)


@dataclass(frozen=True, slots=True)
class KnapsackSide:
    """Rows that press most on one resource, in the order of search, with what the search needs of each."""

    rows: list[int]
    value: list[float]
    size: list[float]
    pods: list[int]
    first: list[float]
    """Share of the machine's first scarce resource that one pod takes."""

    second: list[float]
    most: list[int]
    density: list[float]
    """Value per size, with a -1 behind the last row."""


@dataclass(frozen=True, slots=True)
class KnapsackRows:
    """One kind's rows, ready for the search."""

    option: int
    sides: tuple[KnapsackSide, KnapsackSide]
    bound: float
    """No content of this machine is worth more."""

    leaders: list[int]
    """Of cliques with many rows, those that are worth most beyond the room they take: only these are on the sides."""

    others: dict[int, tuple[float, float, int, float, float]]
    """The other rows of such cliques, which may still be a seed: value, size, packed pod, both shares."""


class Knapsacks:
    """Everything about rows and kinds that stays the same from search to search."""

    def __init__(self, problem: PackingProblem, options: Ints) -> None:
        self.problem = problem
        self.options = options
        self.fields = packed_fields(problem)
        self._weights, self._scarce = _weights(problem, options)
        need = problem.need.astype(np.float64)
        visible = problem.visible()
        _, twins = np.unique(np.column_stack([problem.price, problem.room]), axis=0, return_inverse=True)
        self.twins: list[int] = twins.reshape(-1).tolist()
        """[kind] equal for kinds that differ in nothing but their zone."""
        self._rows: dict[int, Ints] = {}
        self._shares: dict[int, Floats] = {}
        self._sizes: dict[int, Floats] = {}
        self._most: dict[int, Ints] = {}
        members = np.bincount(problem.clique[problem.clique != NO_CLIQUE], minlength=len(problem.clique_cap))
        self._crowded: list[int] = np.flatnonzero(members > _LEADERS).tolist()
        self._is_crowded = np.isin(problem.clique, self._crowded)
        caps = np.full(problem.rows, np.iinfo(np.int64).max)
        in_clique = problem.clique != NO_CLIQUE
        caps[in_clique] = problem.clique_cap[problem.clique[in_clique]]
        for option in options.tolist():
            rows = np.flatnonzero(visible[:, option])
            share = need[rows] / np.maximum(problem.room[option], 1)
            self._rows[option] = rows
            self._shares[option] = share[:, self._scarce]
            self._sizes[option] = np.maximum(self._weights @ share.T, 1e-9)
            fits = 1 / np.maximum(share.max(axis=1, initial=0), 1e-9)
            self._most[option] = np.minimum((fits + 1e-9).astype(np.int64), caps[rows])

    def first_bounds(self, value: Floats) -> Floats:
        """[kind, in the order of ``kinds``] a quick upper bound of what each can hold, of all rows it takes."""
        bounds = np.zeros(len(self.options))
        for index, option in enumerate(self.options.tolist()):
            rows = self._rows[option]
            if not len(rows):
                continue
            crowded = self._is_crowded[rows]
            density = np.where(crowded, 0.0, value[rows] / self._sizes[option])
            bounds[index] = density.max(axis=1).min()
            for clique in self._crowded:
                inside = value[rows[self.problem.clique[rows] == clique]]
                bounds[index] += self.problem.clique_cap[clique] * inside.max(initial=0.0)
        return bounds

    def shelf(self, option: int, value: Floats, left: Ints) -> KnapsackRows:
        """The kind's live rows, ordered for these values, under the weights that bound its content most tightly."""
        rows = self._rows[option]
        most = np.minimum(left[rows], self._most[option])
        live = np.flatnonzero((most > 0) & (value[rows] > 0))
        rows, most, size = rows[live], most[live], self._sizes[option][:, live]
        worth = value[rows]
        density = worth / size
        order = np.argsort(-density, axis=1, kind="stable")
        # A machine holds so few pods of a clique that its many rows must not all count.
        crowded = self._is_crowded[rows]
        ranked_density = np.take_along_axis(density, order, axis=1)
        taken = np.take_along_axis(size * np.where(crowded, 0, most), order, axis=1)
        filled = np.cumsum(taken, axis=1)
        bounds = (np.clip(1 - (filled - taken), 0, taken) * ranked_density).sum(axis=1)
        surplus = worth - _room_worth(filled, ranked_density) * size
        leaders, bonus = self._leaders(rows, surplus)
        best = int(np.argmin(bounds + bonus))
        share = self._shares[option][live]
        is_first = share[:, 0] >= share[:, 1]
        leading = leaders[best]
        stays = ~crowded
        stays[leading] = True
        ranked = order[best][stays[order[best]]]
        sides: list[KnapsackSide] = []
        for chosen in (ranked[is_first[ranked]], ranked[~is_first[ranked]]):
            ordered: list[int] = rows[chosen].tolist()
            sides.append(
                KnapsackSide(
                    ordered,
                    worth[chosen].tolist(),
                    size[best, chosen].tolist(),
                    [self.fields.pods[row] for row in ordered],
                    share[chosen, 0].tolist(),
                    share[chosen, 1].tolist(),
                    most[chosen].tolist(),
                    [*density[best, chosen].tolist(), -1.0],
                )
            )
        others = {
            int(rows[at]): (
                float(worth[at]),
                float(size[best, at]),
                self.fields.pods[int(rows[at])],
                float(share[at, 0]),
                float(share[at, 1]),
            )
            for at in np.flatnonzero(~stays).tolist()
        }
        return KnapsackRows(option, (sides[0], sides[1]), float((bounds + bonus)[best]), rows[leading].tolist(), others)

    def _leaders(self, rows: Ints, surplus: Floats) -> tuple[list[list[int]], Floats]:
        """[grid] the rows of crowded cliques worth most beyond their room, and how much they can add to a machine."""
        leaders: list[list[int]] = [[] for _ in surplus]
        bonus = np.zeros(len(surplus))
        for clique in self._crowded:
            inside = np.flatnonzero(self.problem.clique[rows] == clique)
            if not len(inside):
                continue
            best = inside[np.argsort(-surplus[:, inside], axis=1, kind="stable")[:, :_LEADERS]]
            for at, few in enumerate(best.tolist()):
                leaders[at] += few
            bonus += self.problem.clique_cap[clique] * np.maximum(0, surplus[:, inside].max(axis=1))
        return leaders, bonus


def _room_worth(filled: Floats, density: Floats) -> Floats:
    """[grid, 1] what a machine's room is worth: the density of the row that takes the last of it, 0 if none does.

    With any other price the value of a clique's pod beyond its room would not prove a bound.
    """
    worth = np.zeros((len(filled), 1))
    last = (filled < 1).sum(axis=1)
    full = np.flatnonzero(last < filled.shape[1])
    worth[full, 0] = density[full, last[full]]
    return worth


def _weights(problem: PackingProblem, options: Ints) -> tuple[Floats, list[int]]:
    """[grid, resource] weights that sum to one, most of it on the two scarcest resources, and which these are."""
    resources = problem.need.shape[1]
    demand = (problem.need * problem.count[:, None]).sum(axis=0) / np.maximum(problem.room[options].mean(axis=0), 1)
    if resources == 1:
        return np.ones((1, 1)), [0, 0]
    first, second = np.argsort(-demand, kind="stable")[:2].tolist()
    rest = _LEAST_WEIGHT if resources > 2 else 0.0
    weights = np.full((_GRID, resources), rest)
    part = np.linspace(_LEAST_WEIGHT, 1 - _LEAST_WEIGHT, _GRID)
    weights[:, first] = part * (1 - rest * (resources - 2))
    weights[:, second] = (1 - part) * (1 - rest * (resources - 2))
    return weights, [first, second]


def best_content(  # noqa: PLR0912, PLR0915 - one loop, because a call costs more than a step
    shelf: KnapsackRows, fields: PackedFields, left: list[int], steps: int, seed: int = -1
) -> tuple[float, list[tuple[int, int]]]:
    """The most valuable content found within the steps: its value and (row, pods) pairs; the seed is surely in it.

    If the machine does not take the seed, nothing: (-1, []).
    """
    guard, room = fields.guard, fields.rooms[shelf.option]
    one, two = shelf.sides
    rows_1, value_1, size_1, pods_1, most_1, density_1 = one.rows, one.value, one.size, one.pods, one.most, one.density
    rows_2, value_2, size_2, pods_2, most_2, density_2 = two.rows, two.value, two.size, two.pods, two.most, two.density
    first_1, second_1, first_2, second_2 = one.first, one.second, two.first, two.second
    end_1, end_2 = len(rows_1), len(rows_2)
    used_1, used_2 = [0] * end_1, [0] * end_2
    free_first = free_second = 1.0
    size_left, worth = 1.0 + 1e-9, 0.0
    if seed >= 0:
        side, used = (one, used_1) if seed in rows_1 else (two, used_2)
        if seed in side.rows:
            at = side.rows.index(seed)
            used[at] = 1
            seeded = (side.value[at], side.size[at], side.pods[at], side.first[at], side.second[at])
        elif seed in shelf.others:
            seeded = shelf.others[seed]
        else:
            return -1.0, []
        worth = seeded[0]
        size_left -= seeded[1]
        room -= seeded[2]
        free_first -= seeded[3]
        free_second -= seeded[4]
    best = -1.0
    best_picks: list[tuple[int, int, int]] = []
    picks: list[tuple[int, int, int]] = []
    at_1 = at_2 = 0
    while True:
        # Go down: pod by pod, from the list whose resource has more left, while that could still beat the best.
        while True:
            top_1, top_2 = density_1[at_1], density_2[at_2]
            if worth + size_left * (top_1 if top_1 > top_2 else top_2) <= best:  # noqa: FURB136 - max() costs a call
                break
            steps -= 1
            if at_1 < end_1 and (free_first >= free_second or at_2 >= end_2):
                used = used_1[at_1]
                if used < most_1[at_1] and used < left[rows_1[at_1]] and (room - pods_1[at_1]) & guard == guard:
                    picks.append((1, at_1, at_2))
                    used_1[at_1] = used + 1
                    room -= pods_1[at_1]
                    free_first -= first_1[at_1]
                    free_second -= second_1[at_1]
                    size_left -= size_1[at_1]
                    worth += value_1[at_1]
                else:
                    at_1 += 1
            elif at_2 < end_2:
                used = used_2[at_2]
                if used < most_2[at_2] and used < left[rows_2[at_2]] and (room - pods_2[at_2]) & guard == guard:
                    picks.append((2, at_2, at_1))
                    used_2[at_2] = used + 1
                    room -= pods_2[at_2]
                    free_first -= first_2[at_2]
                    free_second -= second_2[at_2]
                    size_left -= size_2[at_2]
                    worth += value_2[at_2]
                else:
                    at_2 += 1
            else:
                break
        if worth > best:
            best, best_picks = worth, picks.copy()
        if steps <= 0:
            break
        # Come back: without the last pod taken and without its row, if that could still beat the best.
        while picks:
            side, at, other = picks.pop()
            steps -= 1
            if side == 1:
                used_1[at] -= 1
                room += pods_1[at]
                free_first += first_1[at]
                free_second += second_1[at]
                size_left += size_1[at]
                worth -= value_1[at]
                at_1, at_2 = at + 1, other
            else:
                used_2[at] -= 1
                room += pods_2[at]
                free_first += first_2[at]
                free_second += second_2[at]
                size_left += size_2[at]
                worth -= value_2[at]
                at_2, at_1 = at + 1, other
            top_1, top_2 = density_1[at_1], density_2[at_2]
            if worth + size_left * (top_1 if top_1 > top_2 else top_2) > best + 1e-12:  # noqa: FURB136
                break
        else:
            break
    content: dict[int, int] = {seed: 1} if seed >= 0 else {}
    for side, at, _ in best_picks:
        row = rows_1[at] if side == 1 else rows_2[at]
        content[row] = content.get(row, 0) + 1
    return best, sorted(content.items())
