"""Nodes that are closed to pods: what they said to one, they say to all that tolerate the same.

New nodes are closed and the emptiest of all, so each pod asks them first; while hundreds of them come, that was most of
what the scheduler did.
"""

from typing import Final

import msgspec

from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.tolerations import Toleration
from growth.decide.fit.taint_toleration import FILTER, UNSCHEDULABLE_FILTER
from growth_lab.simulator.scheduler.unschedulable_message import Refused

_CLOSED_BY: Final = (UNSCHEDULABLE_FILTER, FILTER)
_MOST: Final = 8_192


class _Said(msgspec.Struct, frozen=True, gc=False):
    node: Node
    """As it was then: another object is a node that has changed."""
    opened_by: frozenset[str]
    """A pod that holds one of these keys tolerates more here than its spec says."""
    tolerations: tuple[Toleration, ...]
    answer: Refused


class Closed:
    """The last refusal of each node that is closed."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}

    def answer(self, pod: Pod, name: str, node: Node) -> Refused | None:
        """What the node says to this pod; None if it must be asked."""
        said = self._said.get(name)
        if said is None or said.node is not node or not said.opened_by.isdisjoint(pod.keys):
            return None
        return said.answer if said.tolerations == pod.spec.tolerations else None

    def note(self, pod: Pod, name: str, node: Node, answer: Refused) -> None:
        """A node was asked, and refused a pod."""
        opened_by = frozenset(taint.value for taint in node.spec.taints)
        if answer.filter not in _CLOSED_BY or not opened_by.isdisjoint(pod.keys):
            return
        if len(self._said) >= _MOST:
            self._said.clear()  # most of them are long gone
        self._said[name] = _Said(node, opened_by, pod.spec.tolerations, answer)
