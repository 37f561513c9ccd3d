"""While more and more is wanted: larger machines than those who wait need, if those who follow fill them soon.

Who comes bit by bit is bought a small machine each time, and small ones are dearer by the core. If it goes on as it did
lately, one larger machine now is cheaper than several small ones in the next hour. That is weighed as money: what
stands idle until they come, against what small ones would cost more, over some hours. In played days with rising load
that saved four percent, without moving a single pod.

Nothing is bought for those alone who are only expected, and only pools that optimise (``disruption.mode: act``) buy
more than is wanted: there, what turns out too large is given back. Docs: docs/growing.md.
"""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from growth.api.pod import Pod
from growth.decide.capacity.demand_history import NOBODY, ExpectedPods
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.node_options import NodeOptions
from growth.decide.solver.placement_solution import FilledNode, PlacementSolution, PlannedNode
from growth.decide.solver.planner import plan

MOST: Final = 64
"""More need not be foreseen: they fill several of the largest machines."""
# Load that rises does so for hours, and what is bought small stays small meanwhile.
_HOURS: Final = 4.0
# It is tried for so many of those who are expected.
_SHARES: Final = (0.125, 0.25, 0.5, 1.0)
# Who buys that many machines buys large ones anyway.
_MANY: Final = 16
_WEIGHED: Final = ("cpu", "memory")


class DemandForecast(msgspec.Struct, frozen=True):
    """Who is expected, and the pools that buy with an eye on them."""

    expected: ExpectedPods = NOBODY
    pools: frozenset[str] = frozenset()


def foreseeing(
    simulated: SimulatedCluster,
    pods: Sequence[Pod],
    node_options: NodeOptions,
    found: PlacementSolution,
    foresight: DemandForecast,
) -> PlacementSolution:
    """What was found for these pods, or something larger that comes cheaper soon."""
    expected = foresight.expected
    if not expected.pods or not 0 < len(found.launch) <= _MANY or not _is_bought_by(found, foresight.pools):
        return found
    best, most = found, 0.0
    for count in sorted({round(share * len(expected.pods)) for share in _SHARES} - {0}):
        whole = plan(simulated, [*pods, *expected.pods[:count]], node_options)
        larger = _of_those_who_wait(whole, {pod.metadata.uid for pod in expected.pods})
        if not _is_bought_by(larger, foresight.pools) or _left_out(larger) != _left_out(found):
            continue
        gain = _gain(
            found, larger, _Filling.of(simulated, node_options, found, larger, whole), count / expected.per_hour
        )
        if gain > most:
            best, most = larger, gain
    return best


class _Filling(msgspec.Struct, frozen=True):
    """By shares of the larger machines' room."""

    small: float
    """The room of those that were found first."""
    used: float
    """What is taken when all have come that are expected."""

    @staticmethod
    def of(
        simulated: SimulatedCluster,
        node_options: NodeOptions,
        found: PlacementSolution,
        larger: PlacementSolution,
        whole: PlacementSolution,
    ) -> "_Filling":
        """``whole`` is the larger plan with all that are expected on it."""
        launched = {one.name for one in larger.launch}
        asked = _asked(simulated, [pod for one in whole.launch if one.name in launched for pod in one.pods])
        small, large = _room(node_options, found.launch), _room(node_options, larger.launch)
        known = [name for name in _WEIGHED if large[name]]
        return _Filling(
            small=min((small[name] / large[name] for name in known), default=0.0),
            used=max((asked[name] / large[name] for name in known), default=0.0),
        )


def _gain(found: PlacementSolution, larger: PlacementSolution, filling: _Filling, hours: float) -> float:
    """What the larger machines save in some hours, if they fill bit by bit until so many of them are over: for what the
    small ones have no room for, others like them would be bought."""
    if not filling.small:
        return 0.0
    later = found.cost_per_hour * max(0.0, filling.used / filling.small - 1)
    return (found.cost_per_hour - larger.cost_per_hour) * _HOURS + later * (_HOURS - hours / 2)


def _room(node_options: NodeOptions, nodes: Sequence[PlannedNode]) -> dict[str, int]:
    kinds = {(kind.pool.metadata.name, kind.offering.id): kind for kind in node_options.options}
    rooms = [kinds[one.pool.metadata.name, one.offering.id].room for one in nodes]
    return {name: sum(room.get(name, 0) for room in rooms) for name in _WEIGHED}


def _asked(simulated: SimulatedCluster, pods: Sequence[Pod]) -> dict[str, int]:
    asked = [simulated.requests(pod) for pod in pods]
    return {name: sum(one.get(name, 0) for one in asked) for name in _WEIGHED}


def _is_bought_by(solution: PlacementSolution, pools: Collection[str]) -> bool:
    return all(one.pool.metadata.name in pools for one in solution.launch)


def _left_out(solution: PlacementSolution) -> set[str]:
    return {one.pod.metadata.uid for one in solution.left_out}


def _of_those_who_wait(solution: PlacementSolution, expected: Collection[str]) -> PlacementSolution:
    """The plan without those who are only expected, and without machines that would be theirs alone."""

    def here(pods: Sequence[Pod]) -> tuple[Pod, ...]:
        return tuple(pod for pod in pods if pod.metadata.uid not in expected)

    launch = tuple(msgspec.structs.replace(one, pods=own) for one in solution.launch if (own := here(one.pods)))
    left_out = tuple(one for one in solution.left_out if one.pod.metadata.uid not in expected)
    cost = sum(one.offering.price_per_hour for one in launch)
    return msgspec.structs.replace(
        solution,
        outcome="IncompletePlacement" if left_out else "AllPlaced",
        launch=launch,
        existing=tuple(FilledNode(one.node, own) for one in solution.existing if (own := here(one.pods))),
        left_out=left_out,
        keep=solution.keep.difference(expected),
        cost_per_hour=cost,
        bound_per_hour=min(cost, solution.bound_per_hour),
    )
