"""What a plan depends on beside the pods, in a few characters: they are written on pods that found no place.

A pod that is left alone is tried again when the circumstances are others: other pools, another catalogue, an offering
that can be had again. What changes with every purchase is looked at only in the direction that helps: a machine has
gone from a pool that has limits, or there is stock again of what was used up. So a pool that grows to its limit is not
planned for again and again.
"""

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import msgspec

from growth.api.node_pool import Limits, NodePool
from growth.api.offering import Offering
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.capacity.pool_inventory import PoolMachine

_HEX_DIGITS: Final = 10
_USED_UP: Final = "!"


class RetryFingerprint(msgspec.Struct, frozen=True):
    """The circumstances at one instant, or after a plan was carried out."""

    facts: str
    """Of pools and offerings, as a hash."""
    machines: Mapping[str, int] = {}
    """How many machines of which type pools have, those that have limits."""
    stock: Mapping[str, int] = {}
    """How many there are of offerings that may be bought freely, those of which it is known."""

    @property
    def text(self) -> str:
        """As it is written on pods, and read again by another process."""
        counts = [f"{name}={count}" for name, count in sorted(self.machines.items()) if count]
        used_up = [f"{_USED_UP}{name}" for name, left in sorted(self.stock.items()) if left <= 0]
        return " ".join((self.facts, *counts, *used_up))

    def hold_what(self, saw: str) -> bool:
        """Whether there is no more to be had than under those that were written down."""
        facts, *others = saw.split(" ")
        return facts == self.facts and all(map(self._is_as_bad, others))

    def _is_as_bad(self, word: str) -> bool:
        if word.startswith(_USED_UP):
            return self.stock.get(word.removeprefix(_USED_UP), 1) <= 0
        name, _, count = word.partition("=")
        return count.isdecimal() and self.machines.get(name, 0) >= int(count)

    def after(self, launched: Iterable[tuple[NodePool, Offering]]) -> "RetryFingerprint":
        """The same with more machines, and less stock: the pool and the offering of each."""
        machines, stock = Counter(self.machines), dict(self.stock)
        for pool, offering in launched:
            if is_limited(pool):
                machines[_key(pool.metadata.name, offering.server_type)] += 1
            if offering.id in stock:
                stock[offering.id] -= 1
        return RetryFingerprint(self.facts, dict(machines), stock)


def circumstances_of(
    pools: Iterable[NodePool],
    catalog: OfferingCatalog,
    held: Iterable[PoolMachine],
    closed: Collection[tuple[str, str]] = (),
) -> RetryFingerprint:
    """What can be bought for these pools, but for what is closed (pool and offering), and what they have."""
    pools = list(pools)
    limited = {pool.metadata.name for pool in pools if is_limited(pool)}
    machines = Counter(_key(one.pool, one.server_type) for one in held if one.pool in limited)
    stock = {
        name: one.offering.stock
        for name, one in catalog.offered.items()
        if one.access is Availability.OPEN and one.offering.stock is not None
    }
    return RetryFingerprint(_facts(pools, catalog, closed), dict(machines), stock)


def is_limited(pool: NodePool) -> bool:
    """Whether there may be only so many machines of it."""
    return pool.spec.limits != Limits() or any(one.max is not None for one in pool.spec.server_types)


def _facts(pools: Iterable[NodePool], catalog: OfferingCatalog, closed: Collection[tuple[str, str]]) -> str:
    stated = [(pool.metadata.name, pool.spec) for pool in pools]
    offered = [
        (
            msgspec.structs.replace(one.offering, stock=None),
            one.access.value,
            one.is_listed or one.access is Availability.OPEN,
        )
        for _, one in sorted(catalog.offered.items())
    ]
    # What is left out only as long as the first machine of its type is on its way changes with every launch.
    launches = catalog.launches
    left_out = [(pool, name) for pool, name in closed if pool not in launches or name in launches[pool].suspects]
    unproven = [(pool, sorted(one.unproven)) for pool, one in sorted(launches.items())]
    text = msgspec.json.encode((stated, offered, *unproven, *sorted(left_out)), order="deterministic")
    return hashlib.sha256(text).hexdigest()[:_HEX_DIGITS]


def _key(pool: str, server_type: str) -> str:
    return f"{pool}/{server_type.lower()}"
