"""Who may go onto a new node, and when it is opened to all.

A new node is closed (``api.starting``). Once it is what was planned, the pods that it was bought for get keys, if the
plan says that others could spoil it; when they are in, or had their time, the node is opened. If nobody needs a key, it
is opened at once.
"""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.action import Action, EditObject, Hold
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, PODS
from growth.api.machine import request_for
from growth.api.node import Node
from growth.api.nodepool import NodePool
from growth.api.noderequest import NodeRequest
from growth.api.offering import POOL
from growth.api.pod import Pod
from growth.api.references import reference_to
from growth.api.settings import Settings
from growth.api.starting import STARTING, key_to, tolerations_of
from growth.decide.ages import counts_from
from growth.decide.decider import State
from growth.decide.offerings import Shop, offering_for
from growth.decide.provision.arrival import Step, arrival_of
from growth.decide.waking import nudge
from growth.observe.snapshot import Snapshot

# A pod whose place is ready is bound within a second or so. One that is not may wait for an event that does not come.
_NUDGE_AFTER: Final = timedelta(seconds=10)
# If the scheduler is merely slow, nudging everybody would make it slower.
_NUDGES: Final = 50


class Opening:
    """The part of a pass that is about nodes that are closed."""

    def __init__(self, snapshot: Snapshot, state: State, settings: Settings, shop: Shop) -> None:
        self._snapshot, self._state, self._settings, self._shop = snapshot, state, settings, shop
        self._now = snapshot.now
        self.said: list[Action | Hold] = []
        self.deadlines: list[datetime] = []
        self._nudges = 0

    def run(self) -> None:
        """Look at each closed node, and at those that were opened a moment ago."""
        requests = self._snapshot.table(NODE_REQUESTS)
        pools = self._snapshot.table(NODE_POOLS)
        removals = self._snapshot.table(NODE_REMOVAL_REQUESTS)
        for name, node in sorted(self._snapshot.closed.items()):
            pool = pools.get(("", node.metadata.labels.get(POOL, "")))
            if pool is None or ("", name) in removals or not _is_ours(node):
                continue
            request = requests.get(("", name))
            if request is None:
                if node.is_ready:
                    self._open(node, "nobody waits for it any more")
            elif self._has_arrived(node, request, pool):
                self._let_in(node, request)
        for request in requests.values():
            if request.status.phase == "Ready" and request.metadata.name not in self._snapshot.closed:
                self._wake(request, self._waiting(request))

    def _has_arrived(self, node: Node, request: NodeRequest, pool: NodePool) -> bool:
        if request.status.phase == "Ready":
            return True
        offering = offering_for(request, self._shop)
        if offering is None or request.status.phase != "Provisioning":
            return False
        if node.spec.provider_id not in ("", request.status.provider_id):
            return False
        wanted = request_for(request.metadata.name, pool, offering)
        return arrival_of(node, wanted, pool).step is Step.ARRIVED

    def _let_in(self, node: Node, request: NodeRequest) -> None:
        waiting = self._waiting(request)
        if not request.hands_keys or not waiting:
            self._open(node, "it is what was planned" if waiting or not request.planned_for else "its pods are there")
            return
        since = self._now
        if request.status.phase == "Ready":
            since = counts_from(request.status.phase_since, self._now, self._state.steady_since)
        ends_at = since + self._settings.provision.hand_over
        if self._now >= ends_at:
            self._open(node, f"{len(waiting)} pods that it was bought for did not come in time")
            return
        self.deadlines.append(ends_at)
        self.said += [_give_key(pod, node) for pod in waiting if node.metadata.name not in pod.keys]
        self._wake(request, [pod for pod in waiting if node.metadata.name in pod.keys])

    def _waiting(self, request: NodeRequest) -> list[Pod]:
        waiting = self._snapshot.waiting
        return [waiting[uid] for uid in request.planned_for if uid in waiting]

    def _wake(self, request: NodeRequest, pods: list[Pod]) -> None:
        """Wake those that no new node wakes, at once; the others if they are late."""
        if not pods or request.status.phase_since is None:
            return
        shy = set(request.wakes)
        since = counts_from(request.status.phase_since, self._now, self._state.steady_since)
        is_late = request.status.phase == "Ready" and self._now >= since + _NUDGE_AFTER
        if not is_late:
            self.deadlines.append(since + _NUDGE_AFTER)
        for pod in pods:
            if pod.metadata.uid not in shy and not is_late:
                continue
            action = nudge(pod, request.metadata.name, "its place is ready, and nothing else wakes it")
            if action is not None and (self._nudges < _NUDGES or pod.metadata.uid in shy):
                self._nudges += 1
                self.said.append(action)

    def _open(self, node: Node, why: str) -> None:
        index = next(at for at, taint in enumerate(node.spec.taints) if taint.key == STARTING)
        path = f"/spec/taints/{index}"
        operations = ({"op": "test", "path": f"{path}/key", "value": STARTING}, {"op": "remove", "path": path})
        subject = reference_to(NODES, node.metadata)
        self.said.append(EditObject(subject=subject, why=f"open: {why}", operations=operations))


def _is_ours(node: Node) -> bool:
    """Whether the taint was put there for this node: one that a person copied from elsewhere is left alone."""
    return any(taint.key == STARTING and taint.value == node.metadata.name for taint in node.spec.taints)


def _give_key(pod: Pod, node: Node) -> EditObject:
    key = msgspec.to_builtins(key_to(node.metadata.name))
    add = {"op": "add", "path": "/spec/tolerations/-", "value": key}
    if not tolerations_of(pod):
        add = {"op": "add", "path": "/spec/tolerations", "value": [key]}
    subject = reference_to(PODS, pod.metadata)
    return EditObject(subject=subject, why=f"node {node.metadata.name} was bought for it", operations=(add,))
