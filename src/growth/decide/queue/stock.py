"""Flavors whose machines cannot be had now: every offering that would bear their labels could not be bought.

Who is admitted on such a flavor would wait for its pods in vain, and hold quota that others could use. So nobody is,
until one of these offerings may be bought again; then all are looked at anew.

A flavor that no offering matches is never closed: its nodes are somebody else's business. And where no provider has
answered, nobody knows anything.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.queue.quotas import ResourceFlavor
from growth.decide.capacity.availability import Access
from growth.decide.capacity.offering_catalog import Shop, Sold
from growth.decide.fit.template_node import node_from
from growth.decide.solver.node_options import may_buy


def out_of_stock(
    flavors: Iterable[ResourceFlavor], pools: Iterable[NodePool], shop: Shop, now: datetime
) -> dict[str, str]:
    """The flavors that are closed, each with a sentence."""
    if all(_is_to_be_had(one) for one in shop.sold.values()) and not shop.closed:
        return {}
    kinds = [
        (node_from("", pool, one.offering).metadata.labels, *_as_launched(pool, one, shop, now))
        for pool in pools
        for one in shop.sold.values()
        if may_buy(pool, one.offering)
    ]
    closed: dict[str, str] = {}
    for flavor in flavors:
        behind = [(one, is_open) for labels, one, is_open in kinds if _bears(labels, flavor.spec.node_labels)]
        if behind and not any(is_open for _, is_open in behind):
            closed[flavor.metadata.name] = _sentence([one for one, _ in behind])
    return closed


def _is_to_be_had(sold: Sold) -> bool:
    """Whether its provider may have some. What is bought just now does not count: an offering that is tried with one
    machine would be closed as long as that is asked for, and whoever it is for would be sent away."""
    return sold.access is not Access.CLOSED and sold.is_listed


def _as_launched(pool: NodePool, sold: Sold, shop: Shop, now: datetime) -> tuple[Sold, bool]:
    """The offering, with why its machines fail in this pool, and whether one may be launched.

    A type whose machines failed is open again when its wait is over: without jobs nothing would ever test it.
    """
    why = shop.why_suspect(pool.metadata.name, sold.offering, now)
    may_be = _is_to_be_had(sold) and not why and (pool.metadata.name, sold.offering.id) not in shop.mistaken
    return (msgspec.structs.replace(sold, why=why) if why else sold), may_be


def _bears(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(key) == value for key, value in wanted.items())


def _sentence(behind: list[Sold]) -> str:
    named = sorted({_name(one.offering) for one in behind})
    more = f" and {len(named) - 3} more" if len(named) > 3 else ""
    why = next((one.why for one in behind if one.why), "the provider lists none")
    return f"none of its machines can be had now ({', '.join(named[:3])}{more}): {why}"


def _name(offering: Offering) -> str:
    return f"{offering.server_type} in {offering.location}" if offering.location else offering.server_type
