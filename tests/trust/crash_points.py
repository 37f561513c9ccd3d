"""At which passes of a story Growth is stopped, and why not at all of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.trust.interruption import Pass, Side, Wish


@dataclass(frozen=True)
class Stop:
    """Where the first process ends; and, if ``then`` names a point, where the next one does that comes by it."""

    at: int
    side: Side
    then: str = ""
    then_side: Side = Side.BEFORE

    @property
    def arguments(self) -> str:
        """How the command line says it."""
        again = f' --then "{self.then}" --then-side {self.then_side}' if self.then else ""
        return f"--at {self.at} --side {self.side}{again}"

    def wish(self) -> Wish:
        """A fresh one for each run."""
        is_done_twice = False

        def where(passed: Pass) -> Side | None:
            nonlocal is_done_twice
            if passed.number == self.at:
                return self.side
            if passed.number > self.at and passed.name == self.then and not is_done_twice:
                is_done_twice = True
                return self.then_side
            return None

        return where


def stops_of(passes: Sequence[Pass]) -> list[Stop]:
    """Before and after every pass, but for a renewal that directly follows another one.

    Renewals come twice a second, and between two of them that stand side by side nothing was written: whoever is
    stopped at the second leaves the same cluster behind as whoever is stopped at the first, only later.
    """
    names = ["", *(one.name for one in passes)]
    return [
        Stop(one.number, side)
        for before, one in zip(names, passes, strict=False)
        if not before == one.name == "renew lease"
        for side in Side
    ]
