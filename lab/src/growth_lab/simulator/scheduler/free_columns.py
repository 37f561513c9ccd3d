"""The board: free room of all nodes as columns, to find the emptiest ones without asking each.

It is only a hint where to ask first. Whether a pod fits is asked of Fit, which counts for itself.
"""

from typing import Final

import numpy as np

from growth.observe.pod_requests import Requests

Integers = np.ndarray[tuple[int], np.dtype[np.int64]]
Numbers = np.ndarray[tuple[int], np.dtype[np.float64]]
Flags = np.ndarray[tuple[int], np.dtype[np.bool_]]

# What scoring takes for a pod that does not say how much it needs (kube-scheduler: util/pod_resources.go).
_ASSUMED_CPU: Final = 100
_ASSUMED_MEMORY: Final = 200 << 20
_SCORED: Final = ("cpu", "memory")
_ASSUMED: Final = (_ASSUMED_CPU, _ASSUMED_MEMORY)
_SLOTS: Final = 64


class Board:
    """Rows are nodes, in no order; a row that is not in use has no room for anybody."""

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.names: list[str] = []
        self._spare: list[int] = []
        self._free: dict[str, Integers] = {"pods": np.zeros(_SLOTS, np.int64)}
        self._is_used = np.zeros(_SLOTS, np.bool_)
        # For scoring CPU and memory: how much of the whole one unit is, what pods asked for, and what is left if
        # something is assumed for those that did not ask.
        self._share = [np.ones(_SLOTS), np.ones(_SLOTS)]
        self._asked = [np.zeros(_SLOTS), np.zeros(_SLOTS)]
        self._left = [np.zeros(_SLOTS), np.zeros(_SLOTS)]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """How many rows there are, those that are not in use included."""
        return len(self._is_used)

    def open(self, node: str, allocatable: Requests) -> None:
        """A node came, still without pods."""
        row = self._new_row(node)
        self.rows[node] = row
        self._is_used[row] = True
        for name, amount in allocatable.items():
            self._column(name)[row] = amount
        for axis, name in enumerate(_SCORED):
            whole = max(1, allocatable.get(name, 0))
            self._share[axis][row], self._left[axis][row], self._asked[axis][row] = 1 / whole, whole, 0

    def close(self, node: str) -> None:
        """A node went, and its pods are nowhere now."""
        row = self.rows.pop(node)
        self.names[row] = ""
        self._is_used[row] = False
        for column in self._free.values():
            column[row] = 0
        self._spare.append(row)

    def put(self, node: str, requests: Requests) -> None:
        """A pod came to a node."""
        self._book(node, requests, +1)

    def take(self, node: str, requests: Requests) -> None:
        """A pod left a node."""
        self._book(node, requests, -1)

    def roomy(self, requests: Requests) -> Flags:
        """The rows that have room, as far as it is counted here."""
        fits = self._is_used.copy()
        for name, amount in requests.items():
            column = self._free.get(name)
            if column is not None:
                fits &= column >= amount
        return fits

    def scores(self, requests: Requests) -> Numbers:
        """For each row the sum of the scheduler's two scores for room: much of it left, and evenly."""
        cpu_share, memory_share = self._share
        least = (self._left[0] - requests.get("cpu", _ASSUMED_CPU)) * cpu_share
        least += (self._left[1] - requests.get("memory", _ASSUMED_MEMORY)) * memory_share
        least *= 50
        if "cpu" in requests or "memory" in requests:
            uneven = (self._asked[0] + requests.get("cpu", 0)) * cpu_share
            uneven -= (self._asked[1] + requests.get("memory", 0)) * memory_share
            np.abs(uneven, out=uneven)
            uneven *= 50
            least += 100
            least -= uneven
        np.maximum(least, 0, out=least)
        return np.floor(least, out=least)

    def _book(self, node: str, requests: Requests, sign: int) -> None:
        row = self.rows[node]
        for name, amount in requests.items():
            self._column(name)[row] -= sign * amount
        for axis, name in enumerate(_SCORED):
            amount = requests.get(name, 0)
            self._asked[axis][row] += sign * amount
            self._left[axis][row] -= sign * (amount or _ASSUMED[axis])

    def _column(self, name: str) -> Integers:
        column = self._free.get(name)
        if column is None:
            column = self._free[name] = np.zeros(self.size, np.int64)
        return column

    def _new_row(self, node: str) -> int:
        if self._spare:
            row = self._spare.pop()
            self.names[row] = node
            return row
        if len(self.names) == self.size:
            more = self.size
            self._is_used = np.append(self._is_used, np.zeros(more, np.bool_))
            self._free = {name: np.append(column, np.zeros(more, np.int64)) for name, column in self._free.items()}
            for pair in (self._share, self._asked, self._left):
                pair[:] = [np.append(column, np.ones(more)) for column in pair]
        self.names.append(node)
        return len(self.names) - 1
