"""What one pool learns: from its requests, their nodes, and those of others."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from growth.api.node import Node
from growth.api.node_pool import NodePool, OfferingStatus
from growth.api.node_request import NodeRequest
from growth.api.provider_state import ProviderState
from growth.decide.capacity.offering_catalog import shop_of
from growth.decide.capacity.offering_history import PoolObservation, learnt
from tests.decide.marketplace import NOW, PROVISION, a_cloud, a_pool


def lesson_of(
    requests: Sequence[NodeRequest] = (),
    known: Sequence[OfferingStatus] = (),
    *,
    others: Sequence[NodeRequest] = (),
    nodes: Sequence[Node] = (),
    cloud: ProviderState | None = None,
    pool: NodePool | None = None,
    now: datetime = NOW,
) -> tuple[OfferingStatus, ...]:
    """What the pool's status should say."""
    cloud, pool = cloud or a_cloud(), pool or a_pool()
    pool = msgspec.structs.replace(pool, status=msgspec.structs.replace(pool.status, offerings=tuple(known)))
    clouds = {cloud.provider: cloud}
    lesson = PoolObservation(
        pool=pool,
        requests=tuple(requests),
        every_request=(*requests, *others),
        nodes={node.metadata.name: node for node in nodes},
        catalog=shop_of(clouds, [pool], [*requests, *others], now, PROVISION),
        listed={one.id: one for one in cloud.offerings},
        providers=tuple(clouds),
        now=now,
    )
    return learnt(lesson, PROVISION)
