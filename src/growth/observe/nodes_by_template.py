"""What nodes were made from. There are thousands of nodes and a few makes, and most questions are about the make."""

from collections.abc import ItemsView, Mapping
from typing import NamedTuple

from growth.api.annotations import DRAIN, TEMPLATE
from growth.api.node import Node
from growth.api.offering import OFFERING, POOL


class NodeTemplateKey(NamedTuple):
    """What nodes have in common for whoever asks whether they must go."""

    pool: str
    offering: str
    template: str | None
    """The mark of the template; None if it bears none."""
    is_unwanted: bool
    """Whether a person wants them to go (``api.annotations``)."""


def make_of(node: Node) -> NodeTemplateKey:
    """What it says itself."""
    labels, annotations = node.metadata.labels, node.metadata.annotations
    return NodeTemplateKey(
        labels.get(POOL, ""), labels.get(OFFERING, ""), annotations.get(TEMPLATE), DRAIN in annotations
    )


class NodesByTemplate:
    """All nodes by make. Told of each change."""

    def __init__(self) -> None:
        self._nodes: dict[NodeTemplateKey, dict[str, Node]] = {}

    def items(self) -> ItemsView[NodeTemplateKey, Mapping[str, Node]]:
        """Each make that there is, and its nodes by name."""
        return self._nodes.items()

    def of_pool(self, pool: str) -> list[Node]:
        """The nodes that bear a pool's label."""
        return [node for make, alike in self._nodes.items() if make.pool == pool for node in alike.values()]

    def put(self, node: Node) -> None:
        """A node came, or is now like this."""
        self._nodes.setdefault(make_of(node), {})[node.metadata.name] = node

    def take(self, node: Node) -> None:
        """A node went, or is not like this any more."""
        make = make_of(node)
        alike = self._nodes[make]
        del alike[node.metadata.name]
        if not alike:
            del self._nodes[make]
