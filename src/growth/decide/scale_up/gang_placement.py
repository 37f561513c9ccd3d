"""A plan in which each gang (``decide.facts.gangs``) is placed whole, or not at all.

1. Plan for all. If each gang is placed whole or left out whole, that is the plan.
2. Otherwise plan without the gangs that lack a place, and add them one by one, the most important first: each if all of
   its pods find a place and no other demand loses one. So what one gang cannot use serves another one, or other pods.

A gang that lacks a place only because one machine is tried first (an offering on trial) is planned for as other pods
are: without that machine it would not be known whether there are more. The same holds for pods that are left out for
this plan only, because they wait for others of it.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from growth.api.offering import Offering
from growth.api.pod import Pod, PodSpec
from growth.api.provider_state import ProviderState
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.facts.gangs import Gang, UnplacedGang
from growth.decide.fit.demand import ExcludedPod, importance
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.node_options import NodeOptions
from growth.decide.solver.placement_solution import PlacementSolution, UnplacedPod
from growth.decide.solver.planner import plan

# Each gang that is added costs one more plan. Those for which this one has no time are demand in the next one.
_TRIES: Final = 8
_TRIES_IN_LARGE_PLANS: Final = 2
_LARGE: Final = 1000
"""Pods."""


class GangPlacement(msgspec.Struct, frozen=True):
    """A plan without torn gangs."""

    pods: list[Pod]
    """The demand that is planned for."""
    solution: PlacementSolution
    """What there is for it."""
    unplaced: tuple[UnplacedGang, ...] = ()
    left_out: tuple[UnplacedPod, ...] = ()
    """The pods of the unplaced gangs."""


def without_held_back(
    demand: Sequence[Pod], set_aside: Sequence[ExcludedPod], gangs: Sequence[Gang]
) -> tuple[list[Pod], list[ExcludedPod]]:
    """Set aside the whole gang of a pod that no machine helps now: the others could not start without it."""
    reasons = {one.pod.metadata.uid: one.reason for one in set_aside if not one.node}
    held: dict[str, str] = {}
    for gang in gangs if reasons else ():
        first = min(gang.pods & reasons.keys(), default=None)
        if first is not None:
            held |= dict.fromkeys(gang.pods, f"it starts together with a pod of which holds: {reasons[first]}")
    more = [ExcludedPod(pod, "Gang", held[pod.metadata.uid]) for pod in demand if pod.metadata.uid in held]
    return [pod for pod in demand if pod.metadata.uid not in held], [*set_aside, *more]


def plan_together(
    simulated: SimulatedCluster,
    pods: Sequence[Pod],
    node_options: NodeOptions,
    gangs: Sequence[Gang],
    if_tried: Callable[[], NodeOptions] | None = None,
) -> GangPlacement:
    """Plan for these pods; ``if_tried`` is the market as it would be if all that is on trial could be had."""
    solution = plan(simulated, pods, node_options)
    uids = {pod.metadata.uid for pod in pods}
    gangs = [gang for gang in gangs if not gang.pods.isdisjoint(uids)]
    lacking = _lacking(solution, gangs)
    if lacking and if_tried is not None:
        hopeless = _lacking(plan(simulated, pods, if_tried()), gangs)
        gangs = [gang for gang in gangs if gang.workload not in lacking or gang.workload in hopeless]
        lacking = {workload: why for workload, why in lacking.items() if workload in hopeless}
    if not lacking:
        return GangPlacement(list(pods), solution)
    return _Sharing(simulated, pods, node_options, gangs, lacking).run(solution)


def offerings_if_tried(catalog: OfferingCatalog, providers: Mapping[str, ProviderState]) -> tuple[Offering, ...]:
    """Everything that may be launched, with all the stock that providers list of what is on trial; nothing if nothing
    is."""
    if not catalog.trials and all(one.access is not Availability.ON_TRIAL for one in catalog.offered.values()):
        return ()
    listed = {one.id: one.stock for provider in providers.values() for one in provider.offerings}
    return tuple(
        msgspec.structs.replace(one.offering, stock=listed.get(one.offering.id))
        if one.access is Availability.ON_TRIAL
        else one.offering
        for one in catalog.offered.values()
        if one.access is not Availability.CLOSED
    )


class _Sharing:
    """Which of the gangs that lack a place can have one, if others go without."""

    def __init__(
        self,
        simulated: SimulatedCluster,
        pods: Sequence[Pod],
        node_options: NodeOptions,
        gangs: Sequence[Gang],
        lacking: dict[str, str],
    ) -> None:
        self._simulated, self._pods, self._market = simulated, pods, node_options
        self._gangs = {gang.workload: gang for gang in gangs}
        self._lacking = lacking
        """By workload, why."""

    def run(self, solution: PlacementSolution) -> GangPlacement:
        out = set(self._lacking)
        if self._are_torn(solution):
            out, solution = self._without(out)
            out, solution, later = self._added(out, solution)
        else:
            later = set[str]()
        unplaced = tuple(UnplacedGang(self._gangs[name], self._lacking[name]) for name in sorted(out - later))
        reasons = {uid: one.why for one in unplaced for uid in one.gang.pods}
        left_out = [UnplacedPod(pod, reasons[pod.metadata.uid]) for pod in self._pods if pod.metadata.uid in reasons]
        return GangPlacement(self._but(out), _only(solution, self._uids_of(out)), unplaced, tuple(left_out))

    def _are_torn(self, solution: PlacementSolution) -> bool:
        placed = {pod.metadata.uid for node in (*solution.launch, *solution.existing) for pod in node.pods}
        return not placed.isdisjoint(self._uids_of(self._lacking))

    def _without(self, out: set[str]) -> tuple[set[str], PlacementSolution]:
        """Who else lacks a place when these are out: with other demand the packing is another one."""
        while True:
            solution = plan(self._simulated, self._but(out), self._market)
            more = _lacking(solution, [gang for name, gang in self._gangs.items() if name not in out])
            if not more:
                return out, solution
            self._lacking = more | self._lacking
            out = out | more.keys()

    def _added(self, out: set[str], solution: PlacementSolution) -> tuple[set[str], PlacementSolution, set[str]]:
        """Who is out in the end, the plan for all others, and for whom there was no time."""
        tries = _TRIES if len(self._pods) <= _LARGE else _TRIES_IN_LARGE_PLANS
        vain: set[object] = set()
        later: set[str] = set()
        for name in self._by_importance(out):
            likes = self._likes(name)
            if likes in vain:
                continue
            if not tries:
                later.add(name)
                continue
            tries -= 1
            without = out - {name}
            larger = plan(self._simulated, self._but(without), self._market)
            there = [gang for one, gang in self._gangs.items() if one not in without]
            if _lacking(larger, there) or _left_out(larger) != _left_out(solution):
                vain.add(likes)
            else:
                out, solution = without, larger
        return out, solution, later

    def _by_importance(self, names: Collection[str]) -> list[str]:
        places = {pod.metadata.uid: importance(pod) for pod in self._pods}
        return sorted(names, key=lambda name: min(places[uid] for uid in self._gangs[name].pods & places.keys()))

    def _likes(self, name: str) -> object:
        """What two gangs have in common of which one finds a place if the other does."""
        pods = [pod for pod in self._pods if pod.metadata.uid in self._gangs[name].pods]
        if self._simulated.has_repellents or not all(_is_plain(pod.spec) for pod in pods):
            return name
        return tuple(sorted(msgspec.msgpack.encode(pod.spec, order="deterministic") for pod in pods))

    def _but(self, out: Iterable[str]) -> list[Pod]:
        uids = self._uids_of(out)
        return [pod for pod in self._pods if pod.metadata.uid not in uids]

    def _uids_of(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset[str]().union(*(self._gangs[name].pods for name in names))


def _lacking(solution: PlacementSolution, gangs: Iterable[Gang]) -> dict[str, str]:
    """By workload, why these have no place for all of their pods."""
    reasons = {one.pod.metadata.uid: one.reason for one in solution.left_out if not one.is_for_now}
    lacking: dict[str, str] = {}
    for gang in gangs if reasons else ():
        unplaced = sorted(gang.pods & reasons.keys())
        if unplaced:
            count = f"{len(unplaced)} of its {len(gang.pods)} pods" if len(gang.pods) > 1 else "its pod"
            lacking[gang.workload] = f"there is no place for {count}: {reasons[unplaced[0]]}"
    return lacking


def _left_out(solution: PlacementSolution) -> set[str]:
    return {one.pod.metadata.uid for one in solution.left_out}


def _only(solution: PlacementSolution, out: Collection[str]) -> PlacementSolution:
    """The same without a word of these pods."""
    left_out = tuple(one for one in solution.left_out if one.pod.metadata.uid not in out)
    if len(left_out) == len(solution.left_out):
        return solution
    outcome = solution.outcome if left_out or solution.outcome == "NoDemands" else "AllPlaced"
    return msgspec.structs.replace(solution, left_out=left_out, outcome=outcome)


def _is_plain(spec: PodSpec) -> bool:
    return not (spec.affinity or spec.topology_spread_constraints or spec.volumes)
