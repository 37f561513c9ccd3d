"""Whoever waits for machines that cannot be had moves: another flavor may have room, and its quota is for others.

That is nobody's fault, so it is not counted, and it may come back at once. Who has machines on their way stays: these
could be had, if only these. As many pods of a job as there are places for on such machines do not wait in vain; some of
the places may be for pods that were announced (``announcing``), and are for whichever of the job's pods come.

A job that needs more machines than can be had would begin again whenever what was bought for it has been given back,
and pay for these machines for ever. So whoever has moved a few times waits longer and longer before it is tried again.
"""

from typing import Final

from growth.api.queue.workload import EVICTED, ON_STANDING_NODES, PODS_READY, Workload
from growth.decide.elapsed import is_ahead
from growth.decide.facts.virtual_pods import is_announced_for
from growth.decide.queue.context import QueueContext
from growth.decide.queue.existing_capacity import is_given_time
from growth.decide.queue.failure_notes import flavors_of, note_failures
from growth.decide.queue.flavor_assignment import OUT_OF_STOCK
from growth.decide.queue.requeue import delay, later
from growth.decide.queue.workload_patch import WorkloadDraft

_FREE_MOVES: Final = 3
"""So often in its life it may be that nobody knew better."""


def follow_stock(context: QueueContext, draft: WorkloadDraft) -> bool:
    """Put it back if it waits in vain; whether something has to be noted on it first."""
    workload, closed = draft.workload, context.closed
    if not closed or not workload.is_reserving or workload.holds(EVICTED) or workload.holds(PODS_READY):
        return False
    gone = [flavor for flavor in flavors_of(workload) if flavor in closed]
    if not gone or is_given_time(context, workload) or not _is_in_vain(context, workload):
        return False
    if note_failures(draft, gone, closed):
        return True
    missed = "; its pods found no place on the nodes that stand" if workload.holds(ON_STANDING_NODES) else ""
    draft.say(EVICTED, "True", OUT_OF_STOCK, f"flavor {gone[0]}: {closed[gone[0]]}{missed}")
    return False


def may_return(context: QueueContext, workload: Workload) -> bool:
    """Whether who had to move may be tried again now."""
    stats, evicted = workload.status.scheduling_stats, workload.condition(EVICTED)
    moves = sum(one.count for one in stats.evictions if one.reason == OUT_OF_STOCK) if stats is not None else 0
    since = evicted.last_transition_time if evicted is not None else None
    if moves <= _FREE_MOVES or since is None:
        return True
    rest = delay(moves - _FREE_MOVES, context.terms.requeuing, workload.metadata.uid)
    is_resting = is_ahead(later(since, rest), context.now, rest)
    if is_resting:
        context.deadlines.append(later(since, rest))
    return not is_resting


def may_have_to_move(context: QueueContext, workload: Workload) -> bool:
    """Whether it has pods that wait where nothing can be had: how these fare is seen on machines, not on it."""
    closed = context.closed
    is_short = bool(closed) and any(flavor in closed for flavor in flavors_of(workload))
    return is_short and any(not pod.node_name for pod in context.unready_pods(workload))


def _is_in_vain(context: QueueContext, workload: Workload) -> bool:
    """Whether some of its pods have no node, and no machine comes for them."""
    machines, uid = context.provisioning, workload.metadata.uid
    waiting = [pod.metadata.uid for pod in context.unready_pods(workload) if not pod.node_name]
    announced = [one for one in machines.requests if is_announced_for(one, uid)] if waiting else []
    served = [when for one in (*waiting, *announced) if (when := machines.served_until(one)) is not None]
    context.deadlines += served
    return len(served) < len(waiting)
