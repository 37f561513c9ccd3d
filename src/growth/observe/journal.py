"""Whose turn it is: names in the order in which something about them last changed."""

from collections import OrderedDict
from typing import Final

# More nodes than Kubernetes was made for, each with a few that went. Whoever missed more than that looks at everything.
_KEPT: Final = 32_768


class ChangeJournal:
    """Names with the number of their last change. Whoever looked at number N asks only for those that came later."""

    def __init__(self) -> None:
        self.number = 0
        self._numbers: OrderedDict[str, int] = OrderedDict()
        self._forgotten = 0

    def note(self, name: str) -> None:
        """Something about this name has changed."""
        self.number += 1
        self._numbers[name] = self.number
        self._numbers.move_to_end(name)
        if len(self._numbers) > _KEPT:
            _, self._forgotten = self._numbers.popitem(last=False)

    def since(self, number: int) -> list[str] | None:
        """Names that have changed after this number, the newest first; None if that is too long ago to tell."""
        if number < self._forgotten:
            return None
        found: list[str] = []
        for name, changed_at in reversed(self._numbers.items()):
            if changed_at <= number:
                break
            found.append(name)
        return found
