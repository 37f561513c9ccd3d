"""Free room per node, as one column of integers per resource.

The planner compares thousands of nodes at once, so it wants columns, and it wants them now: they are kept up with each
event (a few additions) and never rebuilt. A row belongs to a name and exists as soon as a node or a pod of that name
does, because watches of different kinds do not wait for each other: pods may be seen before their node.
"""

from array import array
from collections.abc import Iterable, Mapping

from growth.observe.pod_requests import Requests


class FreeCapacity:
    """Rows are nodes, columns are resources, values are what is still free (negative where a node is overbooked)."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._users: dict[str, int] = {}
        self._columns: dict[str, array[int]] = {}
        self._spare: list[int] = []
        self._size = 0

    @property
    def rows(self) -> Mapping[str, int]:
        """The row of each node's name."""
        return self._rows

    def column(self, resource: str) -> "array[int]":
        """Free amounts by row; rows that are not in ``rows`` mean nothing. Resources nobody has are all zero."""
        return self._columns.get(resource) or array("q", bytes(8 * self._size))

    @property
    def resources(self) -> Iterable[str]:
        """Every resource that some node has or some pod took."""
        return self._columns.keys()

    def free(self, node: str) -> dict[str, int]:
        """What is free on one node."""
        row = self._rows.get(node)
        return {} if row is None else {name: column[row] for name, column in self._columns.items()}

    def copy(self) -> "FreeCapacity":
        """A copy that later changes leave alone."""
        fresh = FreeCapacity()
        fresh._rows, fresh._users, fresh._spare = self._rows.copy(), self._users.copy(), self._spare.copy()
        fresh._columns = {name: column[:] for name, column in self._columns.items()}
        fresh._size = self._size
        return fresh

    def open(self, node: str, allocatable: Requests) -> None:
        """A node came and brings this much."""
        self._book(node, allocatable, +1)

    def close(self, node: str, allocatable: Requests) -> None:
        """A node went and takes along what it brought."""
        self._unbook(node, allocatable, -1)

    def take(self, node: str, requests: Requests) -> None:
        """A pod took this much of a node."""
        self._book(node, requests, -1)

    def give_back(self, node: str, requests: Requests) -> None:
        """A pod left."""
        self._unbook(node, requests, +1)

    def _book(self, node: str, amounts: Requests, sign: int) -> None:
        row = self._rows.get(node)
        if row is None:
            row = self._rows[node] = self._new_row()
            self._users[node] = 0
        self._users[node] += 1
        self._add(row, amounts, sign)

    def _unbook(self, node: str, amounts: Requests, sign: int) -> None:
        row = self._rows[node]
        self._add(row, amounts, sign)
        self._users[node] -= 1
        if not self._users[node]:
            del self._rows[node], self._users[node]
            self._spare.append(row)

    def _add(self, row: int, amounts: Requests, sign: int) -> None:
        for name, amount in amounts.items():
            column = self._columns.get(name)
            if column is None:
                column = self._columns[name] = array("q", bytes(8 * self._size))
            column[row] += sign * amount

    def _new_row(self) -> int:
        if self._spare:
            return self._spare.pop()
        for column in self._columns.values():
            column.append(0)
        self._size += 1
        return self._size - 1
