"""What should be bought for the pods that wait? Docs: docs/growing.md.

It asks for machines (NodeRequests), says on pods why they wait, and counts how often they waited in vain. It never asks
a provider, never removes anything, and has one plan at a time: the next one is thought of when the last one is seen in
the cluster, so nothing is planned twice.

1. Carry out the last plan: requests that are not seen yet, pods that join machines that are coming.
2. Sort out who waits.
3. Plan, when no new pod has come for a moment, or the longest wait is over.
4. Say on pods why there is no place, and clear it from those that got one.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.actions import Action, CreateObject, Hold, Outcome, Result
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.references import reference_by_name, reference_to
from growth.api.settings.model import Settings
from growth.decide.capacity.demand_history import DemandHistory, noted
from growth.decide.capacity.offering_catalog import offering_for
from growth.decide.capacity.pool_inventory import shortages
from growth.decide.capacity.upcoming_nodes import UpcomingNode
from growth.decide.contract import DeciderState, Decision
from growth.decide.elapsed import is_ahead
from growth.decide.facts.pending_pods import is_stand_in, waiting_in
from growth.decide.fit.demand import importance
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.demand_forecast import MOST, DemandForecast
from growth.decide.scale_up.gang_placement import offerings_if_tried
from growth.decide.scale_up.launches import asked_for, joined
from growth.decide.scale_up.node_succession import predecessors
from growth.decide.scale_up.pending_pods import PendingPods, sort_out
from growth.decide.scale_up.plan import NO_PLAN, ScaleUpPlan, ScaleUpProblem, answer
from growth.decide.scale_up.planned_launch import PlannedLaunch
from growth.decide.scale_up.pod_events import halted, told
from growth.decide.scale_up.pod_results import PodResult, PodResults, after
from growth.decide.scale_up.probe_schedule import ProbeSchedule, probing
from growth.decide.scale_up.probes import Probe
from growth.decide.scale_up.reclaimed_nodes import spare_nodes, taken_back
from growth.decide.solver.minimum_nodes import Shortage
from growth.observe.snapshot import Snapshot

# What was made is seen in the watch at once. If it is not, it has gone again.
_SEEN_WITHIN: Final = timedelta(seconds=10)
# A thought that failed is a mistake of ours; it would fail again, and each time it is told.
_AFTER_A_MISTAKE: Final = timedelta(seconds=10)


class ScaleUpCarry(msgspec.Struct, frozen=True):
    """What must be remembered between two passes; a new process begins with nothing and loses nothing."""

    plan: ScaleUpPlan = NO_PLAN
    verdicts: Mapping[str, PodResult] = {}
    """What this plan and those before said of pods that still wait."""
    unseen: frozenset[str] = frozenset()
    """Machines of the plan whose requests were not seen yet."""
    arrivals: int = 0
    """How many pods had begun to wait."""
    virtual_pods: frozenset[str] = frozenset()
    """Of pods that are not there yet."""
    first_at: datetime | None = None
    last_at: datetime | None = None
    """When the first and the last of those came for whom there is no plan yet."""
    is_idle: bool = False
    """Whether none of those that had come was demand when they were last looked at."""
    asked_at: datetime | None = None
    """When the last plan was asked for."""
    nodes_heard: int = 0
    """How many nodes had come by then."""
    probed_at: datetime | None = None
    """When a plan was last asked for offerings to test."""
    told: tuple[Action | Hold, ...] = ()
    demand: DemandHistory | None = None
    """What was wanted lately, where a pool optimises."""


def decide(snapshot: Snapshot, state: DeciderState, settings: Settings) -> Decision:
    """What should happen now."""
    carry = state.carry if isinstance(state.carry, ScaleUpCarry) else ScaleUpCarry(nodes_heard=snapshot.nodes_heard)
    if isinstance(state.answer, ScaleUpPlan) and state.answer is not carry.plan:
        unseen = frozenset(one.name for one in state.answer.wanted)
        verdicts = after(state.answer, carry.verdicts, waiting_in(snapshot))
        carry = msgspec.structs.replace(carry, plan=state.answer, unseen=unseen, verdicts=verdicts)
    is_optimised = any(pool.spec.disruption.mode == "act" for pool in snapshot.table(NODE_POOLS).values())
    demand = noted(carry.demand, snapshot, settings.consolidate.window) if is_optimised else None
    return _Pass(snapshot, state, settings, msgspec.structs.replace(carry, demand=demand)).run()


class _Pass:
    """One look at everything."""

    def __init__(self, snapshot: Snapshot, state: DeciderState, settings: Settings, carry: ScaleUpCarry) -> None:
        self._snapshot, self._state, self._settings, self._carry = snapshot, state, settings, carry
        self._now = snapshot.now
        self._outlook = ScaleUpContext(snapshot, state, settings, carry.plan)

    def run(self) -> Decision:
        cluster = self._outlook.cluster
        if cluster.is_halted:
            why = f"nothing is launched in an unhealthy cluster: {cluster.health.alarm}"
            return self._nothing("ClusterUnhealthy", why, tuple(halted(self._outlook, why)))
        if cluster.gives_up:
            return self._nothing("GivingUp", "machines that did not come are given up first")
        unseen, unwanted, refused = self._unseen()
        carry = self._noticing([*(one.name for one in unseen), *unwanted], refused)
        self._outlook.verdicts = carry.verdicts
        joins = tuple(joined(self._outlook))
        doing: tuple[Action | Hold, ...] = (*map(asked_for, unseen), *joins, *taken_back(self._outlook))
        is_joining = bool(joins) and is_ahead(carry.plan.at + _SEEN_WITHIN, self._now, _SEEN_WITHIN)
        if unseen or unwanted or is_joining or self._state.is_computing:
            # Nothing more can be decided; when that is over we are woken, unless it went before it was seen.
            wake_at = self._now + _SEEN_WITHIN if unseen or unwanted or is_joining else None
            return Decision((*doing, *carry.told), wake_at, carry)
        waiting = sort_out(self._outlook, is_node_new=self._snapshot.nodes_heard != carry.nodes_heard)
        missing = self._missing(waiting)
        said = (*waiting.nudges, *told(self._outlook, waiting))
        probes = self._probes(waiting, carry)
        computation, carry = self._compute(waiting, missing, probes, msgspec.structs.replace(carry, told=said))
        wake_at = min((when for when in waiting.wake_at if when > self._now), default=None)
        return Decision((*doing, *said), wake_at, carry, computation)

    def _nothing(self, reason: str, why: str, told: tuple[Action | Hold, ...] = ()) -> Decision:
        """The steps 2 and 4 of the registry's loop. What was planned is forgotten soon: when it goes on, things stand
        otherwise. But not what may just have been asked for and is not seen: whoever plans before that buys twice."""
        said = tuple(
            Hold(subject=reference_to(NODE_POOLS, pool.metadata), why=why, reason=reason)
            for pool in self._outlook.pools
        )
        unseen = self._carry.unseen
        if not is_ahead(self._carry.plan.at + _SEEN_WITHIN, self._now, _SEEN_WITHIN):
            unseen = frozenset(filter(self._was_just_asked_for, unseen))
        return Decision((*said, *told), None, msgspec.structs.replace(self._carry, unseen=unseen))

    def _was_just_asked_for(self, name: str) -> bool:
        outcome = self._state.outcome_of(CreateObject, reference_by_name(NODE_REQUESTS, name))
        return outcome is not None and self._may_be_there(outcome)

    # 1. The last plan

    def _unseen(self) -> tuple[list[PlannedLaunch], list[str], dict[str, PodResult]]:
        """Machines of the last plan whose requests are not in the cluster yet, and are still wanted; those by name that
        nobody wants any more, but that may be there; and what is to be said of those whose requests were refused."""
        unseen, unwanted = list[PlannedLaunch](), list[str]()
        refused: dict[str, PodResult] = {}
        for one in self._carry.plan.wanted:
            if one.name not in self._carry.unseen or self._outlook.request(one.name):
                continue
            outcome = self._state.outcome_of(CreateObject, reference_by_name(NODE_REQUESTS, one.name))
            if not self._is_wanted(one):
                if outcome is not None and self._may_be_there(outcome):
                    unwanted.append(one.name)
                continue
            if outcome is not None and not self._is_of_this_plan(outcome):
                outcome = None
            if outcome is not None and outcome.result is Result.REFUSED:
                # It would be refused again, and meanwhile nobody else would be served. It is no failure of the pods.
                why = f"its NodeRequest was refused: {outcome.message}"
                verdict = PodResult(PodResults.SET_ASIDE, self._now, why, circumstances=self._carry.plan.circumstances)
                refused |= dict.fromkeys(one.pods or (one.shortage,), verdict)
            else:
                # Until it is seen it is asked for again, which changes nothing if it is there: a watch may lag, and
                # whoever plans anew meanwhile buys twice.
                unseen.append(one)
        return unseen, unwanted, refused

    def _may_be_there(self, outcome: Outcome) -> bool:
        """Whether it was made and may not be seen yet: whoever plans before that does not count it, and may pass a
        limit. On a clock that was set back nobody can tell for how long."""
        is_new = outcome.at > self._now or is_ahead(outcome.at + _SEEN_WITHIN, self._now, _SEEN_WITHIN)
        return is_new and outcome.result is not Result.REFUSED

    def _is_of_this_plan(self, outcome: Outcome) -> bool:
        """Whether this is how the last plan ended, and not an earlier one that wanted the same. If the clock was set
        back since, nobody can tell; then the next plan is made with the right time."""
        made_at = self._carry.plan.at
        return outcome.at <= self._now and (made_at <= outcome.at or made_at > self._now)

    def _is_wanted(self, wanted: PlannedLaunch) -> bool:
        """Whether its pool still is one to buy this for, and somebody of those that it is for still waits."""
        if not any(pool.metadata.uid == wanted.pool.metadata.uid for pool in self._outlook.usable):
            return False
        if wanted.is_probe:
            return True
        if (wanted.pool.metadata.name, wanted.offering.id) in self._outlook.closed:
            return False
        # A stand-in goes when its successor comes, whose machine this is.
        is_new = is_ahead(self._carry.plan.at + _SEEN_WITHIN, self._now, _SEEN_WITHIN)
        waiting = self._outlook.waiting
        return not wanted.pods or any(uid in waiting or (is_new and is_stand_in(uid)) for uid in wanted.pods)

    def _noticing(self, unseen: list[str], refused: dict[str, PodResult]) -> ScaleUpCarry:
        """What is remembered from now on: who was seen, and whether somebody new waits."""
        carry, now = self._carry, self._now
        virtual_pods = frozenset(self._outlook.virtual_pods)
        is_news = self._snapshot.arrivals != carry.arrivals or not virtual_pods <= carry.virtual_pods
        first_at, at_most = carry.first_at, self._settings.grow.at_most
        if carry.is_idle and first_at is not None and not is_ahead(first_at + at_most, now, at_most):
            first_at = None  # those found their nodes long ago, and say nothing about who comes now
        return msgspec.structs.replace(
            carry,
            unseen=frozenset(unseen),
            verdicts={**carry.verdicts, **refused} if refused else carry.verdicts,
            arrivals=self._snapshot.arrivals,
            virtual_pods=virtual_pods,
            first_at=first_at or (now if is_news else None),
            last_at=now if is_news else carry.last_at,
        )

    # 3. The next plan

    def _probes(self, waiting: PendingPods, carry: ScaleUpCarry) -> ProbeSchedule:
        """Offerings to test; what was just found to serve no pod, or to pass a limit, is not asked about at once."""
        planned = {pod.metadata.uid for pod in (*waiting.seated, *waiting.expected)}
        unplanned = {pod.metadata.uid for pod, _ in waiting.held}
        found = probing(self._outlook, planned, unplanned)
        again_after = self._settings.grow.count_failures_every
        if found.due and carry.probed_at is not None:
            again_at = carry.probed_at + again_after
            if is_ahead(again_at, self._now, again_after):
                found.due.clear()
                found.wake_at.append(again_at)
        waiting.wake_at += found.wake_at
        return found

    def _compute(
        self, waiting: PendingPods, missing: tuple[Shortage, ...], probes: ProbeSchedule, carry: ScaleUpCarry
    ) -> tuple[Callable[[], ScaleUpPlan] | None, ScaleUpCarry]:
        settings = self._settings.grow
        if not waiting.unserved and not missing and not probes.due:
            # Those who have just come may be refused in a moment; then they have waited since now.
            return None, msgspec.structs.replace(carry, is_idle=True)
        carry = msgspec.structs.replace(carry, is_idle=False)
        first_at, last_at = carry.first_at or self._now, carry.last_at or self._now
        due, longest = min(last_at + settings.quiet, first_at + settings.at_most), settings.at_most
        if carry.asked_at is not None and carry.plan.at != carry.asked_at:
            due, longest = max(due, carry.asked_at + _AFTER_A_MISTAKE), max(longest, _AFTER_A_MISTAKE)
        if is_ahead(due, self._now, longest):
            waiting.wake_at.append(due)
            return None, msgspec.structs.replace(carry, first_at=first_at, last_at=last_at)
        question = self._question(waiting, missing, (*probes.due, *probes.beside))
        if probes.due:
            carry = msgspec.structs.replace(carry, probed_at=self._now)
        carry = msgspec.structs.replace(
            carry, first_at=None, last_at=None, asked_at=self._now, nodes_heard=self._snapshot.nodes_heard
        )
        return lambda: answer(question), carry

    def _missing(self, waiting: PendingPods) -> tuple[Shortage, ...]:
        """Machines that pools want even without load; those that could not be found are asked for again later."""
        outlook, again_after = self._outlook, self._settings.grow.back_off
        if not any(one.min for pool in outlook.usable for one in pool.spec.server_types):
            return ()
        found: list[Shortage] = []
        for one in shortages(outlook.usable, outlook.held):
            verdict = outlook.verdicts.get(one.name)
            is_known = verdict is not None and outlook.circumstances.hold_what(verdict.circumstances)
            if verdict is not None and is_known and is_ahead(verdict.at + again_after, self._now, again_after):
                waiting.cold.append((one, verdict.why))
                waiting.wake_at.append(verdict.at + again_after)
            else:
                found.append(one)
        return tuple(found)

    def _question(
        self, waiting: PendingPods, missing: tuple[Shortage, ...], probes: tuple[Probe, ...]
    ) -> ScaleUpProblem:
        snapshot, outlook = self._snapshot, self._outlook
        pools = {pool.metadata.name: pool for pool in outlook.pools}
        coming = [
            UpcomingNode(request.metadata.name, pools[request.pool], offering, request.planned_for, request.hands_keys)
            for _, request in sorted(outlook.requests.items())
            if outlook.has_places(request)
            and request.pool in pools
            and (offering := offering_for(request, outlook.catalog)) is not None
        ]
        expected = {pod.metadata.uid: outlook.verdicts[pod.metadata.uid].node for pod in waiting.expected}
        # Of a machine that nobody sells any more we cannot tell what it will be: its pods keep their places, unseen.
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
            at=self._now,
            circumstances=outlook.circumstances,
            trials=outlook.catalog.trials,
            displaced=tuple(outlook.displaced.values()),
            spare=spare_nodes(outlook),
            closed=outlook.closed,
            predecessors=predecessors(snapshot, outlook.held),
            foresight=self._foresight(),
            probes=probes,
            gangs=outlook.gangs,
            if_tried=offerings_if_tried(outlook.catalog, snapshot.clouds) if outlook.gangs else (),
        )

    def _foresight(self) -> DemandForecast:
        demand = self._carry.demand
        if demand is None or not demand.knows():
            return DemandForecast()
        acting = (pool.metadata.name for pool in self._outlook.usable if pool.spec.disruption.mode == "act")
        return DemandForecast(demand.expected(MOST), frozenset(acting))
