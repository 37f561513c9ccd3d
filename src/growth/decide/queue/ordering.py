"""Who comes first: priority, then time, then the uid, so that any two replicas come to the same order.

The time is that of creation. A workload that could not start (its pods were not ready in time) counts from its
eviction, and so goes to the back, if the strategy says ``Eviction``. Whoever was evicted for another reason keeps its
place.

A workload for which others were preempted comes before those of its own priority (but a StrictFIFO queue knows only
its order): what the preempted leave is not for others, or they would be preempted again and again. A more important
workload still comes before it: otherwise the preemptor would start, only to be preempted by that one. In Kueue the
preemptor comes before all; that is a setting (``queue.waitingPreemptorsFirst``, docs/decisions/0009-priority-first.md).
"""

from datetime import UTC, datetime
from typing import Final, Literal, NamedTuple

from growth.api.queue.workload import (
    EVICTED,
    PODS_READY_TIMEOUT,
    PREEMPTED,
    QUOTA_RESERVED,
    WAITS_FOR_PREEMPTED,
    Workload,
)

Strategy = Literal["Eviction", "Creation"]
Order = tuple[int, datetime, str]


class Place(NamedTuple):
    """Where it stands in the line of its queue: what to sort by."""

    rank: int
    """Before which no preemptor comes: one for each priority, or one for all."""
    is_behind_preemptors: bool
    """Whether those of its rank for which others were preempted come before it; it is False for these."""
    order: Order


_NEVER: Final = datetime.min.replace(tzinfo=UTC)


def queued_since(workload: Workload, strategy: Strategy) -> datetime:
    """The instant that decides its place among those of the same priority."""
    evicted = workload.condition(EVICTED)
    if (
        strategy == "Eviction"
        and evicted is not None
        and evicted.status == "True"
        and evicted.reason == PODS_READY_TIMEOUT
        and evicted.last_transition_time is not None
    ):
        return evicted.last_transition_time
    return workload.metadata.creation_timestamp or _NEVER


def order_of(workload: Workload, strategy: Strategy) -> Order:
    """What to sort by."""
    return -workload.priority, queued_since(workload, strategy), workload.metadata.uid


def waits_for_preempted(workload: Workload) -> bool:
    """Whether others were sent back for it: read from what was said of it, so that a restart forgets nothing."""
    reserved = workload.condition(QUOTA_RESERVED)
    return reserved is not None and (reserved.status, reserved.reason) == ("False", WAITS_FOR_PREEMPTED)


def was_sent_back(workload: Workload) -> bool:
    """Whether it had to go for somebody else, and has not been let in since."""
    evicted = workload.condition(EVICTED)
    return evicted is not None and (evicted.status, evicted.reason) == ("True", PREEMPTED)


def place_of(workload: Workload, order: Order, *, is_strict: bool, preemptors_first: bool) -> Place:
    """Where it stands in the line of its queue."""
    rank = 0 if preemptors_first else order[0]
    return Place(rank, is_strict or not waits_for_preempted(workload), order)
