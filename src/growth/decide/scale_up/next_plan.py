"""The next plan: who is demand, what is missing, and when a plan for it is begun."""

from datetime import timedelta
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.decide.capacity.demand_history import RecentDemand
from growth.decide.capacity.offering_catalog import offering_for
from growth.decide.capacity.pool_inventory import Shortage, shortages
from growth.decide.capacity.upcoming_nodes import UpcomingNode
from growth.decide.elapsed import is_ahead
from growth.decide.fit.demand import importance
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.demand_forecast import MOST, DemandForecast
from growth.decide.scale_up.gang_placement import offerings_if_tried
from growth.decide.scale_up.node_succession import predecessors
from growth.decide.scale_up.pending_pods import SortedPods, sort_out
from growth.decide.scale_up.plan import ScaleUpProblem, answer
from growth.decide.scale_up.pod_events import told
from growth.decide.scale_up.probe_schedule import ProbeSchedule, probing
from growth.decide.scale_up.probes import Probe
from growth.decide.scale_up.reclaimed_nodes import spare_nodes

# A computation that failed is a defect; it would fail again, and each time it is reported.
_AFTER_A_MISTAKE: Final = timedelta(seconds=10)


def plan_launches(context: ScaleUpContext) -> None:
    """Sort the pending pods, report why they wait, and begin a plan when no new pod has come for a moment."""
    waiting = sort_out(context, is_node_new=context.snapshot.nodes_heard != context.carry.nodes_heard)
    missing = _missing(context, waiting)
    told_now = (*waiting.nudges, *told(context, waiting))
    probes = _probes(context, waiting)
    context.carry = msgspec.structs.replace(context.carry, told=told_now)
    _compute(context, waiting, missing, probes)
    context.said += told_now
    context.deadlines += waiting.wake_at


def _probes(context: ScaleUpContext, waiting: SortedPods) -> ProbeSchedule:
    """Offerings to test; what was just found to serve no pod, or to pass a limit, is not asked about at once."""
    planned = {pod.metadata.uid for pod in (*waiting.seated, *waiting.expected)}
    unplanned = {pod.metadata.uid for pod, _ in waiting.held}
    found = probing(context, planned, unplanned)
    again_after = context.settings.grow.count_failures_every
    if found.due and context.carry.probed_at is not None:
        again_at = context.carry.probed_at + again_after
        if is_ahead(again_at, context.now, again_after):
            found.due.clear()
            found.wake_at.append(again_at)
    waiting.wake_at += found.wake_at
    return found


def _compute(
    context: ScaleUpContext, waiting: SortedPods, missing: tuple[Shortage, ...], probes: ProbeSchedule
) -> None:
    settings = context.settings.grow
    if not waiting.unserved and not missing and not probes.due:
        # Those who have just come may be refused in a moment; then they have waited since now.
        context.carry = msgspec.structs.replace(context.carry, is_idle=True)
        return
    carry = msgspec.structs.replace(context.carry, is_idle=False)
    first_at, last_at = carry.first_at or context.now, carry.last_at or context.now
    due, longest = min(last_at + settings.quiet, first_at + settings.at_most), settings.at_most
    if carry.asked_at is not None and carry.plan.at != carry.asked_at:
        due, longest = max(due, carry.asked_at + _AFTER_A_MISTAKE), max(longest, _AFTER_A_MISTAKE)
    if is_ahead(due, context.now, longest):
        waiting.wake_at.append(due)
        context.carry = msgspec.structs.replace(carry, first_at=first_at, last_at=last_at)
        return
    question = _question(context, waiting, missing, (*probes.due, *probes.beside))
    if probes.due:
        carry = msgspec.structs.replace(carry, probed_at=context.now)
    context.carry = msgspec.structs.replace(
        carry, first_at=None, last_at=None, asked_at=context.now, nodes_heard=context.snapshot.nodes_heard
    )
    context.compute = lambda: answer(question)


def _missing(context: ScaleUpContext, waiting: SortedPods) -> tuple[Shortage, ...]:
    """Machines that pools want even without load; those that could not be found are asked for again later."""
    outlook, again_after = context, context.settings.grow.back_off
    if not any(one.min for pool in outlook.usable for one in pool.spec.server_types):
        return ()
    found: list[Shortage] = []
    for one in shortages(outlook.usable, outlook.held):
        verdict = outlook.verdicts.get(one.name)
        is_known = verdict is not None and outlook.circumstances.hold_what(verdict.circumstances)
        if verdict is not None and is_known and is_ahead(verdict.at + again_after, context.now, again_after):
            waiting.cold.append((one, verdict.why))
            waiting.wake_at.append(verdict.at + again_after)
        else:
            found.append(one)
    return tuple(found)


def _question(
    context: ScaleUpContext, waiting: SortedPods, missing: tuple[Shortage, ...], probes: tuple[Probe, ...]
) -> ScaleUpProblem:
    snapshot, outlook = context.snapshot, context
    pools = {pool.metadata.name: pool for pool in outlook.pools}
    coming = [
        UpcomingNode(request.metadata.name, pools[request.pool], offering, request.planned_for, request.hands_keys)
        for _, request in sorted(outlook.requests.items())
        if outlook.has_places(request)
        and request.pool in pools
        and (offering := offering_for(request, outlook.catalog)) is not None
    ]
    expected = {pod.metadata.uid: outlook.verdicts[pod.metadata.uid].node for pod in waiting.expected}
    # Of a machine that no provider offers any more it is unknown what it will be: its pods keep their places, unseen.
    placed = {uid for one in coming for uid in one.planned_for}
    seated = [*waiting.expected, *(pod for pod in waiting.seated if pod.metadata.uid in placed)]
    removals = snapshot.table(NODE_REMOVAL_REQUESTS)
    machines = [machine.name for cloud in snapshot.clouds.values() for machine in cloud.machines]
    taken = {name for _, name in (*outlook.requests, *removals)} | {*snapshot.nodes, *machines}
    return ScaleUpProblem(
        simulated=SimulatedCluster.copy_of(snapshot),
        pools=outlook.usable,
        offerings=outlook.catalog.buyable,
        launched=tuple(one.launched for one in outlook.held),
        coming=tuple(coming),
        pods=tuple(sorted(waiting.unserved, key=importance)),
        seated=tuple(sorted(seated, key=importance)),
        expected=expected,
        shortages=missing,
        taken=frozenset(taken),
        at=context.now,
        circumstances=outlook.circumstances,
        trials=outlook.catalog.trials,
        displaced=tuple(outlook.replacements.pods.values()),
        spare=spare_nodes(outlook),
        closed=outlook.closed,
        predecessors=predecessors(snapshot, outlook.replacements, outlook.held),
        foresight=_foresight(context),
        probes=probes,
        gangs=outlook.gangs,
        if_tried=offerings_if_tried(outlook.catalog, snapshot.clouds) if outlook.gangs else (),
    )


def _foresight(context: ScaleUpContext) -> DemandForecast:
    history = context.facts.get(RecentDemand).history
    acting = frozenset(pool.metadata.name for pool in context.usable if pool.spec.disruption.mode == "act")
    if not acting or history is None or not history.knows():
        return DemandForecast()
    return DemandForecast(history.expected(MOST), acting)
