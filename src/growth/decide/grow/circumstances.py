"""What a plan depends on beside the pods, in a few characters: they are written on pods that found no place.

A pod that is left alone is tried again when the circumstances are others: other pools, another catalogue, an offering
that can be had again. Where pools have limits, it is also tried again when a machine has gone: then there is room
below the limit. One more machine is no reason, so a pool that grows to its limit is not planned for again and again.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

import msgspec

from growth.api.nodepool import Limits, NodePool
from growth.decide.grow.estate import Holding
from growth.decide.offerings import Shop

_HEX_DIGITS = 10


class Circumstances(msgspec.Struct, frozen=True):
    """The circumstances at one instant, or after a plan was carried out."""

    facts: str
    """Of pools and offerings, as a hash."""
    machines: Mapping[str, int] = {}
    """How many machines of which type pools have, those that have limits."""

    @property
    def text(self) -> str:
        """As it is written on pods, and read again by another process."""
        counts = ",".join(f"{name}={count}" for name, count in sorted(self.machines.items()) if count)
        return f"{self.facts} {counts}" if counts else self.facts

    def hold_what(self, saw: str) -> bool:
        """Whether there is no more to be had than under those that were written down."""
        facts, _, counts = saw.partition(" ")
        if facts != self.facts:
            return False
        before = (one.partition("=") for one in counts.split(",") if one)
        return all(count.isdecimal() and self.machines.get(name, 0) >= int(count) for name, _, count in before)

    def after(self, bought: Iterable[tuple[NodePool, str]]) -> "Circumstances":
        """The same with more machines: the pool and the server type of each."""
        more = Counter(_key(pool.metadata.name, server_type) for pool, server_type in bought if is_limited(pool))
        return Circumstances(self.facts, dict(more + Counter(self.machines)))


def circumstances_of(pools: Iterable[NodePool], shop: Shop, held: Iterable[Holding]) -> Circumstances:
    """What can be bought for these pools, and what they have."""
    pools = list(pools)
    limited = {pool.metadata.name for pool in pools if is_limited(pool)}
    machines = Counter(_key(one.pool, one.server_type) for one in held if one.pool in limited)
    return Circumstances(_facts(pools, shop), dict(machines))


def is_limited(pool: NodePool) -> bool:
    """Whether there may be only so many machines of it."""
    return pool.spec.limits != Limits() or any(one.max is not None for one in pool.spec.server_types)


def _facts(pools: Iterable[NodePool], shop: Shop) -> str:
    stated = [(pool.metadata.name, pool.spec) for pool in pools]
    # How many there are changes with every purchase; whether there are any counts.
    sold = [
        (msgspec.structs.replace(one.offering, stock=None), one.access.value, one.is_listed)
        for _, one in sorted(shop.sold.items())
    ]
    text = msgspec.json.encode((stated, sold), order="deterministic")
    return hashlib.sha256(text).hexdigest()[:_HEX_DIGITS]


def _key(pool: str, server_type: str) -> str:
    return f"{pool}/{server_type.lower()}"
