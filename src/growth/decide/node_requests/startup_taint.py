"""Calling the pods whose places are ready: most are woken by the new node, some by nothing at all.

Each is called once for each place, for the newest one last; so two places of one pod do not make it listen to both for
ever. When its time to get there is over, it has no place any more, and what to do about it is for ``grow`` to say.

Who may go onto a new node, and when it is opened to all.

A new node is closed (``api.taints``). Once it is what was planned, and was given back what it was, the pods that it
was bought for get keys, if the plan says that others could spoil it; when they are in, or had their time, the node is
opened. If nobody needs a key, it is opened at once.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.actions import EditObject, Hold, held_and_reported
from growth.api.annotations import STARTED_AT, TEMPLATE
from growth.api.kinds import NODES, PODS
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.offering import POOL
from growth.api.pod import Pod
from growth.api.references import reference_to
from growth.api.taints import STARTING, key_to, tolerations_of
from growth.api.timestamp import format_time
from growth.decide.capacity.node_startup import StartupStep
from growth.decide.capacity.upcoming_nodes import still_fitting
from growth.decide.facts.pending_pods import PendingPods
from growth.decide.node_requests.context import NodeRequestsContext
from growth.decide.node_requests.provisioning import arrival_at, is_another_machine
from growth.decide.writes.node_patches import annotation_path
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
    late_after = min(_LATE_AFTER, context.terms.hand_over / 2)
    for since, name, request in sorted(_handed_over(context), key=lambda one: one[:2]):
        if name not in context.snapshot.nodes or name in context.terminating:
            continue
        is_late, shy = context.now >= since + late_after, set(request.wakes)
        if not is_late:
            context.deadlines.append(since + late_after)
        for pod in _admitted(context, request) if shy or is_late else ():
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
            and context.now < (since := context.phase_since(request)) + context.terms.hand_over
        ):
            yield since, name, request


def _admitted(context: NodeRequestsContext, request: NodeRequest) -> list[Pod]:
    """Those that could go to their place now: it is open to all, or they have its key."""
    name, pods = request.metadata.name, planned(context, request)
    return [pod for pod in pods if name in pod.keys] if name in context.snapshot.closed else pods


# More than can be handed out before we look again. Each that is handed out changes its pod, and then we are woken.
_KEYS_AT_ONCE: Final = 256
# A node is given back what it was in less than a second.
_MEMORY_WITHIN: Final = timedelta(minutes=1)


def open_nodes(context: NodeRequestsContext) -> None:
    """Look at each closed node, then call those whose places are ready."""
    for name, node in sorted(context.snapshot.closed.items()):
        request = context.requests.get(name)
        pool = request.pool if request is not None else node.metadata.labels.get(POOL, "")
        if pool not in context.pools or name in context.terminating:
            continue
        if _index(node) is None:
            why = "its start-up taint is not the one that it was bought with: it is left to whoever set it"
            context.said.append(Hold(subject=reference_to(NODES, node.metadata), why=why, reason="ClosedByOthers"))
        elif context.awaits_memory(node):
            _await_memory(context, node)
        elif request is None:
            if node.is_ready:
                _open(context, node, "nobody waits for it any more")
        elif _has_arrived(context, node, request):
            _let_in(context, node, request)
    call(context)


def _await_memory(context: NodeRequestsContext, node: Node) -> None:
    """It stays closed however long that takes, and keeps its machine; people are told if it takes long."""
    subject, why = reference_to(NODES, node.metadata), "what it was is not given back to it yet"
    since = context.since(node.metadata.creation_timestamp)
    if context.now < since + _MEMORY_WITHIN:
        context.said.append(Hold(subject=subject, why=why, reason="MemoryNotBack"))
        context.deadlines.append(since + _MEMORY_WITHIN)
    else:
        why = f"{why}, so it is not opened; growth memory show {node.metadata.name} says what is remembered of it"
        context.said += held_and_reported(subject, reason="MemoryNotBack", why=why, action="Opening")


def _has_arrived(context: NodeRequestsContext, node: Node, request: NodeRequest) -> bool:
    if is_another_machine(node, request):
        return False
    if request.status.phase == "Provisioning":
        arrival = arrival_at(context, node, request)
        return arrival is not None and arrival.step is StartupStep.ARRIVED
    return request.status.phase == "Ready"


def _let_in(context: NodeRequestsContext, node: Node, request: NodeRequest) -> None:
    waiting, virtual_pods = planned(context, request), context.facts.get(PendingPods).virtual
    # Whoever comes in the place of a stand-in will need a key.
    is_awaited = bool(waiting) or any(uid in virtual_pods for uid in request.planned_for)
    if not request.hands_keys or not is_awaited:
        _open(context, node, "it is what was planned" if waiting or not request.planned_for else "its pods are there")
        return
    since = context.phase_since(request) if request.status.phase == "Ready" else context.now
    ends_at = since + context.terms.hand_over
    if context.now >= ends_at:
        _open(context, node, f"{len(waiting)} pods that it was bought for did not come in time")
        return
    context.deadlines.append(ends_at)
    without = [pod for pod in waiting if node.metadata.name not in pod.keys]
    keys = [_give_key(pod, node) for pod in without[: max(0, _KEYS_AT_ONCE - context.keys_handed)]]
    context.keys_handed += len(keys)
    context.said += keys


def _index(node: Node) -> int | None:
    """Where the taint stands with which it was bought; one that a person copied from elsewhere is left alone."""
    taints = enumerate(node.spec.taints)
    return next((at for at, taint in taints if (taint.key, taint.value) == (STARTING, node.metadata.name)), None)


def _open(context: NodeRequestsContext, node: Node, why: str) -> None:
    path = f"/spec/taints/{_index(node)}"
    operations = (
        {"op": "test", "path": f"{path}/key", "value": STARTING},
        {"op": "test", "path": f"{path}/value", "value": node.metadata.name},
        {"op": "remove", "path": path},
        *_recorded(context, node),
    )
    subject = reference_to(NODES, node.metadata)
    context.said.append(EditObject(subject=subject, why=f"open: {why}", operations=operations))


def _recorded(context: NodeRequestsContext, node: Node) -> tuple[dict[str, Any], ...]:
    """That it was ready once (``api.annotations``), and what it was made from (``api.annotations``)."""
    meta, request = node.metadata, context.requests.get(node.metadata.name)
    mark = request.metadata.annotations.get(TEMPLATE) if request is not None else None
    texts = {STARTED_AT: format_time(context.now), **({TEMPLATE: mark} if mark else {})}
    if meta.annotations:
        return tuple({"op": "add", "path": annotation_path(key), "value": text} for key, text in texts.items())
    # Somebody's first annotation, written meanwhile, must not be lost.
    is_same = {"op": "test", "path": "/metadata/resourceVersion", "value": str(meta.resource_version)}
    return (is_same, {"op": "add", "path": "/metadata/annotations", "value": texts})


def _give_key(pod: Pod, node: Node) -> EditObject:
    key = msgspec.to_builtins(key_to(node.metadata.name))
    add = {"op": "add", "path": "/spec/tolerations/-", "value": key}
    if not tolerations_of(pod):
        add = {"op": "add", "path": "/spec/tolerations", "value": [key]}
    subject = reference_to(PODS, pod.metadata)
    return EditObject(subject=subject, why=f"node {node.metadata.name} was bought for it", operations=(add,))
