"""The mark of a node that nobody needs: no new pods, and when it goes.

Taint and annotation are written together. A node with only one of them was touched by somebody else: it is not marked.

The start-up taint: a new node is closed, and only the pods that it was bought for hold a key.

The taint's value is the node's name, and the key is a toleration of exactly that. A pod may be given tolerations while
it waits, never relieved of them; a key to a node that never comes opens nothing, so it does no harm.

A pod's keys are its own, so they stand on the Pod (``Pod.keys``) and not in the spec that it shares:
``api.pod_decoding``.
"""

from datetime import datetime
from typing import Final

import msgspec

from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.timestamp import TimestampError, parse_timestamp
from growth.api.tolerations import NO_SCHEDULE, Taint, Toleration

SCALE_DOWN: Final = "growth.dev/scale-down"
"""Key of the taint."""

SCALE_DOWN_AT: Final = "growth.dev/scale-down-at"
"""Annotation: the instant at which the node goes, if nobody needs it until then."""

LEAVES: Final = Taint(SCALE_DOWN, "", NO_SCHEDULE)


def scale_down_at(node: Node) -> datetime | None:
    """When a marked node goes; None if it is not marked, or if somebody wrote what is no time."""
    text = node.metadata.annotations.get(SCALE_DOWN_AT)
    if text is None or not is_tainted(node):
        return None
    try:
        return parse_timestamp(text)
    except TimestampError:
        return None


def is_tainted(node: Node) -> bool:
    """Whether it bears the taint, whoever put it there."""
    return any(taint.key == SCALE_DOWN for taint in node.spec.taints)


def has_traces(node: Node) -> bool:
    """Whether anything of a mark is on it, whole or not."""
    return is_tainted(node) or SCALE_DOWN_AT in node.metadata.annotations


STARTING: Final = "growth.dev/starting"


def closed(node: str) -> Taint:
    """What keeps everybody off a node but the pods that hold its key."""
    return Taint(STARTING, node, NO_SCHEDULE)


def key_to(node: str) -> Toleration:
    """What lets a pod in while the node is closed."""
    return Toleration(STARTING, "Equal", node, NO_SCHEDULE)


def kept_for(pod: Pod) -> str:
    """The node on which a place is kept for this pod: the one of its newest key; empty if it has none."""
    return pod.keys[-1] if pod.keys else ""


def is_key(toleration: Toleration) -> bool:
    """Whether this is a key, and not the consent of somebody who goes to every node that starts."""
    return (
        toleration.key == STARTING
        and toleration.operator in ("", "Equal")
        and toleration.effect == NO_SCHEDULE
        and bool(toleration.value)
    )


def tolerations_of(pod: Pod) -> tuple[Toleration, ...]:
    """All that a pod tolerates: what its spec says, and what its keys open."""
    return (*pod.spec.tolerations, *map(key_to, pod.keys)) if pod.keys else pod.spec.tolerations


def without_keys(pod: Pod) -> Pod:
    """The pod as any of its siblings: what is true of it is true of them."""
    return msgspec.structs.replace(pod, keys=()) if pod.keys else pod
