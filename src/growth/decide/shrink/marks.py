"""Marking a node that nobody needs, and taking the mark off again: taint and annotation in one edit.

A taint stands in a list that others edit as well. So an edit says which version of the node it was decided on.
"""

from datetime import datetime
from typing import Any

import msgspec

from growth.api.actions import EditObject
from growth.api.node import Node
from growth.api.taints import LEAVES, SCALE_DOWN, SCALE_DOWN_AT, is_tainted
from growth.api.timestamp import format_time
from growth.decide.node_edits import annotated, annotation_path, edited, taint_added


def marked(node: Node, at: datetime, why: str) -> EditObject:
    """No new pods for this node, and when it goes."""
    taints = [] if is_tainted(node) else [taint_added(node, LEAVES)]
    return edited(node, [*taints, annotated(node, SCALE_DOWN_AT, format_time(at))], why)


def unmarked(node: Node, why: str) -> EditObject:
    """The node is needed after all: nothing of the mark stays, whoever put it there."""
    taints = [number for number, taint in enumerate(node.spec.taints) if taint.key == SCALE_DOWN]
    operations: list[dict[str, Any]] = [{"op": "remove", "path": f"/spec/taints/{at}"} for at in reversed(taints)]
    if SCALE_DOWN_AT in node.metadata.annotations:
        operations.append({"op": "remove", "path": annotation_path(SCALE_DOWN_AT)})
    return edited(node, operations, why)


def without_mark(node: Node) -> Node:
    """The node as it would be if it were not to go."""
    taints = tuple(taint for taint in node.spec.taints if taint.key != SCALE_DOWN)
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=taints))
