"""Nodes without enough room: what they said to one pod, they say to all that ask for as much.

A pod that fits nowhere hears a reason from every node. Pods of hundreds of services ask for the same few sizes, and
whenever a large cluster is full, each of them would ask thousands of nodes the same.
"""

import msgspec

from growth.api.node import Node
from growth.api.pod import Pod
from growth.decide.fit.node_ports import host_ports
from growth.observe.pod_requests import Requests
from growth_lab.simulator.scheduler.cache import Picture
from growth_lab.simulator.scheduler.unschedulable_message import RESOURCES, Refused


class _Said(msgspec.Struct):
    """What nodes said to one size, as far as it still holds."""

    seen: int
    answers: dict[str, Refused] = {}


class Lacking:
    """By size, the nodes that are open to everybody and have too little room."""

    def __init__(self, picture: Picture) -> None:
        self._picture = picture
        self._said: dict[tuple[tuple[str, int], ...], _Said] = {}

    def answers(self, requests: Requests) -> dict[str, Refused]:
        """What nodes said to this size; nodes that have changed since are not in it."""
        picture, size = self._picture, tuple(requests.items())
        said = self._said.get(size)
        if said is None:
            said = self._said[size] = _Said(picture.changes_heard)
        for name in picture.changed_since(said.seen, said.answers):
            said.answers.pop(name, None)
        said.seen = picture.changes_heard
        return said.answers


def asks_for_room_first(pod: Pod) -> bool:
    """Whether no filter that comes before room can refuse it, on a node that is open to everybody."""
    spec = pod.spec
    return not spec.node_selector and spec.affinity is None and not host_ports(spec)


def is_for_all(node: Node, answer: Refused) -> bool:
    """Whether all pods of a size hear this: the node is open, and lacks the room itself; it is not kept for others."""
    return answer.filter == RESOURCES and bool(answer.sayings) and not node.spec.taints and not node.spec.unschedulable
