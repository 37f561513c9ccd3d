"""What there is to learn from, for one pool."""

from collections.abc import Collection, Mapping
from datetime import datetime

import msgspec

from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest
from growth.api.offering import OFFERING, Offering
from growth.decide.offerings import Shop


class Lesson(msgspec.Struct, frozen=True):
    """Everything there is to learn from, for one pool."""

    pool: NodePool
    requests: tuple[NodeRequest, ...]
    """Those of the pool."""
    every_request: Collection[NodeRequest]
    """Those of all pools: what another one could have, this one can have, too."""
    nodes: Mapping[str, Node]
    shop: Shop
    listed: Mapping[str, Offering]
    """Offerings as their providers list them, not corrected by what was learnt."""
    providers: tuple[str, ...]
    now: datetime
    alike: Collection[str] = ()
    """Names of pools whose machines are made like this one's, itself among them."""


def bought_as(request: NodeRequest, lesson: Lesson) -> Offering | None:
    """What its machine is, as it is believed to be. A request may leave the location open; then its node says it."""
    exact = lesson.shop.get(request.spec.target_offering)
    node = lesson.nodes.get(request.metadata.name)
    return exact or (lesson.shop.get(node.metadata.labels.get(OFFERING, "")) if node is not None else None)
