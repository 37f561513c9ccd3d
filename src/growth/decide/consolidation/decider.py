"""Is there a cheaper cluster that serves the same pods, and how far are the moves towards it? Docs: docs/optimising.md.

1. Carry out the moves that are decided (``move_execution``).
2. When none is under way, no pod is pending and no machine is coming: work out how to empty nodes that must go, at any
   cost (``forced_round``).
3. If there is nothing of that kind to do: work out what can be saved (``saving_round``), every few minutes. Pools that
   say so (``disruption.mode: act``) get the moves of the first wave; for others the possible savings are reported.
"""

from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS, PODS
from growth.api.settings.model import ConsolidateSettings
from growth.decide.capacity.demand_history import LOOKS_WITHIN, RecentDemand
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.consolidation.carry import ConsolidationCarry
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.forced_disruptions import find_disruptions
from growth.decide.consolidation.forced_moves import ForcedMovePlan
from growth.decide.consolidation.forced_round import make_forced_moves, plan_forced_moves, report_staying
from growth.decide.consolidation.metrics import METRICS, measured, savings_by_pool
from growth.decide.consolidation.move_execution import advance
from growth.decide.consolidation.move_search import MoveAdvice
from growth.decide.consolidation.saving_round import make_saving_moves, plan_saving_moves, report_savings
from growth.decide.context import Step, run_steps
from growth.decide.contract import Capability, CapabilityName, Decision, Inputs, Need, WritePermission
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.kept_nodes import RetainedNodes
from growth.decide.facts.pending_pods import PendingPods
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.fit.simulated_cluster import PLACEMENT_KINDS


def advance_moves(context: ConsolidationContext) -> None:
    """Take each move one step further."""
    for move in context.moves:
        if (known := context.carry.crowded.get(move.metadata.name)) is not None:
            context.crowded[move.metadata.name] = known
        advance(context, move)


def keep_watching_demand(context: ConsolidationContext) -> None:
    """Decide again before the demand history would begin again for lack of a look."""
    if context.optimized_pools:
        context.remind(context.now + LOOKS_WITHIN * 0.8)


STEPS: Final[tuple[Step[ConsolidationContext], ...]] = (
    advance_moves,
    keep_watching_demand,
    find_disruptions,
    make_forced_moves,
    make_saving_moves,
    plan_forced_moves,
    plan_saving_moves,
    report_savings,
    report_staying,
)


def next_carry(context: ConsolidationContext) -> ConsolidationCarry:
    """Return what the next pass must know."""
    return msgspec.structs.replace(
        context.carry,
        crowded=context.crowded,
        under_way={move.metadata.uid: move.spec.reason for move in context.moves if not move.is_over},
        savings=savings_by_pool(context, context.inputs.carry),
    )


def decide(inputs: Inputs[ConsolidationCarry, MoveAdvice | ForcedMovePlan, None], /) -> Decision[ConsolidationCarry]:
    """Decide how far the moves towards a cheaper cluster are, and which are next."""
    context = ConsolidationContext(inputs)
    run_steps(context, STEPS)
    carry = next_carry(context)
    context.measurements.extend(measured(context, carry))
    return context.decision(carry, context.compute)


CAPABILITY: Final = Capability(
    name=CapabilityName("consolidate"),
    decide=decide,
    initial_carry=lambda _snapshot, _settings: ConsolidationCarry(),
    settings=ConsolidateSettings,
    watches=(*PLACEMENT_KINDS, POD_DISRUPTION_BUDGETS, NODE_MOVES, NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS),
    permissions=(
        WritePermission("get create", NODE_REQUESTS),
        WritePermission("get create", NODE_REMOVAL_REQUESTS),
        WritePermission("get create delete", NODE_MOVES),
        WritePermission("patch", NODE_MOVES, "status"),
        WritePermission("patch", NODES),
        WritePermission("create", PODS, "eviction"),
    ),
    needs=(
        Need(ClusterState),
        Need(OfferingCatalog),
        Need(RecentDemand),
        Need(PendingPods),
        Need(ReplacementPods),
        Need(RetainedNodes),
    ),
    metrics=METRICS,
)
