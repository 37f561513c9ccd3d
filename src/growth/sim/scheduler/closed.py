"""Nodes that are closed to pods: what they said to one, they say to all that tolerate the same.

New nodes are closed and the emptiest of all, so each pod asks them first; while hundreds of them come, that was most of
what the scheduler did.
"""

from typing import Final

import msgspec

from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.tolerations import Toleration
from growth.decide.fit.taints import FILTER, UNSCHEDULABLE_FILTER
from growth.sim.scheduler.refusal import Refused

_CLOSED_BY: Final = (UNSCHEDULABLE_FILTER, FILTER)
_MOST: Final = 8_192


class _Said(msgspec.Struct, frozen=True):
    node: Node
    """As it was then: another object is a node that has changed."""
    tolerations: tuple[Toleration, ...]
    answer: Refused


class Closed:
    """The last refusal of each node that is closed."""

    def __init__(self) -> None:
        self._said: dict[str, _Said] = {}

    def answer(self, pod: Pod, node: Node) -> Refused | None:
        """What the node says to this pod; None if it must be asked."""
        said = self._said.get(node.metadata.name)
        if said is None or said.node is not node or said.tolerations != pod.spec.tolerations or _has_key(pod, node):
            return None
        return said.answer

    def note(self, pod: Pod, node: Node, answer: Refused) -> None:
        """A node refused a pod."""
        if answer.filter in _CLOSED_BY and not _has_key(pod, node):
            if len(self._said) >= _MOST:
                self._said.clear()  # most of them are long gone
            self._said[node.metadata.name] = _Said(node, pod.spec.tolerations, answer)


def _has_key(pod: Pod, node: Node) -> bool:
    """Whether the pod tolerates more here than its spec says."""
    return any(taint.value in pod.keys for taint in node.spec.taints) if pod.keys else False
