"""Edits of a node, as JSON patches: its taints are a list, and its annotations may not be there at all."""

from typing import Any

from growth.api.actions import EditObject
from growth.api.kinds import NODES
from growth.api.node import Node
from growth.api.references import reference_to
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
