"""What is not being done, and why: one list, which explain, metrics and logs read."""

from collections.abc import Iterable, Mapping
from typing import Final

from growth.api.actions import Hold
from growth.api.core import ObjectReference

Key = tuple[ObjectReference, str]
_NONE: Final[Mapping[Key, Hold]] = {}


class Holds:
    """The holds of the latest pass, by capability."""

    def __init__(self) -> None:
        self._by_capability: dict[str, Mapping[Key, Hold]] = {}

    def replace(self, capability: str, holds: Iterable[Hold]) -> list[Hold]:
        """Take the holds of a new pass; returns those that were not there before, which are news."""
        before = self._by_capability.get(capability, _NONE)
        now = {(hold.subject, hold.reason): hold for hold in holds}
        self._by_capability[capability] = now
        return [hold for key, hold in now.items() if key not in before]

    def of(self, capability: str) -> list[Hold]:
        """What this capability holds back now."""
        return list(self._by_capability.get(capability, _NONE).values())
