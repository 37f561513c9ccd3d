"""How full each queue is, in numbers: for metrics, and worked out only of what its status needs anyway."""

from collections.abc import Mapping
from typing import Final

import msgspec

from growth.api.queue.workload import ADMITTED, QUOTA_RESERVED, Workload
from growth.decide.queue.context import QueueContext
from growth.decide.queue.held_quota import usage_of
from growth.decide.queue.quota_tree import Slot
from growth.decide.queue.usage_counts import WorkloadUsage
from growth.decide.queue.workload_lifecycle import is_queued

# Who waits for one of these could be next; others wait for a person, or for a time.
_WAITING: Final = ("", "PendingEvaluation", "WaitingForQuota", "WaitingForPodsReady", "WaitingForPreemptedWorkloads")


class QueueFigures(msgspec.Struct, frozen=True):
    """One ClusterQueue."""

    active: int
    """Who waits for its turn."""
    inadmissible: int
    """Who waits for something else: its backoff, another quota, a queue that is at work."""
    reserving: int
    admitted: int
    used: Mapping[Slot, int]
    nominal: Mapping[Slot, int]


def share_of(context: QueueContext, workload: Workload) -> WorkloadUsage:
    """What one workload adds to them."""
    if workload.is_finished:
        return WorkloadUsage()
    queue = context.queue_of(workload)
    name = queue.metadata.name if queue is not None else ""
    local_queue = (workload.metadata.namespace, workload.spec.queue_name)
    if workload.is_reserving:
        return WorkloadUsage(
            name, local_queue, reserving=1, admitted=int(workload.holds(ADMITTED)), usage=usage_of(workload)
        )
    if not workload.spec.active:
        return WorkloadUsage(name, local_queue)
    said = workload.condition(QUOTA_RESERVED)
    is_next = is_queued(workload, context.now) and (said is None or said.reason in _WAITING)
    return WorkloadUsage(name, local_queue, waiting=1, active=int(is_next), inadmissible=int(not is_next))
