"""From groups to the arrays of a Problem, and back from rows to the groups whose pods they stand for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from growth.decide.solver.equivalence_groups import EquivalenceGroup
from growth.decide.solver.node_options import NodeOptions
from growth.decide.solver.problem import ANY_ZONE, NO_CLIQUE, Bools, Floats, Ints, PackingProblem
from growth.decide.solver.zone_assignment import ANYWHERE, Portion

# A machine that costs nothing is weighed as this part of the cheapest that does not.
_OF_CHEAPEST = 1e-6


@dataclass(frozen=True, slots=True)
class ProblemRows:
    """A problem and which portions each of its rows is made of."""

    problem: PackingProblem
    portions: list[list[Portion]]
    unit: Ints
    """[resource] in which the problem counts."""


@dataclass(frozen=True, slots=True)
class Cliques:
    """Selectors of which every pod that is selected also keeps its node to so many: a resource of the node."""

    of_selector: Mapping[int, int]
    caps: list[int]

    def of(self, group: EquivalenceGroup) -> int:
        """The clique that a group is packed by, or NO_CLIQUE."""
        selectors = [*group.rules.host_apart, *(selector for selector, _ in group.rules.host_caps)]
        return next((self.of_selector[s] for s in selectors if s in self.of_selector), NO_CLIQUE)


def cliques_of(groups: Sequence[EquivalenceGroup]) -> Cliques:
    """Find the selectors whose pods and whose rules are the same groups, all with the same cap."""
    caps: dict[int, set[int]] = {}
    capping: dict[int, set[int]] = {}
    for number, group in enumerate(groups):
        for selector, cap in [*((s, 1) for s in group.rules.host_apart), *group.rules.host_caps]:
            caps.setdefault(selector, set()).add(cap)
            capping.setdefault(selector, set()).add(number)
    found: dict[int, int] = {}
    sizes: list[int] = []
    for selector, members in sorted(capping.items()):
        carriers = {number for number, group in enumerate(groups) if group.carries >> selector & 1}
        if carriers == members and len(caps[selector]) == 1:
            found[selector] = len(sizes)
            sizes.append(next(iter(caps[selector])))
    return Cliques(found, sizes)


def resources_of(groups: Sequence[EquivalenceGroup]) -> list[str]:
    """Every resource that somebody asks for, the common ones first."""
    names = {name for group in groups for name in group.requests}
    common = [name for name in ("cpu", "memory", "pods") if name in names]
    return [*common, *sorted(names - set(common))]


class NodeOptionTable:
    """Kinds as arrays, and which of them each group may be bought."""

    def __init__(self, node_options: NodeOptions, resources: Sequence[str]) -> None:
        self.node_options = node_options
        self.resources = tuple(resources)
        self.room = np.array(
            [[option.room.get(name, 0) for name in resources] for option in node_options.options], dtype=np.int64
        ).reshape(len(node_options.options), len(resources))
        self.true_price = np.array([kind.offering.price_per_hour for kind in node_options.options], dtype=np.float64)
        self.price = _weighed(self.true_price)
        self.has_gifts = bool((self.true_price <= 0).any())
        self.zones: list[str] = sorted({kind.zone for kind in node_options.options})
        self.kind_zone = np.array([self.zones.index(kind.zone) for kind in node_options.options], dtype=np.int64)
        self.limit_left = np.array([max(0.0, limit.left) for limit in node_options.limits], dtype=np.float64)
        self.limit_use = np.zeros((len(node_options.limits), len(node_options.options)))
        for at, limit in enumerate(node_options.limits):
            for kind, use in limit.use.items():
                self.limit_use[at, kind] = use
        self.is_left: Bools = np.asarray((self.limit_use <= self.limit_left[:, None] + 1e-9).all(axis=0))
        """[kind] whether one of it may be bought at all."""
        tiers = sorted({kind.tier for kind in node_options.options}, reverse=True)
        self.tier_rank = np.array([tiers.index(kind.tier) for kind in node_options.options], dtype=np.int64)
        """[kind] 0 is bought first."""

    def zones_of(self, group: EquivalenceGroup, mask: Bools) -> tuple[tuple[str, ...], int]:
        """Where a group may be bought machines, the best tier and price first, and how many of these are equally good.

        Zones in which everything is sold out are no help, unless that is all of them.
        """
        here = mask & self.is_left if (mask & self.is_left).any() else mask
        need = self.needs_of([group])[0]
        share = (need[None, :] / np.maximum(self.room[here], 1)).max(axis=1, initial=0.0)
        cost = np.rint(self.price[here] * share * 1e9)
        zone, tier = self.kind_zone[here], self.tier_rank[here]
        order = np.lexsort((cost, tier))
        # Of each zone its best kind, and the zones by these.
        _, first = np.unique(zone[order], return_index=True)
        best: list[int] = order[np.sort(first)].tolist()
        equals = sum(cost[at] == cost[best[0]] and tier[at] == tier[best[0]] for at in best)
        found = [self.zones[int(zone[at])] for at in best]
        return (*sorted(found[:equals]), *found[equals:]), equals

    def needs_of(self, groups: Iterable[EquivalenceGroup]) -> Ints:
        """[group, resource] what one of its pods asks for."""
        names = self.resources
        amounts = [[asked.get(name, 0) for name in names] for asked in (group.requests for group in groups)]
        return np.array(amounts, dtype=np.int64).reshape(-1, len(names))


def rows_of(
    table: NodeOptionTable,
    groups: Sequence[EquivalenceGroup],
    portions: Sequence[Portion],
    allowed: Sequence[Bools],
    options: Ints,
) -> ProblemRows:
    """The problem of packing these portions into these kinds; ``allowed`` says per group which kinds take it."""
    cliques = cliques_of(groups)
    clique_of = [cliques.of(group) for group in groups]
    keys: dict[tuple[object, ...], int] = {}
    members: list[list[Portion]] = []
    # Groups that may be bought the same machines share one mask.
    masks = {id(mask): mask[options] for mask in allowed}
    texts = {identity: mask.tobytes() for identity, mask in masks.items()}
    for portion in portions:
        number = portion.group
        key = (groups[number].request_key, texts[id(allowed[number])], portion.zone, clique_of[number])
        at = keys.setdefault(key, len(members))
        if at == len(members):
            members.append([portion])
        else:
            members[at].append(portion)
    firsts = [groups[row[0].group] for row in members]
    need = table.needs_of(firsts)
    unit = np.maximum(np.gcd.reduce(need, axis=0), 1) if len(need) else np.ones(need.shape[1], dtype=np.int64)
    problem = PackingProblem(
        need=need // unit,
        count=np.array([sum(portion.count for portion in row) for row in members], dtype=np.int64),
        zone=np.array([_zone(table, row[0].zone) for row in members], dtype=np.int64),
        clique=np.array([clique_of[row[0].group] for row in members], dtype=np.int64),
        clique_cap=np.array(cliques.caps, dtype=np.int64),
        allowed=np.array([masks[id(allowed[row[0].group])] for row in members], dtype=np.bool_).reshape(
            -1, len(options)
        ),
        room=table.room[options] // unit,
        price=table.price[options],
        kind_zone=table.kind_zone[options],
        limit_use=table.limit_use[:, options],
        limit_left=table.limit_left,
    )
    return ProblemRows(problem, members, unit)


def _weighed(prices: Floats) -> Floats:
    """Prices as the search weighs machines by: what costs nothing is still a machine, and one less is better."""
    paid = prices[prices > 0]
    return np.where(prices > 0, prices, _OF_CHEAPEST * paid.min() if len(paid) else 1.0)


def _zone(table: NodeOptionTable, zone: str) -> int:
    return ANY_ZONE if zone == ANYWHERE else table.zones.index(zone)
