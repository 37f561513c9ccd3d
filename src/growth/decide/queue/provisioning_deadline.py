"""While machines come: who waits for them is not put back for that, as long as they come within their usual time.

    admitted ──pods wait──► a machine is asked for ──► its node comes ──► the pods go there ──► ready
       └─ timeout ─┘           └── machineWithin ──┴── readyWithin ──┘└──── timeout ────┘

A pod that is not ready has an excuse if a NodeRequest that is open was made for it, or if its node has joined since.
Then it has time until that machine should be there, and once it is there the timeout anew, as if it had just been
admitted. One pod without an excuse is enough to put the workload back. And nobody is waited for longer than one machine
may take, and the timeout after that: who needs a second attempt has its next admission.

All of it is read from objects: pods, nodes and requests.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.annotations import STARTED_AT
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.offering import POOL
from growth.api.pod import Pod
from growth.api.settings.model import ProvisionSettings
from growth.api.timestamp import TimestampError, parse_timestamp
from growth.decide.capacity.upcoming_nodes import is_live
from growth.decide.elapsed import phase_since
from growth.decide.queue.requeue import ReadinessDeadline, later

EXPECTED: Final = ", expected by "
"""In what is said of pods that are not ready: they wait for machines, and so have more time than the timeout."""

Since = Callable[[datetime | None], datetime]
"""From when a deadline counts that began when this was written (``State.since``)."""


class LaunchingNode(msgspec.Struct, frozen=True):
    """A machine that came, or comes, for a pod."""

    name: str
    until: datetime
    """So long the pod has time because of it."""
    is_there: bool


class LaunchStatus(msgspec.Struct, frozen=True):
    """What is known about machines in one pass."""

    now: datetime
    since: Since
    settings: ProvisionSettings
    nodes: Mapping[str, Node]
    requests: Mapping[str, list[NodeRequest]]
    """By the uids of the pods that they are made for."""

    def machine_for(self, pod: Pod, term: ReadinessDeadline) -> LaunchingNode | None:
        """The machine for which this pod, which is not ready, has to wait; None if it is none."""
        if pod.node_name:
            return self._joined(pod.node_name, term)
        found = [self._asked_for(request, term) for request in self.requests.get(pod.metadata.uid, ())]
        return max((one for one in found if one is not None), key=lambda one: (one.until, one.name), default=None)

    def served_until(self, uid: str) -> datetime | None:
        """Until when a machine is expected to serve this pod, which has no node; None if there is none.

        One that is there already has so much time as it is kept for those that it was bought for.
        """
        found = [self._serves_until(request) for request in self.requests.get(uid, ())]
        return max((when for when in found if when is not None and self.now < when), default=None)

    def _serves_until(self, request: NodeRequest) -> datetime | None:
        if is_live(request):
            return self._expected_by(request)
        if request.status.phase != "Ready" or request.metadata.name not in self.nodes:
            return None
        return self.since(phase_since(request, self.now)) + self.settings.hand_over

    def _joined(self, name: str, term: ReadinessDeadline) -> LaunchingNode | None:
        """The pod's node, if it is one of ours that was not there when the pod's time began."""
        node = self.nodes.get(name)
        if node is None or POOL not in node.metadata.labels or (_born(node) or term.since) <= term.since:
            return None
        return LaunchingNode(name, (_opened_at(node) or self.now) + term.allowed, is_there=True)

    def _asked_for(self, request: NodeRequest, term: ReadinessDeadline) -> LaunchingNode | None:
        name = request.metadata.name
        if is_live(request):
            until = self._expected_by(request)
            return LaunchingNode(name, until, is_there=False) if self.now < until else None
        if request.status.phase == "Ready" and name in self.nodes:
            return LaunchingNode(name, self.since(phase_since(request, self.now)) + term.allowed, is_there=True)
        return None

    def _expected_by(self, request: NodeRequest) -> datetime:
        """When it is given up, if it has not come: as ``decide.node_requests`` has it."""
        began = phase_since(request, self.now) or request.metadata.creation_timestamp
        registers_by = self.since(began) + self.settings.machine_within
        return registers_by + self.settings.ready_within if request.metadata.name in self.nodes else registers_by


def requests_by_pod(requests: Iterable[NodeRequest]) -> dict[str, list[NodeRequest]]:
    """Which requests were made for whom."""
    found: dict[str, list[NodeRequest]] = {}
    for request in requests:
        for uid in request.planned_for:
            found.setdefault(uid, []).append(request)
    return found


def extended(
    term: ReadinessDeadline,
    machines: Sequence[LaunchingNode | None],
    settings: ProvisionSettings,
    *,
    are_ready: bool = False,
) -> datetime:
    """When the pods must be ready that wait for these machines, one each; None stands for a pod that waits for none.

    ``are_ready`` says that there are no such pods because all are ready, and their job has yet to notice it.
    """
    longest = later(term.ends_at, settings.machine_within, settings.ready_within, term.allowed)
    if not machines:
        return longest if are_ready else term.ends_at
    until = min(one.until if one is not None else term.ends_at for one in machines)
    return min(max(term.ends_at, until), longest)


def reported(machines: Iterable[LaunchingNode | None]) -> str:
    """How many machines are awaited, and until when; empty if none is."""
    coming = {one.name: one.until for one in machines if one is not None and not one.is_there}
    if not coming:
        return ""
    count = "a machine" if len(coming) == 1 else f"{len(coming)} machines"
    return f"waits for {count}{EXPECTED}{max(coming.values()):%H:%M} UTC"


def _born(node: Node) -> datetime | None:
    return node.metadata.creation_timestamp


def _opened_at(node: Node) -> datetime | None:
    """When pods could go there; None if that is not so yet."""
    try:
        return parse_timestamp(node.metadata.annotations[STARTED_AT])
    except (KeyError, TimestampError):
        ready = next((one for one in node.status.conditions if one.type == "Ready"), None)
        return ready.last_transition_time if ready is not None and ready.status == "True" else None
