"""Machines that a pool wants even without load (``min`` of a server type): the cheapest that its limits allow."""

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from growth.api.offering import Offering, in_pool
from growth.decide.capacity.pool_inventory import Shortage
from growth.decide.solver.node_options import NodeOption, NodeOptions
from growth.decide.solver.placement_solution import PlannedNode

# Prices are fractions: three times 0.1 must fit into 0.3.
_ROUNDING: Final = 1e-9


def warmed(
    node_options: NodeOptions, shortages: Sequence[Shortage]
) -> tuple[list[NodeOption], list[tuple[Shortage, str]]]:
    """What to buy, and the shortages that cannot be ended now, each with all that hinders it."""
    left: list[float] = [limit.left for limit in node_options.limits]
    launched: list[NodeOption] = []
    cold: list[tuple[Shortage, str]] = []
    for shortage in shortages:
        # The market's order is by price, which stays among those that are equally preferred.
        options = sorted(
            _kinds_of(node_options, shortage), key=lambda number: node_options.options[number].tier, reverse=True
        )
        for _ in range(shortage.missing):
            hindrances = {number: hindrance(node_options, left, number) for number in options}
            number = next((number for number, hindrance in hindrances.items() if not hindrance), None)
            if number is None:
                why = "; ".join(dict.fromkeys(hindrances.values()))
                cold.append((shortage, why or f"no location sells {shortage.server_type} now"))
                break
            launched.append(node_options.options[number])
            left = [rest - limit.use.get(number, 0) for limit, rest in zip(node_options.limits, left, strict=True)]
    return launched, cold


def less_launched(
    offerings: Sequence[Offering], launched: Sequence[NodeOption | PlannedNode], trials: Collection[str]
) -> tuple[Offering, ...]:
    """What is left of these offerings; a provider or family that is on trial sells one machine, and nothing beside."""
    counts = Counter(option.offering.id for option in launched)
    tried = {group for kind in launched for group in kind.offering.groups} & {*trials}
    return tuple(
        one if one.stock is None else msgspec.structs.replace(one, stock=max(0, one.stock - counts[one.id]))
        for one in offerings
        if tried.isdisjoint(one.groups)
    )


def closed_by(
    launched: Sequence[NodeOption | PlannedNode], trials: Collection[str], offerings: Sequence[Offering]
) -> frozenset[tuple[str, str]]:
    """By pool, offerings that are on trial there, alone or with their type, and of which it has its one machine now."""
    pairs = {(one.pool.metadata.name, one.offering.id) for one in launched}
    types = {(one.pool.metadata.name, one.offering.type_id) for one in launched}
    tried = {pair for pair in types if in_pool(*pair) in trials}
    alike = {(pool, one.id) for pool, type_id in tried for one in offerings if one.type_id == type_id}
    return frozenset(alike | {pair for pair in pairs if in_pool(*pair) in trials})


def _kinds_of(node_options: NodeOptions, shortage: Shortage) -> list[int]:
    pool, server_type = shortage.pool, shortage.server_type.lower()
    return [
        number
        for number, option in enumerate(node_options.options)
        if option.pool.metadata.name == pool and option.offering.server_type.lower() == server_type
    ]


def hindrance(node_options: NodeOptions, left: Sequence[float], number: int) -> str:
    """Which limit is in the way of one more of this kind; empty if none is."""
    limits = zip(node_options.limits, left, strict=True)
    return next((limit.what for limit, rest in limits if limit.use.get(number, 0) > rest + _ROUNDING), "")
