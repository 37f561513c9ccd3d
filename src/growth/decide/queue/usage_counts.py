"""How full a queue is, kept up one workload at a time."""

from collections.abc import Mapping

import msgspec

from growth.decide.queue.quota_tree import Slot


class WorkloadUsage(msgspec.Struct, frozen=True):
    """What one workload adds to the figures of its queues."""

    queue: str = ""
    local_queue: tuple[str, str] = ("", "")
    waiting: int = 0
    """1 if it has no quota and may have some, today or later."""
    active: int = 0
    """1 if it could be next."""
    inadmissible: int = 0
    """1 if it waits for something else: its backoff, another quota, a queue that is at work."""
    reserving: int = 0
    admitted: int = 0
    usage: Mapping[Slot, int] = {}


class UsageTally:
    """The sum of such shares."""

    def __init__(self) -> None:
        self.waiting = self.active = self.inadmissible = self.reserving = self.admitted = 0
        self.reserved: dict[Slot, int] = {}
        self.used: dict[Slot, int] = {}

    def add(self, share: WorkloadUsage, sign: int = 1) -> None:
        """One more, or one less."""
        self.waiting += sign * share.waiting
        self.active += sign * share.active
        self.inadmissible += sign * share.inadmissible
        self.reserving += sign * share.reserving
        self.admitted += sign * share.admitted
        if share.reserving:
            _add(self.reserved, share.usage, sign)
        if share.admitted:
            _add(self.used, share.usage, sign)


def _add(total: dict[Slot, int], usage: Mapping[Slot, int], sign: int) -> None:
    for slot, amount in usage.items():
        after = total.get(slot, 0) + sign * amount
        if after:
            total[slot] = after
        else:
            total.pop(slot, None)
