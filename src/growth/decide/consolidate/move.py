"""A move: some nodes go, and what works on them is elsewhere afterwards, for less money."""

from typing import Literal

import msgspec

from growth.decide.solver.placement_solution import PlannedNode

Form = Literal["delete", "fold", "replace", "merge", "split", "rebuild"]


class Move(msgspec.Struct, frozen=True):
    """One move, which is carried out whole or not at all."""

    leaving: tuple[str, ...]
    buying: tuple[PlannedNode, ...]
    to: tuple[tuple[str, str], ...]
    """By uid, the node on which each pod finds room: one that stands, or one of those that are bought."""
    before_per_hour: float
    after_per_hour: float

    @property
    def saves_per_hour(self) -> float:
        """What it is made for."""
        return self.before_per_hour - self.after_per_hour

    @property
    def form(self) -> Form:
        """What people call it."""
        match len(self.leaving), len(self.buying):
            case _, 0:
                return "fold" if self.to else "delete"
            case 1, 1:
                return "replace"
            case _, 1:
                return "merge"
            case 1, _:
                return "split"
            case _:
                return "rebuild"
