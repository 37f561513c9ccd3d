"""What is only told to people must not slow down what is decided: so many such writes a second, and no more.

Why a workload waits, and how full a queue is, changes with every job that comes or goes. Where few do, each change is
told at once. Where hundreds do in a second, the API server is left to the admissions, and the latest is told as often
as there is room for it.
"""

from collections.abc import Hashable
from datetime import datetime, timedelta

import msgspec


class StatusWriteBudget(msgspec.Struct, frozen=True):
    """How many writes may be made now."""

    per_second: float
    most: float
    """So many at once, after a while without any."""
    left: float
    at: datetime | None = None
    paid: dict[Hashable, int] = {}
    """What was paid for and is not seen yet, with the version on which it was said: to repeat it costs nothing."""

    def opened(self, now: datetime) -> "BudgetSpending":
        """The purse for one pass."""
        elapsed = (now - self.at).total_seconds() if self.at is not None else 0.0
        left = min(self.most, self.left + max(0.0, elapsed) * self.per_second)
        return BudgetSpending(self, left, now)


class BudgetSpending:
    """A purse during a pass."""

    def __init__(self, budget: StatusWriteBudget, left: float, now: datetime) -> None:
        self._purse, self._left, self._now = budget, left, now
        self._paid: dict[Hashable, int] = {}
        self._is_short = False

    def pays(self, subject: Hashable, version: int) -> bool:
        """Whether this may be written now."""
        if self._purse.paid.get(subject) != version:
            if self._left < 1:
                self._is_short = True
                return False
            self._left -= 1
        self._paid[subject] = version
        return True

    @property
    def left(self) -> int:
        """How many more may be made now."""
        return int(self._left)

    @property
    def next_at(self) -> datetime:
        """When there is room for more."""
        return self._now + timedelta(seconds=1)

    @property
    def again_at(self) -> datetime | None:
        """When there is room again for what was left out; None if nothing was."""
        return self.next_at if self._is_short else None

    def closed(self) -> StatusWriteBudget:
        """What is left."""
        return msgspec.structs.replace(self._purse, left=self._left, at=self._now, paid=self._paid)
