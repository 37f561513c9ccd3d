"""Which pools a pod may be given machines from: the four rules of the seed.

1. It asks for a pool that exists: that one. A node selector or a required node affinity on ``growth.dev/pool`` asks.
2. It asks for none, and there is a pool named ``default``: that one.
3. It asks for none, and there is no ``default``: an error that says so.
4. It asks for a pool that does not exist: an error that says so. It never falls back to ``default``.

A pool that is being deleted buys nothing any more, so it is none to ask for. A pool of which nothing can be bought just
now (its provider is silent, say) is one: the pod waits for it, and is not counted as one that found no place.
"""

from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import POOL
from growth.api.pod import Pod, PodSpec
from growth.api.selectors import NodeSelectorTerm
from growth.decide.fit.node_affinity import required_affinity
from growth.decide.solver.node_options import DEFAULT_POOL

NO_POOL: Final = "NoPool"
NO_SUCH_POOL: Final = "NoSuchPool"
POOL_UNUSABLE: Final = "PoolUnusable"


class NoMatchingPool(msgspec.Struct, frozen=True):
    """Why no pool serves a pod."""

    reason: Literal["NoPool", "NoSuchPool", "PoolUnusable"]
    why: str


class PoolSelection:
    """The rules for the pools that there are; worked out once for each spec."""

    def __init__(self, pools: Iterable[NodePool], usable: Iterable[NodePool]) -> None:
        self._names = sorted(pool.metadata.name for pool in pools if pool.metadata.deletion_timestamp is None)
        self._usable = {pool.metadata.name for pool in usable}
        self._known: dict[int, tuple[PodSpec, NoMatchingPool | None]] = {}

    def of(self, pod: Pod) -> NoMatchingPool | None:
        """None if some pool may serve the pod."""
        known = self._known.get(id(pod.spec))
        if known is None:
            known = self._known[id(pod.spec)] = (pod.spec, self._match(pod))
        return known[1]

    def pools_of(self, pod: Pod) -> list[str]:
        """Names of the pools that may serve the pod, whether or not they can be used now."""
        terms, named = _terms_about_pools(pod.spec), pod.spec.node_selector.get(POOL)
        if named is None and not terms:
            return [name for name in self._names if name == DEFAULT_POOL]
        return [name for name in self._names if self._serves(name, named, terms)]

    def _match(self, pod: Pod) -> NoMatchingPool | None:
        serving, named = self.pools_of(pod), pod.spec.node_selector.get(POOL)
        if serving:
            return self._if_usable(serving)
        if named is None and not _terms_about_pools(pod.spec):
            return NoMatchingPool(
                NO_POOL, f"it asks for no pool, and there is none named {DEFAULT_POOL!r}; {self._hint()}"
            )
        asked = f"for pool {named!r}" if named is not None else "by its node affinity for a pool"
        return NoMatchingPool(NO_SUCH_POOL, f"it asks {asked}, and there is no such pool; {self._hint()}")

    def _if_usable(self, names: list[str]) -> NoMatchingPool | None:
        if not self._usable.isdisjoint(names):
            return None
        why = f"nothing can be bought for pool {', '.join(names)} now: its conditions Valid and Healthy say why"
        return NoMatchingPool(POOL_UNUSABLE, why)

    def _serves(self, name: str, named: str | None, terms: tuple[NodeSelectorTerm, ...]) -> bool:
        if named is not None and named != name:
            return False
        return not terms or any(_allows(term, name) for term in terms)

    def _hint(self) -> str:
        return f"there is {', '.join(self._names)}" if self._names else "there is no NodePool at all"


def _terms_about_pools(spec: PodSpec) -> tuple[NodeSelectorTerm, ...]:
    """The terms of a required affinity, if any of them speaks of pools."""
    required = required_affinity(spec) if spec.affinity else None
    terms = required.node_selector_terms if required is not None else ()
    return terms if any(one.key == POOL for term in terms for one in term.match_expressions) else ()


def _allows(term: NodeSelectorTerm, pool: str) -> bool:
    """Whether nodes of this pool can match the term, whatever else it asks for."""
    return all(one.matches({POOL: pool}) for one in term.match_expressions if one.key == POOL)
