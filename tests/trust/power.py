"""When which machine ran: read from the played cloud's own records, whatever its provider told Growth about it.

Times are seconds of the loop's own clock, as steps have them.
"""

from math import inf
from typing import Final

from growth.cloud.kwok.faults import FaultType, find
from growth.cloud.kwok.machine_record import MachineRecord

_DEADLY: Final = (FaultType.POWER_OFF, FaultType.HARDWARE_FAILS, FaultType.VANISHES)


def dies(record: MachineRecord) -> bool:
    """Whether something is wrong with a machine that ends what runs on it, sooner or later."""
    return any(find(record.behaviour.faults, kind) is not None for kind in _DEADLY)


class Powers:
    """All machines that ever were, by provider id."""

    def __init__(self) -> None:
        self._history: dict[str, list[tuple[float, MachineRecord | None]]] = {}
        self._ahead = -inf
        """How far the wall clock is ahead of the loop's. Whoever is written down late seems to be less so."""

    def take(self, record: MachineRecord, at: float, *, is_new: bool, is_end: bool) -> None:
        """Something else is written down about a machine."""
        if is_new:
            self._ahead = max(self._ahead, record.created_at.timestamp() - at)
        self._history.setdefault(record.provider_id, []).append((at, None if is_end else record))

    def last_death(self, provider_id: str, at: float) -> tuple[float, float] | None:
        """The last time before this instant in which nothing ran on the machine: from when to when, or to now."""
        last: tuple[float, float] | None = None
        for begins, ends in self._deaths(provider_id):
            if begins <= at:
                last = begins, min(ends, at)
        return last

    def runs(self, provider_id: str, at: float) -> bool:
        """Whether anything runs on the machine at this instant."""
        death = self.last_death(provider_id, at)
        return provider_id in self._history and (death is None or death[1] < at)

    def _deaths(self, provider_id: str) -> list[tuple[float, float]]:
        history, deaths = self._history.get(provider_id, []), list[tuple[float, float]]()
        for number, (since, record) in enumerate(history):
            until = history[number + 1][0] if number + 1 < len(history) else inf
            begins = max(since, self._dies_at(record))
            if begins >= until:
                continue
            if deaths and deaths[-1][1] == begins:
                begins = deaths.pop()[0]
            deaths.append((begins, until))
        return deaths

    def _dies_at(self, record: MachineRecord | None) -> float:
        """When a machine dies as it is written down now; never, if nothing is wrong with it."""
        if record is None or record.is_fenced:
            return -inf
        ordered = (find(record.behaviour.faults, kind) for kind in _DEADLY)
        seconds = [fault.duration.total_seconds() for fault in ordered if fault is not None]
        made_at = record.created_at.timestamp() - self._ahead
        return made_at + min(seconds) if seconds else inf
