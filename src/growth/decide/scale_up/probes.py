"""One machine that tests an offering: which one to launch, of those that are worth a test (``probe_schedule``)."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.fit.predicates import fit
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.scale_up.planned_launch import PlannedLaunch
from growth.decide.solver.minimum_nodes import hindrance
from growth.decide.solver.node_options import NodeOption, node_options_of
from growth.decide.writes.node_requests import request_name


class Probe(msgspec.Struct, frozen=True):
    """One machine to launch in a pool: the first of these offerings that fits one of these pods."""

    pool: str
    offerings: tuple[Offering, ...]
    """In the order in which they are worth a test."""
    pods: tuple[Pod, ...]
    is_beside: bool = False
    """Whether it is only launched beside a plan that launches something dearer in the same pool."""


def launched(
    simulated: SimulatedCluster,
    pools: Iterable[NodePool],
    probes: Iterable[Probe],
    *,
    launched: Sequence[PoolUsage],
    wanted: Sequence[PlannedLaunch],
    taken: Collection[str],
) -> list[PlannedLaunch]:
    """What to request for these probes, beside what is wanted already."""
    found: list[PlannedLaunch] = []
    by_name = {pool.metadata.name: pool for pool in pools}
    for probe in probes:
        all_wanted = (*wanted, *found)
        launching = {one.offering.id for one in all_wanted if one.pool.metadata.name == probe.pool}
        prices = [one.offering.price_per_hour for one in wanted if one.pool.metadata.name == probe.pool]
        pool = by_name[probe.pool]
        had = [*launched, *(PoolUsage.of(one.pool.metadata.name, one.offering) for one in all_wanted)]
        node_options = node_options_of(simulated, (pool,), probe.offerings, had)
        left = [limit.left for limit in node_options.limits]
        order = {one.id: place for place, one in enumerate(probe.offerings)}
        numbers = sorted(
            range(len(node_options.options)), key=lambda number: order[node_options.options[number].offering.id]
        )
        for number in numbers:
            kind = node_options.options[number]
            if probe.is_beside and kind.offering.price_per_hour >= max(prices, default=0.0):
                continue
            is_new = kind.offering.id not in launching
            if is_new and not hindrance(node_options, left, number) and _serves(simulated, kind, probe.pods):
                names = {*taken, *(one.name for one in all_wanted)}
                name = request_name(pool, kind.offering.id, ("probe",), names)
                found.append(PlannedLaunch(name, pool, kind.offering, is_probe=True))
                break
    return found


def _serves(simulated: SimulatedCluster, kind: NodeOption, pods: Sequence[Pod]) -> bool:
    """Whether one of these pods would fit on a machine of this kind; without pods the machine itself is wanted."""
    if not pods:
        return True
    mark = simulated.mark()
    kind.new.enter(simulated)
    try:
        return any(_fits(simulated, pod, kind.new.node.metadata.name) for pod in pods)
    finally:
        simulated.back_to(mark)


def _fits(simulated: SimulatedCluster, pod: Pod, node: str) -> bool:
    mark = simulated.mark()
    if simulated.is_placed(pod.metadata.uid):
        simulated.remove(pod.metadata.uid)
    try:
        return fit(simulated, pod, node) is None
    finally:
        simulated.back_to(mark)
