"""What a pool may still buy: what it sells at all, and what counts against its limits."""

from collections.abc import Mapping
from dataclasses import dataclass

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.quantity import milli_value, value


@dataclass(frozen=True, slots=True)
class PurchaseLimit:
    """Something of which there is only so much: a pool's limit, a type's maximum, an offering's stock."""

    what: str
    left: float
    use: Mapping[int, float]
    """By kind, how much one machine uses up."""


class PoolUsage(msgspec.Struct, frozen=True):
    """What a pool has already, alive or on its way: counts against its limits."""

    pool: str
    server_type: str
    nodes: int
    cpu_millis: int = 0
    memory_bytes: int = 0
    cost_per_hour: float = 0.0

    @staticmethod
    def of(pool: str, offering: Offering) -> "PoolUsage":
        """One machine of this offering, which has the pool's price (``as_billed``)."""
        cpu, memory = (offering.resources.get(name, "0") for name in ("cpu", "memory"))
        price = offering.price_per_hour
        return PoolUsage(pool, offering.server_type, 1, milli_value(cpu), value(memory), price)


def may_launch(pool: NodePool, offering: Offering) -> bool:
    """Whether this is one of the machines that the pool is made of, in stock or not."""
    is_named = any(one.name.lower() == offering.server_type.lower() for one in pool.spec.server_types)
    return is_named and offering.is_cloud and sells(pool, offering)


def sells(pool: NodePool, offering: Offering) -> bool:
    """Whether the pool buys from this provider and at this location; the type is another question."""
    if pool.spec.provider and pool.spec.provider != offering.provider:
        return False
    return not pool.spec.locations or offering.location in pool.spec.locations
