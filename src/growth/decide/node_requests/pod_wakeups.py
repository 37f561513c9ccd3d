"""Calling the pods whose places are ready: most are woken by the new node, some by nothing at all.

Each is called once for each place, for the newest one last; so two places of one pod do not make it listen to both for
ever. When its time to get there is over, it has no place any more, and what to do about it is for ``grow`` to say.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from growth.api.node_request import NodeRequest
from growth.api.pod import Pod
from growth.decide.capacity.upcoming_nodes import still_fitting
from growth.decide.node_requests.context import NodeRequestsContext
from growth.decide.writes.pod_wakeup import NUDGE, nudge

# A pod whose place is ready is bound within a second or so. One that is not may wait for an event that does not come.
_LATE_AFTER: Final = timedelta(seconds=10)
# If the scheduler is merely slow, calling everybody would make it slower. So many are called and not there yet at most.
_LATE_AT_ONCE: Final = 50


def planned(context: NodeRequestsContext, request: NodeRequest) -> list[Pod]:
    """The pods that a machine was bought for and that still wait; not those that a smaller node has no room for."""
    waiting, node = context.snapshot.waiting, context.snapshot.nodes.get(request.metadata.name)
    uids = request.planned_for
    if node is not None and node.is_ready and request.spec.target_offering in context.catalog.disappointing:
        uids = still_fitting(request, context.snapshot, waiting)
    return [waiting[uid] for uid in uids if uid in waiting]


def call(context: NodeRequestsContext) -> None:
    """Wake those that no new node wakes, at once; the others if they are late."""
    called: dict[str, tuple[Pod, str, bool]] = {}
    late_after = min(_LATE_AFTER, context.settings.hand_over / 2)
    for since, name, request in sorted(_handed_over(context), key=lambda one: one[:2]):
        if name not in context.snapshot.nodes or name in context.terminating:
            continue
        is_late, shy = context.now >= since + late_after, set(request.wakes)
        if not is_late:
            context.deadlines.append(since + late_after)
        for pod in _let_in(context, request) if shy or is_late else ():
            uid = pod.metadata.uid
            if uid in shy or (is_late and uid in context.snapshot.refused):
                called[uid] = (pod, name, uid in shy)
    free = _LATE_AT_ONCE - sum(pod.metadata.labels.get(NUDGE) == name for pod, name, _ in called.values())
    for pod, name, is_shy in called.values():
        action = nudge(pod, name, "its place is ready, and nothing else wakes it")
        if action is None or (free <= 0 and not is_shy):
            continue
        free -= not is_shy
        context.said.append(action)


def _handed_over(context: NodeRequestsContext) -> Iterator[tuple[datetime, str, NodeRequest]]:
    """Requests whose pods are moving in, with since when and the name. Those before are kept for people to look at, and
    are many."""
    for name, request in context.requests.items():
        if (
            request.status.phase == "Ready"
            and context.now < (since := context.since(request)) + context.settings.hand_over
        ):
            yield since, name, request


def _let_in(context: NodeRequestsContext, request: NodeRequest) -> list[Pod]:
    """Those that could go to their place now: it is open to all, or they have its key."""
    name, pods = request.metadata.name, planned(context, request)
    return [pod for pod in pods if name in pod.keys] if name in context.snapshot.closed else pods
