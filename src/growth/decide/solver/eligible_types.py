"""Which kinds of machine each group may be bought, and in words why none."""

from collections.abc import Sequence

import numpy as np

from growth.api.reasons import formatting
from growth.api.tolerations import untolerated
from growth.decide.fit.node_affinity import matcher
from growth.decide.fit.predicates import fit
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.equivalence_groups import EquivalenceGroup
from growth.decide.solver.node_options import DEFAULT_POOL, NodeOption
from growth.decide.solver.problem import Bools
from growth.decide.solver.problem_rows import NodeOptionTable


class EligibleTypes:
    """Masks over kinds: by pool, by selector and taints, by size; each worked out once for all groups alike."""

    def __init__(self, table: NodeOptionTable, simulated: SimulatedCluster) -> None:
        self._table, self._simulated = table, simulated
        options = table.node_options.options
        pools = [option.pool.metadata.name for option in options]
        self._pool_masks = {name: np.array([pool == name for pool in pools]) for name in set(pools)}
        self._none = np.zeros(len(options), dtype=np.bool_)
        self._rules: dict[tuple[int, str], Bools] = {}

    def masks(self, groups: Sequence[EquivalenceGroup]) -> list[Bools]:
        """[group] which kinds take its pods, other pods aside. Equal masks of equal groups are the same array."""
        keys = [(g.node_rules, g.pool, tuple(sorted(g.banned_zones)), g.request_key) for g in groups]
        firsts = dict(zip(reversed(keys), reversed(groups), strict=True))
        needs = self._table.needs_of(firsts.values())
        fits = np.ones((len(firsts), len(self._none)), dtype=np.bool_)
        for resource in range(needs.shape[1]):
            fits &= needs[:, [resource]] <= self._table.room[None, :, resource]
        known = {key: self._mask(group, fits[at]) for at, (key, group) in enumerate(firsts.items())}
        return [known[key] for key in keys]

    def _mask(self, group: EquivalenceGroup, fits: Bools) -> Bools:
        mask = self.by_rules(group) & fits
        for zone in group.banned_zones:
            if zone in self._table.zones:
                mask &= self._table.kind_zone != self._table.zones.index(zone)
        return mask

    def by_rules(self, group: EquivalenceGroup) -> Bools:
        """Which kinds the group's pool, selector, affinity and tolerations allow, whatever their size."""
        key = (group.node_rules, group.pool)
        known = self._rules.get(key)
        if known is None:
            spec = group.sample.spec
            matches = matcher(spec)
            known = self._in_pools(group).copy()
            for at in np.flatnonzero(known).tolist():
                node = self._table.node_options.options[at].new.node
                labels, name, taints = node.metadata.labels, node.metadata.name, node.spec.taints
                is_repelled = bool(taints) and untolerated(taints, spec.tolerations) is not None
                known[at] = not is_repelled and (matches is None or matches(labels, name))
            self._rules[key] = known
        return known

    def _in_pools(self, group: EquivalenceGroup) -> Bools:
        """Pods that ask for no pool get the one named default; those that ask in their affinity are asked about all."""
        if group.pool == "*":
            return ~self._none
        return self._pool_masks.get(group.pool or DEFAULT_POOL, self._none)

    def why_none(self, group: EquivalenceGroup) -> str:
        """The nearest miss, for a group that no kind takes."""
        pools = self._table.node_options.pools
        if group.pool not in ("", "*") and group.pool not in pools:
            return f"asks for pool {group.pool}, which does not exist"
        if not group.pool and DEFAULT_POOL not in pools:
            return f"asks for no pool, and there is no pool named {DEFAULT_POOL}"
        in_pools = self._in_pools(group)
        where = f"pool {group.pool or DEFAULT_POOL}" if group.pool != "*" else "any pool"
        if not in_pools.any():
            return f"{where} has no offering that can be had"
        allowed = self.by_rules(group)
        if not allowed.any():
            return f"no offering in {where} will do: {self._refusal(group, np.flatnonzero(in_pools).tolist())}"
        return self._too_large(group, np.flatnonzero(allowed).tolist(), where)

    def _refusal(self, group: EquivalenceGroup, options: Sequence[int]) -> str:
        """What the scheduler would say about the kind that comes nearest: the last filter to refuse."""
        reasons = [self.misfit(group, self._table.node_options.options[at]) for at in options[:64]]
        return min(reasons, key=lambda reason: ("taint" in reason, reason))

    def misfit(self, group: EquivalenceGroup, option: NodeOption) -> str:
        """What Fit says about a pod of the group on a fresh machine of this kind; empty if it fits."""
        mark = self._simulated.mark()
        option.new.enter(self._simulated)
        found = fit(self._simulated, group.sample, option.new.node.metadata.name)
        self._simulated.back_to(mark)
        return "" if found is None else found.reason

    def _too_large(self, group: EquivalenceGroup, options: Sequence[int], where: str) -> str:
        room = self._table.room[list(options)]
        for at, name in enumerate(self._table.resources):
            need, most = group.requests.get(name, 0), int(room[:, at].max())
            if need > most:
                has = formatting.amount(name, most) if most else "none"
                asked = f"{formatting.amount(name, need)} {formatting.name(name)}"
                return f"needs {asked}; largest offering in {where} has {has}"
        if group.banned_zones:
            zones = ", ".join(sorted(group.banned_zones))
            return f"pods that are there keep it out of {zones} (anti-affinity), and elsewhere nothing fits"
        asked = " and ".join(
            f"{formatting.amount(n, a)} {formatting.name(n)}" for n, a in group.requests.items() if n != "pods"
        )
        return f"needs {asked}; no single offering in {where} has all of it"
