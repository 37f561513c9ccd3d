"""Flavors whose machines cannot be had now: every offering that would bear their labels could not be bought.

Who is admitted on such a flavor would wait for its pods in vain, and hold quota that others could use. So nobody is,
until one of these offerings may be bought again; then all are looked at anew.

A flavor that no offering matches is never closed: its nodes are somebody else's business. And where no provider has
answered, nobody knows anything.

How many machines could be launched for a flavor.

A job whose pods had no place together on a flavor is tried there again when there is more to launch for it: another
server type, more in stock, room below a limit of the pool. The supply that was seen is written on the job, so that a
restart does not try again in vain.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.node_pool import NodePool
from growth.api.offering import POOL, Offering
from growth.api.queue.quotas import ResourceFlavor
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.offering_catalog import OfferingCatalog, OfferingInCatalog
from growth.decide.capacity.pool_usage import may_launch
from growth.decide.capacity.retry_fingerprint import is_limited
from growth.decide.capacity.upcoming_nodes import is_live
from growth.decide.fit.template_node import node_from
from growth.observe.snapshot import Snapshot


def out_of_stock(
    flavors: Iterable[ResourceFlavor], pools: Iterable[NodePool], catalog: OfferingCatalog, now: datetime
) -> dict[str, str]:
    """The flavors that are closed, each with a sentence."""
    if all(_is_to_be_had(one) for one in catalog.offered.values()) and not catalog.closed:
        return {}
    kinds = [
        (node_from("", pool, one.offering).metadata.labels, *_as_launched(pool, one, catalog, now))
        for pool in pools
        for one in catalog.offered.values()
        if may_launch(pool, one.offering)
    ]
    closed: dict[str, str] = {}
    for flavor in flavors:
        behind = [(one, is_open) for labels, one, is_open in kinds if _bears(labels, flavor.spec.node_labels)]
        if behind and not any(is_open for _, is_open in behind):
            closed[flavor.metadata.name] = _sentence([one for one, _ in behind])
    return closed


def _is_to_be_had(offered: OfferingInCatalog) -> bool:
    """Whether its provider may have some. What is bought just now does not count: an offering that is tried with one
    machine would be closed as long as that is asked for, and whoever it is for would be sent away."""
    return offered.access is not Availability.CLOSED and offered.is_listed


def _as_launched(
    pool: NodePool, offered: OfferingInCatalog, catalog: OfferingCatalog, now: datetime
) -> tuple[OfferingInCatalog, bool]:
    """The offering, with why its machines fail in this pool, and whether one may be launched.

    A type whose machines failed is open again when its wait is over: without jobs nothing would ever test it.
    """
    why = catalog.why_suspect(pool.metadata.name, offered.offering, now)
    may_be = _is_to_be_had(offered) and not why and (pool.metadata.name, offered.offering.id) not in catalog.mistaken
    return (msgspec.structs.replace(offered, why=why) if why else offered), may_be


def _bears(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


def _sentence(behind: list[OfferingInCatalog]) -> str:
    named = sorted({_name(one.offering) for one in behind})
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    why = next((one.why for one in behind if one.why), "the provider lists none")
    return f"none of its machines can be had now ({', '.join(named[:3])}{more}): {why}"


def _name(offering: Offering) -> str:
    return f"{offering.server_type} in {offering.location}" if offering.location else offering.server_type


_HEX_DIGITS: Final = 8
_UNBOUNDED: Final = "*"

Pairs = Mapping[str, tuple[tuple[str, str], ...]]
"""By flavor, the pools and offerings whose nodes have its labels."""


class FlavorOfferings(msgspec.Struct, frozen=True):
    """What could be launched for which flavor, in stock or not."""

    pairs: Pairs = {}
    source: tuple[object, ...] = ()
    """What that was found out from."""


class FlavorSupply(msgspec.Struct, frozen=True):
    """What could be launched for one flavor now."""

    facts: str
    """Of its pools and offerings, as a hash."""
    machines: int | None
    """How many; None if no bound is known."""
    held: int
    """How many machines its pools have, those that have limits."""

    @property
    def text(self) -> str:
        """As it is written on workloads."""
        return f"{self.facts}:{_UNBOUNDED if self.machines is None else self.machines}:{self.held}"

    def is_more_than(self, text: str) -> bool:
        """Whether there is more than was written down, or something else."""
        facts, _, counts = text.partition(":")
        machines, _, held = counts.partition(":")
        if facts != self.facts or not held.isdecimal() or self.held < int(held):
            return True
        if machines == _UNBOUNDED:
            return False
        return not machines.isdecimal() or self.machines is None or self.machines > int(machines)


def backing_in(snapshot: Snapshot, flavors: Mapping[str, ResourceFlavor], before: FlavorOfferings) -> FlavorOfferings:
    """What could be launched for these flavors; the very same as ``before`` if nothing has changed."""
    pools = [pool for _, pool in sorted(snapshot.table(NODE_POOLS).items())] if snapshot.clouds else []
    offerings = [one for _, provider in sorted(snapshot.clouds.items()) for one in provider.offerings]
    source = (
        {name: flavor.spec for name, flavor in flavors.items()},
        [(pool.metadata.name, pool.spec) for pool in pools],
        [_without_stock(one) for one in offerings],
    )
    if source == before.source:
        return before
    kinds = [
        (node_from("", pool, one).metadata.labels.items(), (pool.metadata.name, one.id))
        for pool in pools
        for one in offerings
        if may_launch(pool, one)
    ]
    pairs = {
        name: tuple(pair for labels, pair in kinds if flavor.spec.node_labels.items() <= labels)
        for name, flavor in flavors.items()
    }
    return FlavorOfferings(pairs, source)


def supply_of(
    flavor: str, backing: FlavorOfferings, snapshot: Snapshot, catalog: OfferingCatalog
) -> FlavorSupply | None:
    """What could be launched for a flavor; None if nobody can tell, or others see to its nodes."""
    behind = backing.pairs.get(flavor, ())
    offered = [(pool, catalog.offered[offering]) for pool, offering in behind if offering in catalog.offered]
    if not offered:
        return None
    names = {pool for pool, _ in offered}
    pools = [pool for _, pool in sorted(snapshot.table(NODE_POOLS).items()) if pool.metadata.name in names]
    stocks = {
        one.offering.id: one.offering.stock
        for pool, one in offered
        if one.access is not Availability.CLOSED and (pool, one.offering.id) not in catalog.closed
    }
    known = [stock for stock in stocks.values() if stock is not None]
    machines = sum(known) if len(known) == len(stocks) else None
    limited = {pool.metadata.name for pool in pools if is_limited(pool)}
    return FlavorSupply(
        _facts(pools, {one.offering.id: one.offering for _, one in offered}), machines, _held(limited, snapshot)
    )


def _without_stock(offering: Offering) -> Offering:
    return offering if offering.stock is None else msgspec.structs.replace(offering, stock=None)


def _facts(pools: Iterable[NodePool], offerings: Mapping[str, Offering]) -> str:
    stated = [(pool.metadata.name, pool.spec) for pool in pools]
    has = [(name, offering.resources) for name, offering in sorted(offerings.items())]
    text = msgspec.json.encode((stated, has), order="deterministic")
    return hashlib.sha256(text).hexdigest()[:_HEX_DIGITS]


def _held(pools: set[str], snapshot: Snapshot) -> int:
    if not pools:
        return 0
    nodes = {name for name, node in snapshot.nodes.items() if node.metadata.labels.get(POOL) in pools}
    requests = snapshot.table(NODE_REQUESTS).values()
    return len(nodes | {one.metadata.name for one in requests if one.spec.pool in pools and is_live(one)})
