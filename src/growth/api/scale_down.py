"""The mark of a node that nobody needs: no new pods, and when it goes.

Taint and annotation are written together. A node with only one of them was touched by somebody else: it is not marked.
"""

from datetime import datetime
from typing import Final

from growth.api.node import Node
from growth.api.timestamp import TimestampError, parse_timestamp
from growth.api.tolerations import NO_SCHEDULE, Taint

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
