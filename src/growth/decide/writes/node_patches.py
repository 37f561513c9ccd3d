"""Edits of a node, as JSON patches: its taints are a list, and its annotations may not be there at all.

Marking a node that nobody needs, and taking the mark off again: taint and annotation in one edit.

A taint stands in a list that others edit as well. So an edit says which version of the node it was decided on.
"""

from datetime import datetime
from typing import Any

import msgspec

from growth.api.actions import EditObject
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.references import reference_to
from growth.api.taints import LEAVES, SCALE_DOWN, SCALE_DOWN_AT, is_tainted
from growth.api.timestamp import format_time
from growth.api.tolerations import Taint


def edited(node: Node, operations: list[dict[str, Any]], why: str) -> EditObject:
    """Operations on the node as it was seen, and on no other version of it."""
    version = {"op": "test", "path": "/metadata/resourceVersion", "value": str(node.metadata.resource_version)}
    return EditObject(subject=reference_to(NODES, node.metadata), why=why, operations=(version, *operations))


def taint_added(node: Node, taint: Taint) -> dict[str, Any]:
    """One more taint, whether there are others or not."""
    value = {"key": taint.key, "effect": taint.effect, **({"value": taint.value} if taint.value else {})}
    if node.spec.taints:
        return {"op": "add", "path": "/spec/taints/-", "value": value}
    return {"op": "add", "path": "/spec/taints", "value": [value]}


def annotated(node: Node, key: str, text: str) -> dict[str, Any]:
    """One annotation more, whether there are others or not."""
    if node.metadata.annotations:
        return {"op": "add", "path": annotation_path(key), "value": text}
    return {"op": "add", "path": "/metadata/annotations", "value": {key: text}}


def annotation_path(key: str) -> str:
    """Where an annotation stands, as a JSON patch says it."""
    return f"/metadata/annotations/{key.replace('~', '~0').replace('/', '~1')}"


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
