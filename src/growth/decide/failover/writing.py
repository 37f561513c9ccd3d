"""A note on a node: one annotation, as JSON."""

from typing import Any

import msgspec

from growth.api.node import Node


def annotated(node: Node, key: str, value: msgspec.Struct) -> dict[str, Any]:
    """One annotation more, whether there are others or not."""
    text = msgspec.json.encode(value).decode()
    if node.metadata.annotations:
        return {"op": "add", "path": path_of(key), "value": text}
    return {"op": "add", "path": "/metadata/annotations", "value": {key: text}}


def path_of(key: str) -> str:
    """Where an annotation stands, as a JSON patch says it."""
    return f"/metadata/annotations/{key.replace('~', '~0').replace('/', '~1')}"
