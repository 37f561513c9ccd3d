"""That a node was ready once, as we recorded it: without it, one that is unready cannot be told from one that boots.

A node's own times do not tell: the transition of its Ready condition is written anew by whoever notices something.
"""

from typing import Final

from growth.api.node import Node

STARTED_AT: Final = "growth.dev/started-at"
"""Annotation: when its node was opened, being what was planned."""


def was_started(node: Node) -> bool:
    """Whether it is written on the node that it was ready once."""
    return STARTED_AT in node.metadata.annotations
