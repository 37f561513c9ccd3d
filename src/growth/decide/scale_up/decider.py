"""What should be bought for the pods that wait? Docs: docs/growing.md.

It asks for machines (NodeRequests), says on pods why they wait, and counts how often they waited in vain. It never asks
a provider, never removes anything, and has one plan at a time: the next one is thought of when the last one is seen in
the cluster, so nothing is planned twice.

1. Carry out the last plan: requests that are not seen yet, pods that join machines that are coming.
2. Sort out who waits.
3. Plan, when no new pod has come for a moment, or the longest wait is over.
4. Say on pods why there is no place, and clear it from those that got one.
"""

from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import PODS
from growth.api.settings.model import GrowSettings
from growth.decide.capacity.demand_history import RecentDemand
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.context import Step, run_steps
from growth.decide.contract import Capability, CapabilityName, Decision, Inputs, Need, WritePermission
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.gangs import GangFindings, PendingGangs
from growth.decide.facts.kept_nodes import NominatedNodes
from growth.decide.facts.pending_pods import PendingPods
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.fit.simulated_cluster import PLACEMENT_KINDS
from growth.decide.scale_up.carry import ScaleUpCarry
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.last_plan import carry_out_last_plan, stop_if_halted
from growth.decide.scale_up.next_plan import plan_launches
from growth.decide.scale_up.plan import ScaleUpPlan
from growth.decide.scale_up.pod_results import after


def take_up_result(context: ScaleUpContext) -> None:
    """Carry out the plan that was computed, from now on."""
    plan, carry = context.inputs.result, context.carry
    if plan is None or plan is carry.plan:
        return
    unseen = frozenset(one.name for one in plan.wanted)
    verdicts = after(plan, carry.verdicts, context.waiting)
    context.carry = msgspec.structs.replace(carry, plan=plan, unseen=unseen, verdicts=verdicts)


STEPS: Final[tuple[Step[ScaleUpContext], ...]] = (take_up_result, stop_if_halted, carry_out_last_plan, plan_launches)


def decide(inputs: Inputs[ScaleUpCarry, ScaleUpPlan, None], /) -> Decision[ScaleUpCarry]:
    """Decide what to launch for the pending pods."""
    context = ScaleUpContext(inputs)
    run_steps(context, STEPS)
    return context.decision(context.carry, context.compute)


CAPABILITY: Final = Capability(
    name=CapabilityName("grow"),
    decide=decide,
    initial_carry=lambda snapshot, _settings: ScaleUpCarry(nodes_heard=snapshot.nodes_heard),
    settings=GrowSettings,
    watches=(*PLACEMENT_KINDS, NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS),
    permissions=(
        WritePermission("get create", NODE_REQUESTS),
        WritePermission("patch", NODE_REQUESTS),
        WritePermission("patch", PODS),
    ),
    needs=(
        Need(ClusterState),
        Need(OfferingCatalog),
        Need(RecentDemand, if_failed="default"),
        Need(PendingPods, if_failed="default"),
        Need(PendingGangs, if_failed="default"),
        Need(ReplacementPods, if_failed="default"),
    ),
    provides=(NominatedNodes,),
    computes=GangFindings,
)
