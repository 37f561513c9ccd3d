"""Who comes first: priority, then time, then the uid, so that any two replicas come to the same order.

The time is that of creation. A workload that could not start (its pods were not ready in time) counts from its
eviction, and so goes to the back, if the strategy says ``Eviction``. Whoever was evicted for another reason keeps its
place.
"""

from datetime import UTC, datetime
from typing import Final, Literal

from growth.api.queue.workload import EVICTED, PODS_READY_TIMEOUT, Workload

Strategy = Literal["Eviction", "Creation"]
Order = tuple[int, datetime, str]

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
