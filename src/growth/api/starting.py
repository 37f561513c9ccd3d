"""The start-up taint: a new node is closed, and only the pods that it was bought for hold a key.

The taint's value is the node's name, and the key is a toleration of exactly that. A pod may be given tolerations while
it waits, never relieved of them; a key to a node that never comes opens nothing, so it does no harm.
"""

from typing import Final

from growth.api.pod import Pod
from growth.api.tolerations import NO_SCHEDULE, Taint, Toleration

STARTING: Final = "growth.dev/starting"


def closed(node: str) -> Taint:
    """What keeps everybody off a node but the pods that hold its key."""
    return Taint(STARTING, node, NO_SCHEDULE)


def key_to(node: str) -> Toleration:
    """What lets a pod in while the node is closed."""
    return Toleration(STARTING, "Equal", node, NO_SCHEDULE)


def kept_for(pod: Pod) -> str:
    """The node on which a place is kept for this pod: the one of its newest key; empty if it has none."""
    for toleration in reversed(pod.spec.tolerations):
        if toleration.value and toleration == key_to(toleration.value):
            return toleration.value
    return ""
