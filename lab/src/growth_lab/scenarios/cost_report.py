"""What a story's machines cost, what they would have to cost at least, and how long its pods waited for them."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import median
from typing import Final

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_POOLS
from growth.api.node_pool import NodePool
from growth.api.offering import OFFERING, Offering
from growth.api.pod import Pod
from growth.cloud.kwok.catalog import Catalog
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.node_options import node_options_of
from growth.decide.solver.planner import plan
from growth.observe.cache import ClusterCache
from growth_lab.scenarios.trace import Seen, Trace

_ASKS: Final = "asks for "


class Item(msgspec.Struct, frozen=True):
    """So many machines of one offering."""

    offering: Offering
    count: int

    @property
    def cost_per_hour(self) -> float:
        """Of all of them."""
        return self.count * self.offering.price_per_hour


class Bill(msgspec.Struct, frozen=True, kw_only=True):
    """The end of the day."""

    currency: str
    items: tuple[Item, ...]
    """Machines that became nodes."""
    given_up: tuple[Item, ...]
    """Machines that never did; they cost until they were given back."""
    bound_per_hour: float
    """No set of machines that holds the same pods costs less, were all bought at once and nothing sold out: proven."""
    waited: tuple[float, ...]
    """Seconds from a pod's creation until it ran, in order."""

    @property
    def cost_per_hour(self) -> float:
        """Of the machines that became nodes."""
        return sum(item.cost_per_hour for item in self.items)

    @property
    def machines(self) -> int:
        """That became nodes."""
        return sum(item.count for item in self.items)

    @property
    def above_bound(self) -> float:
        """By which share of the bound the machines are dearer."""
        return self.cost_per_hour / self.bound_per_hour - 1 if self.bound_per_hour else 0.0

    @property
    def median_wait(self) -> float:
        """Half of the pods waited no longer than this."""
        return median(self.waited) if self.waited else 0.0

    @property
    def worst_wait(self) -> float:
        """Nobody waited longer."""
        return max(self.waited, default=0.0)


def bill_of(trace: Trace, catalogue: Catalog) -> Bill:
    """What somebody who only looked can say at the end of a story in which Growth acted."""
    offered = {offering.id: offering for offering in catalogue.offerings}
    pools: Mapping[str, NodePool] = trace.objects[NODE_POOLS]
    labels = (node.metadata.labels.get(OFFERING) for node in trace.nodes.values())
    return Bill(
        currency=catalogue.currency,
        items=_items((offering for offering in labels if offering), offered),
        given_up=_items(_given_up(trace.seen), offered),
        bound_per_hour=_bound(list(trace.pods.values()), list(pools.values()), catalogue.offerings),
        waited=tuple(sorted(_waits(trace.seen))),
    )


def _items(offerings: Iterable[str], offered: Mapping[str, Offering]) -> tuple[Item, ...]:
    return tuple(Item(offered[offering], count) for offering, count in sorted(Counter(offerings).items()))


def _given_up(seen: Sequence[Seen]) -> list[str]:
    asked = {one.uid: one.what.removeprefix(_ASKS) for one in seen if one.what.startswith(_ASKS)}
    return [asked[one.uid] for one in seen if one.what == "Deprovisioning" and one.uid in asked]


def _waits(seen: Sequence[Seen]) -> Iterable[float]:
    created = {one.uid: one.at for one in seen if one.what == "created"}
    return [one.at - created[one.uid] for one in seen if one.what == "Running" and one.uid in created]


def _bound(pods: Sequence[Pod], pools: Sequence[NodePool], offerings: Sequence[Offering]) -> float:
    """The solver's proof for all pods at once, in a cluster without a node."""
    anew = [msgspec.structs.replace(pod, node_name="", keys=()) for pod in pods]
    cache = ClusterCache()
    cache.hear_of_pods([Change(ChangeType.ADDED, pod, None) for pod in anew])
    stage = SimulatedCluster.of(cache.snapshot(datetime.min.replace(tzinfo=UTC)))
    return plan(stage, anew, node_options_of(stage, pools, offerings)).bound_per_hour
