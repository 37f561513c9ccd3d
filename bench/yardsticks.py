"""What the planner is measured against: first-fit decreasing, and the configuration bound."""

from collections import Counter
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray

from bench.loads import Load
from growth.api.pod import Pod
from growth.api.quantity import milli_value, value
from growth.decide.solver.linear_program import INFINITE, LinearProgram

Ints = NDArray[np.int64]
_ROUNDS = 400
_LARGEST = 12


def _sizes(pods: list[Pod]) -> tuple[Ints, Ints]:
    """Distinct (cpu, memory in MiB, 1) and how many pods have each."""
    counts = Counter(
        (milli_value(r["cpu"]), value(r["memory"]) >> 20, 1)
        for r in (p.spec.containers[0].resources.requests for p in pods)
    )
    sizes = sorted(counts)
    return np.array(sizes, dtype=np.int64), np.array([counts[size] for size in sizes], dtype=np.int64)


def first_fit_decreasing(load: Load) -> float:
    """The cost of first-fit decreasing (by dominant share) into the one kind for which it is cheapest.

    Rules about other pods are ignored, which favours it; each machine is then exchanged for the cheapest that holds
    the same.
    """
    kinds = {
        (milli_value(o.resources["cpu"]), value(o.resources["memory"]) >> 20, int(o.resources["pods"])): o
        for o in sorted(load.offerings, key=lambda o: -o.price_per_hour)
        if o.stock is None
    }
    rooms = np.array(sorted(kinds), dtype=np.int64)
    prices = np.array([kinds[tuple(room)].price_per_hour for room in rooms.tolist()])
    need, count = _sizes(load.pods)
    best = np.inf
    for room in rooms[prices.argsort()]:
        if (need > room).any():
            continue
        used = _first_fit(need, count, room)
        fits = (used[:, None, :] <= rooms[None]).all(axis=2)
        best = min(best, float(np.where(fits, prices, np.inf).min(axis=1).sum()))
    return best


def _first_fit(need: Ints, count: Ints, room: Ints) -> Ints:
    """What lies on each machine."""
    free = np.tile(room, (int(count.sum()), 1))
    opened = 0
    for row in np.argsort(-(need / room).max(axis=1), kind="stable").tolist():
        left = int(count[row])
        for node in range(len(free)):
            if not left:
                break
            times = min(left, int((free[node] // need[row]).min()))
            if times:
                free[node] -= times * need[row]
                left -= times
                opened = max(opened, node + 1)
    return room - free[:opened]


def configuration_bound(load: Load) -> tuple[float, bool]:
    """The configuration bound of the mixed load and whether it is proven: the cheapest fractions of whole contents.

    Zones and labels are ignored; the pods that keep apart by node are not. Contents are priced exactly, by HiGHS's own
    branch and bound; sizes above 12 vCPU are left out, so "proven" means proven up to there.
    """
    apart = [pod for pod in load.pods if pod.spec.affinity and pod.spec.affinity.pod_anti_affinity]
    others = [pod for pod in load.pods if not (pod.spec.affinity and pod.spec.affinity.pod_anti_affinity)]
    need_1, count_1 = _sizes(others)
    need_2, count_2 = _sizes(apart)
    need, count = np.vstack([need_1, need_2]), np.concatenate([count_1, count_2])
    alone = len(need_1)
    rooms = [(1000 * size, 2048 * size, 10 * size) for size in range(1, _LARGEST + 1)]
    programme = LinearProgram(count.astype(np.float64), np.full(len(count), INFINITE))
    pricing = [_Pricing(need, count, room, alone) for room in rooms]
    for row in range(len(need)):
        size = next(at for at, room in enumerate(rooms) if all(need[row] <= room))
        _add(programme, 0.3 * (size + 1), {row: 1})
    for _ in range(_ROUNDS):
        answer = programme.solve()
        rate, found = 1.0, False
        for size, one in enumerate(pricing, 1):
            worth, content = one.best(answer.row_prices)
            rate = max(rate, worth / (0.3 * size))
            if worth > 0.3 * size * (1 + 1e-7):
                _add(programme, 0.3 * size, content)
                found = True
        if not found:
            return answer.cost / rate, True
    return programme.solve().cost, False


def _add(programme: LinearProgram, cost: float, content: dict[int, int]) -> None:
    rows = np.array(list(content), dtype=np.int32)
    values = np.array(list(content.values()), dtype=np.float64)
    programme.add_columns(np.array([cost]), np.array([INFINITE]), np.zeros(1, dtype=np.int32), rows, values)


class _Pricing:
    """The best content of one size at given prices, to optimality."""

    def __init__(self, need: Ints, count: Ints, room: tuple[int, ...], alone: int) -> None:
        self._highs: Any = highspy.Highs()
        for option, setting in (("output_flag", False), ("mip_rel_gap", 1e-9)):
            self._highs.setOptionValue(option, setting)
        self._size = len(need)
        lower = np.full(len(room) + 1, -INFINITE)
        self._highs.addRows(
            len(lower), lower, np.array([*room, 1.0]), 0, *([np.zeros(0, dtype=np.int32)] * 2), np.zeros(0)
        )
        for row in range(len(need)):
            index = np.arange(len(room) + (row >= alone), dtype=np.int32)
            values = np.array([*need[row].tolist(), 1.0][: len(index)], dtype=np.float64)
            self._highs.addCol(0.0, 0.0, float(count[row]), len(index), index, values)
            self._highs.changeColIntegrality(row, highspy.HighsVarType.kInteger)

    def best(self, prices: NDArray[np.float64]) -> tuple[float, dict[int, int]]:
        index = np.arange(self._size, dtype=np.int32)
        self._highs.changeColsCost(self._size, index, -prices)
        self._highs.run()
        amounts = np.rint(np.array(self._highs.getSolution().col_value)).astype(int)
        content = {row: int(amounts[row]) for row in np.flatnonzero(amounts).tolist()}
        return -float(self._highs.getObjectiveValue()), content
