"""One by one, with Fit: pods whose rules are not modelled in arrays, and those that found no slot.

The stage holds everything that is planned so far. A pod goes to the fullest node that takes it, planned or standing;
only if none does, the cheapest machine that would is bought. Correct for every rule that Fit knows, and slow: a pod
costs about as much time as a thousand others.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from growth.api.offering import HOSTNAME
from growth.api.pod import Pod
from growth.decide.fit.stage import Stage
from growth.decide.fit.verdict import fit, fits_anywhere
from growth.decide.pack.problem import Bools, Floats, Ints
from growth.decide.pack.rows import KindTable
from growth.decide.pack.standing import Standing

# Machines of so many different prices are tried in each zone before a pod is given up.
_TRIED_PER_ZONE = 4


class OneByOne:
    """Places single pods on a stage."""

    def __init__(self, stage: Stage, table: KindTable, limits: Floats, new_name: Callable[[], str]) -> None:
        self._stage, self._table, self._limits = stage, table, limits
        self._new_name = new_name
        self._refusal = ""
        self.bought: dict[str, int] = {}
        """By node, the kind that was bought for it."""

    def place(self, pods: Sequence[Pod], allowed: Bools, need: Mapping[str, int]) -> list[tuple[Pod, str, str]]:
        """Where each pod went: (pod, node, ""), or (pod, "", why not)."""
        placed: list[tuple[Pod, str, str]] = []
        standing = Standing(self._stage, self._table.resources)
        amounts = np.array([need.get(name, 0) for name in self._table.resources], dtype=np.int64)
        for number, pod in enumerate(pods):
            roomy = self._for_company(pod, allowed, amounts, len(pods) - number)
            node = self._on_standing(standing, pod, amounts) or self._on_new(pod, roomy)
            if node in self.bought and node not in standing.names:
                standing = Standing(self._stage, self._table.resources)
            placed.append((pod, node, "" if node else self._why_not(pod)))
        return placed

    def _why_not(self, pod: Pod) -> str:
        """What the nodes say that there are or will be, and what the best machine says that could be bought."""
        there = fits_anywhere(self._stage, pod).sentence if self._stage.nodes else ""
        return "; ".join(filter(None, (there, self._refusal))) or "there is no node, and none can be bought"

    def _for_company(self, pod: Pod, allowed: Bools, need: Ints, pods: int) -> Bools:
        """For pods that want to be on one node together: only kinds that hold all of them, or as many as any does."""
        affinity = pod.spec.affinity
        terms = affinity.pod_affinity.required if affinity and affinity.pod_affinity else ()
        if not any(term.topology_key == HOSTNAME for term in terms):
            return allowed
        asked = need > 0
        # A machine that cannot be had holds nobody, however large it is.
        is_left = (self._limits[:, None] >= self._table.limit_use - 1e-9).all(axis=0)
        holds = np.where(allowed & is_left, (self._table.room[:, asked] // need[asked]).min(axis=1), 0)
        return allowed & (holds >= min(pods, int(holds.max(initial=0))))

    def _on_standing(self, standing: Standing, pod: Pod, need: Ints) -> str:
        room = standing.roomy(need)
        slack = standing.slack(room)
        order: list[int] = room[np.argsort(slack, kind="stable")].tolist()
        for at in order:
            name = standing.names[at]
            if fit(self._stage, pod, name) is None:
                self._stage.place(pod, name)
                standing.take(at, need)
                return name
        return ""

    def _on_new(self, pod: Pod, allowed: Bools) -> str:
        kinds = self._table.market.kinds
        self._refusal = ""
        tried: dict[tuple[str, tuple[int, int, int]], int] = {}
        order = sorted(np.flatnonzero(allowed).tolist(), key=lambda at: (tuple(-t for t in kinds[at].tier), at))
        for at in order:
            kind = kinds[at]
            place = (kind.zone, kind.tier)
            if tried.get(place, 0) >= _TRIED_PER_ZONE or not self._has_limit_for(at):
                continue
            tried[place] = tried.get(place, 0) + 1
            mark = self._stage.mark()
            name = self._new_name()
            self._table.market.node(name, at).enter(self._stage)
            misfit = fit(self._stage, pod, name)
            if misfit is None:
                self._stage.place(pod, name)
                self._limits -= self._table.limit_use[:, at]
                self.bought[name] = at
                return name
            if not self._refusal:
                reason = misfit.reason.replace(f"at {HOSTNAME}={name}", "on it")
                self._refusal = f"a new {kind.offering.server_type} would not do: {reason}"
            self._stage.back_to(mark)
        return ""

    def _has_limit_for(self, kind: int) -> bool:
        use = self._table.limit_use[:, kind]
        return bool((self._limits[use > 0] >= use[use > 0] - 1e-9).all())
