"""How full each queue is, in numbers: for metrics, and worked out only of what its status needs anyway."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from growth.api.queue.workload import QUOTA_RESERVED, Workload
from growth.decide.queue.lifecycle import is_queued
from growth.decide.queue.tree import Slot

# Who waits for one of these could be next; others wait for a person, or for a time.
_WAITING: Final = ("", "PendingEvaluation", "WaitingForQuota", "WaitingForPodsReady", "WaitingForPreemptedWorkloads")


class Figures(msgspec.Struct, frozen=True):
    """One ClusterQueue."""

    active: int
    """Who waits for its turn."""
    inadmissible: int
    """Who waits for something else: its backoff, another quota, a queue that is at work."""
    reserving: int
    admitted: int
    used: Mapping[Slot, int]
    nominal: Mapping[Slot, int]


def waiting_of(workloads: Iterable[Workload], now: datetime) -> tuple[int, int]:
    """How many wait for their turn, and how many for something else."""
    active = inadmissible = 0
    for workload in workloads:
        if workload.is_reserving or not workload.spec.active:
            continue
        said = workload.condition(QUOTA_RESERVED)
        if is_queued(workload, now) and (said is None or said.reason in _WAITING):
            active += 1
        else:
            inadmissible += 1
    return active, inadmissible
