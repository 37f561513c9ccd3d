"""One plan, thought through on a thread: what waits, what is coming, what may be bought, and what should be.

Everything that it reads is its own: the World goes on meanwhile.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.out_of_service import SHUTDOWN, out_of_service_taint
from growth.api.pod import Pod
from growth.decide.capacity.pool_inventory import Shortage
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.capacity.retry_fingerprint import RetryFingerprint
from growth.decide.capacity.upcoming_nodes import UpcomingNode, enter, seat
from growth.decide.facts.gangs import Gang, GangFindings
from growth.decide.facts.virtual_pods import ReplacementPod
from growth.decide.fit.demand import ExcludedPod, has_place, why_unplaceable
from growth.decide.fit.inter_pod_affinity import feared_by
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.scale_up.demand_forecast import DemandForecast, foreseeing
from growth.decide.scale_up.gang_placement import plan_together, without_held_back
from growth.decide.scale_up.node_succession import Predecessor, succeeding
from growth.decide.scale_up.planned_launch import PlannedLaunch
from growth.decide.scale_up.probes import Probe, launched
from growth.decide.solver.minimum_nodes import closed_by, less_launched, warmed
from growth.decide.solver.node_options import NodeOption, NodeOptions, node_options_of
from growth.decide.solver.placement_solution import Outcome, PlacementSolution
from growth.decide.writes.node_patches import without_mark
from growth.decide.writes.node_requests import request_name


class ScaleUpProblem(msgspec.Struct, frozen=True, kw_only=True):
    """What a plan is asked for."""

    simulated: SimulatedCluster
    pools: tuple[NodePool, ...]
    offerings: tuple[Offering, ...]
    launched: tuple[PoolUsage, ...]
    coming: tuple[UpcomingNode, ...]
    pods: tuple[Pod, ...]
    """Those that want a place, most important first."""
    seated: tuple[Pod, ...]
    """Those that wait and have a place on a machine that is coming, or are expected on a node that stands."""
    expected: Mapping[str, str] = {}
    """By uid, the nodes on which these are expected."""
    shortages: tuple[Shortage, ...]
    taken: frozenset[str]
    """Names that are in use."""
    at: datetime
    circumstances: RetryFingerprint
    trials: tuple[str, ...] = ()
    """Providers of which one machine may be bought."""
    closed: frozenset[tuple[str, str]] = frozenset()
    """Pools and offerings that are not bought for them now: too much of that is amiss."""
    displaced: tuple[ReplacementPod, ...] = ()
    """Pods that lose their machine: their stand-ins are among those above."""
    spare: tuple[str, ...] = ()
    """Nodes that are marked because nobody needs them: free room, which costs nothing more."""
    predecessors: tuple[Predecessor, ...] = ()
    """Machines of ours that are lost, and whose place nobody takes yet."""
    foresight: DemandForecast = DemandForecast()
    """Who is expected while more and more is wanted."""
    probes: tuple[Probe, ...] = ()
    """Offerings to test, one machine each."""
    gangs: tuple[Gang, ...] = ()
    """Those of these pods that start together."""
    if_tried: tuple[Offering, ...] = ()
    """What could be launched if all that is on trial could be had; nothing if nothing is on trial."""


class UpcomingPlacements(msgspec.Struct, frozen=True):
    """Pods that find room on a machine that is coming already."""

    request: str
    pods: tuple[str, ...]
    hands_keys: bool
    wakes: tuple[str, ...] = ()


class ScaleUpPlan(GangFindings, frozen=True, kw_only=True):
    """What came of it."""

    at: datetime
    circumstances: str
    """Those that there are once the machines that it wants are asked for."""
    outcome: Outcome
    wanted: tuple[PlannedLaunch, ...] = ()
    joining: tuple[UpcomingPlacements, ...] = ()
    expected: Mapping[str, str] = {}
    """By uid, pods for which a node that stands has room: the scheduler will see that, too."""
    left_out: Mapping[str, str] = {}
    """By uid (or by the name of a shortage), why there is no place."""
    set_aside: Mapping[str, ExcludedPod] = {}
    cost_per_hour: float = 0.0
    bound_per_hour: float = 0.0

    @property
    def places(self) -> dict[str, str]:
        """By uid, on which machine each pod has its place."""
        found = {uid: one.name for one in self.wanted for uid in one.pods}
        found |= {uid: one.request for one in self.joining for uid in one.pods}
        return found


NO_PLAN: Final = ScaleUpPlan(at=datetime.min.replace(tzinfo=UTC), circumstances="", outcome="NoDemands")
"""What a process knows that has just begun."""


def answer(question: ScaleUpProblem) -> ScaleUpPlan:
    """Think. The same question has the same answer."""
    simulated = question.simulated
    clear(simulated, question.displaced)
    for name in question.spare:
        simulated.change_node(without_mark(simulated.nodes[name]))
    node_options = node_options_of(
        simulated, question.pools, question.offerings, question.launched, question.trials, closed=question.closed
    )
    warm, cold = warmed(node_options, question.shortages)
    if warm:
        bought = [PoolUsage.of(kind.pool.metadata.name, kind.offering) for kind in warm]
        offerings = less_launched(question.offerings, warm, question.trials)
        closed = question.closed | closed_by(warm, question.trials, question.offerings)
        node_options = node_options_of(
            simulated, question.pools, offerings, (*question.launched, *bought), question.trials, closed=closed
        )
    enter(simulated, question.coming, node_options.maker)
    taken = set(question.taken)
    wanted: list[PlannedLaunch] = []
    for kind in warm:
        name = request_name(kind.pool, kind.offering.id, ("min",), taken)
        taken.add(name)
        wanted.append(PlannedLaunch(name, kind.pool, kind.offering, shortage=_shortage(kind, question)))
        node_options.maker.make(name, kind.pool, kind.offering).enter(simulated)
    _, lost = seat(simulated, question.seated, _places(question))
    demand, set_aside = without_held_back(*_sorted_out(simulated, (*lost, *question.pods)), question.gangs)
    shy = _shy(simulated, demand)
    together = plan_together(simulated, demand, node_options, question.gangs, _if_tried(simulated, question))
    found = together.solution
    solution = foreseeing(simulated, together.pods, node_options, found, question.foresight)
    wanted = _with_pods(wanted, solution, shy)
    for node in solution.launch:
        uids = tuple(pod.metadata.uid for pod in node.pods)
        name = request_name(node.pool, node.offering.id, uids, taken)
        taken.add(name)
        hands_keys = any(uid in solution.keep for uid in uids)
        wakes = tuple(uid for uid in uids if uid in shy)
        foresees = solution is not found
        wanted.append(PlannedLaunch(name, node.pool, node.offering, uids, hands_keys, wakes, foresees=foresees))
    wanted = succeeding(wanted, (*question.seated, *question.pods), question.predecessors)
    wanted += launched(
        simulated, question.pools, question.probes, launched=question.launched, wanted=wanted, taken=taken
    )
    own = {one.name for one in wanted}
    joining, expected = _joining(question, solution, shy, own)
    # Who was nominated somewhere, or has a key, is expected there as well: nobody else is planned in its place.
    expected |= {one.pod.metadata.uid: one.node for one in set_aside if one.node}
    left_out = {one.pod.metadata.uid: one.reason for one in (*solution.left_out, *together.left_out)}
    left_out |= {shortage.name: why for shortage, why in cold}
    return ScaleUpPlan(
        at=question.at,
        circumstances=question.circumstances.after((one.pool, one.offering) for one in wanted).text,
        outcome="IncompletePlacement" if together.unplaced else solution.outcome,
        wanted=tuple(wanted),
        joining=joining,
        expected=expected,
        left_out=left_out,
        set_aside={one.pod.metadata.uid: one for one in set_aside if not one.node},
        unplaced=together.unplaced,
        cost_per_hour=solution.cost_per_hour + sum(kind.offering.price_per_hour for kind in warm),
        bound_per_hour=solution.bound_per_hour + sum(kind.offering.price_per_hour for kind in warm),
    )


def _places(question: ScaleUpProblem) -> dict[str, list[str]]:
    """By uid, where each pod has a place: on machines that are coming first, for those keep it."""
    found: dict[str, list[str]] = {}
    for one in question.coming:
        for uid in one.planned_for:
            found.setdefault(uid, []).append(one.name)
    for uid, node in question.expected.items():
        found.setdefault(uid, []).append(node)
    return found


def _if_tried(simulated: SimulatedCluster, question: ScaleUpProblem) -> Callable[[], NodeOptions] | None:
    """The market as it would be if all that is on trial could be had; None if nothing is on trial."""
    if not question.if_tried:
        return None
    return lambda: node_options_of(
        simulated, question.pools, question.if_tried, question.launched, closed=question.closed
    )


def _shortage(kind: NodeOption, question: ScaleUpProblem) -> str:
    pool, server_type = kind.pool.metadata.name, kind.offering.server_type.lower()
    return next(one.name for one in question.shortages if (one.pool, one.server_type.lower()) == (pool, server_type))


def _sorted_out(simulated: SimulatedCluster, pods: Sequence[Pod]) -> tuple[list[Pod], list[ExcludedPod]]:
    """Those that a machine could help, and the others with the reason."""
    demand: list[Pod] = []
    set_aside: list[ExcludedPod] = []
    for pod in pods:
        aside = why_unplaceable(simulated, pod) or has_place(simulated, pod)
        if aside is None:
            demand.append(pod)
            continue
        set_aside.append(aside)
        if aside.node:
            simulated.place(pod, aside.node)
    return demand, set_aside


def _shy(simulated: SimulatedCluster, pods: Sequence[Pod]) -> frozenset[str]:
    """Pods that others' anti-affinity keeps away from somewhere: no new node wakes those that nothing else hinders."""
    if not simulated.nodes or not simulated.has_repellents:
        return frozenset()
    known: dict[tuple[str, int], bool] = {}
    for pod in pods:
        key = (pod.metadata.namespace, id(pod.metadata.labels))
        if key not in known:
            known[key] = any(one.values for one in feared_by(simulated, pod))
    return frozenset(pod.metadata.uid for pod in pods if known[pod.metadata.namespace, id(pod.metadata.labels)])


def _with_pods(warm: list[PlannedLaunch], solution: PlacementSolution, shy: frozenset[str]) -> list[PlannedLaunch]:
    """Machines that are kept ready anyway, with the pods that found room on them."""
    filled = {one.node: one.pods for one in solution.existing}
    found: list[PlannedLaunch] = []
    for one in warm:
        uids = tuple(pod.metadata.uid for pod in filled.get(one.name, ()))
        hands_keys = any(uid in solution.keep for uid in uids)
        wakes = tuple(uid for uid in uids if uid in shy)
        found.append(msgspec.structs.replace(one, pods=uids, hands_keys=hands_keys, wakes=wakes))
    return found


def _joining(
    question: ScaleUpProblem, solution: PlacementSolution, shy: frozenset[str], own: set[str]
) -> tuple[tuple[UpcomingPlacements, ...], dict[str, str]]:
    coming = {one.name: one for one in question.coming}
    joining: list[UpcomingPlacements] = []
    expected: dict[str, str] = {}
    for filled in solution.existing:
        if filled.node in own:
            continue
        uids = tuple(pod.metadata.uid for pod in filled.pods)
        known = coming.get(filled.node)
        if known is None:
            expected |= dict.fromkeys(uids, filled.node)
            continue
        hands_keys = known.hands_keys or any(uid in solution.keep for uid in uids)
        joining.append(UpcomingPlacements(filled.node, uids, hands_keys, tuple(uid for uid in uids if uid in shy)))
    return tuple(joining), expected


def clear(simulated: SimulatedCluster, displaced: Iterable[ReplacementPod]) -> None:
    """Take them off their nodes, so that they stand in nobody's way, and keep these closed: they are no room."""
    nodes: dict[str, None] = {}
    for one in displaced:
        simulated.remove(one.uid, one.node)
        nodes[one.node] = None
    for name in nodes:
        node = simulated.nodes[name]
        if out_of_service_taint(node) is None:  # it is written in this moment
            spec = msgspec.structs.replace(node.spec, taints=(*node.spec.taints, SHUTDOWN))
            simulated.change_node(msgspec.structs.replace(node, spec=spec))
