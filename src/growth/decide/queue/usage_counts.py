"""How full a queue is, kept up one workload at a time."""

from collections.abc import Mapping

import msgspec

from growth.decide.queue.quota_tree import Slot


class WorkloadUsage(msgspec.Struct, frozen=True, gc=False):
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


class UsageTally(msgspec.Struct, frozen=True, gc=False):
    """The sum over workloads."""

    waiting: int = 0
    active: int = 0
    inadmissible: int = 0
    reserving: int = 0
    admitted: int = 0
    reserved: Mapping[Slot, int] = {}
    used: Mapping[Slot, int] = {}

    def plus(self, one: WorkloadUsage, sign: int = 1) -> "UsageTally":
        """Return the sum with one workload more, or less."""
        return UsageTally(
            self.waiting + sign * one.waiting,
            self.active + sign * one.active,
            self.inadmissible + sign * one.inadmissible,
            self.reserving + sign * one.reserving,
            self.admitted + sign * one.admitted,
            _sum(self.reserved, one.usage, sign) if one.reserving else self.reserved,
            _sum(self.used, one.usage, sign) if one.admitted else self.used,
        )


def _sum(total: Mapping[Slot, int], usage: Mapping[Slot, int], sign: int) -> dict[Slot, int]:
    result = dict(total)
    for slot, amount in usage.items():
        after = result.get(slot, 0) + sign * amount
        if after:
            result[slot] = after
        else:
            result.pop(slot, None)
    return result
