"""The last plan: launches whose requests are not seen yet, and pods that join machines on their way."""

from datetime import timedelta
from typing import Final

import msgspec

from growth.api.actions import CreateObject, Hold, Outcome, Result
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.references import reference_by_name, reference_to
from growth.decide.context import STOP, Stop
from growth.decide.elapsed import is_ahead
from growth.decide.facts.pending_pods import is_virtual
from growth.decide.scale_up.carry import ScaleUpCarry
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.launches import asked_for, joined
from growth.decide.scale_up.planned_launch import PlannedLaunch
from growth.decide.scale_up.pod_events import halted
from growth.decide.scale_up.pod_results import PodResult, PodResults
from growth.decide.scale_up.reclaimed_nodes import taken_back

# What was made is seen in the watch at once. If it is not, it has gone again.
_SEEN_WITHIN: Final = timedelta(seconds=10)


def stop_if_halted(context: ScaleUpContext) -> Stop | None:
    """Launch nothing in an unhealthy cluster, nor while requests are given up (steps 2 and 4 of the registry)."""
    cluster = context.cluster
    if cluster.is_halted:
        why = f"nothing is launched in an unhealthy cluster: {cluster.health.alarm}"
        _hold_all(context, "ClusterUnhealthy", why)
        context.said += halted(context, why)
        return STOP
    if cluster.gives_up:
        _hold_all(context, "GivingUp", "machines that did not come are given up first")
        return STOP
    return None


def _hold_all(context: ScaleUpContext, reason: str, why: str) -> None:
    """Hold every pool. The plan is forgotten soon: when the cluster goes on, the facts are others. But not what may
    just have been requested and is not seen: a plan made before that would launch it twice."""
    context.said += [
        Hold(subject=reference_to(NODE_POOLS, pool.metadata), why=why, reason=reason) for pool in context.pools
    ]
    unseen = context.carry.unseen
    if not is_ahead(context.plan.at + _SEEN_WITHIN, context.now, _SEEN_WITHIN):
        unseen = frozenset(name for name in unseen if _was_just_asked_for(context, name))
    context.carry = msgspec.structs.replace(context.carry, unseen=unseen)


def carry_out_last_plan(context: ScaleUpContext) -> Stop | None:
    """Launch what the last plan wants and is not seen yet; nothing more is planned before it is."""
    unseen, unwanted, refused = _unseen(context)
    context.carry = _noticing(context, [*(one.name for one in unseen), *unwanted], refused)
    context.verdicts = context.carry.verdicts
    joins = tuple(joined(context))
    context.said += [*map(asked_for, unseen), *joins, *taken_back(context)]
    is_joining = bool(joins) and is_ahead(context.plan.at + _SEEN_WITHIN, context.now, _SEEN_WITHIN)
    if not (unseen or unwanted or is_joining or context.is_computing):
        return None
    if unseen or unwanted or is_joining:
        # Its event wakes the loop, unless it went before it was seen.
        context.remind(context.now + _SEEN_WITHIN)
    context.said += context.carry.told
    return STOP


def _was_just_asked_for(context: ScaleUpContext, name: str) -> bool:
    outcome = context.outcomes.latest(CreateObject, reference_by_name(NODE_REQUESTS, name))
    return outcome is not None and _may_be_there(context, outcome)


def _unseen(context: ScaleUpContext) -> tuple[list[PlannedLaunch], list[str], dict[str, PodResult]]:
    """Return the launches of the last plan whose requests are not in the cluster yet, and are still wanted; the names
    of those that are not, but may be there; and what is to be said of those whose requests were refused."""
    unseen, unwanted = list[PlannedLaunch](), list[str]()
    refused: dict[str, PodResult] = {}
    for one in context.carry.plan.wanted:
        if one.name not in context.carry.unseen or context.request(one.name):
            continue
        outcome = context.outcomes.latest(CreateObject, reference_by_name(NODE_REQUESTS, one.name))
        if not _is_wanted(context, one):
            if outcome is not None and _may_be_there(context, outcome):
                unwanted.append(one.name)
            continue
        if outcome is not None and not _is_of_this_plan(context, outcome):
            outcome = None
        if outcome is not None and outcome.result is Result.REFUSED:
            # It would be refused again, and meanwhile no other pod would be served. It is no failure of the pods.
            why = f"its NodeRequest was refused: {outcome.message}"
            verdict = PodResult(PodResults.SET_ASIDE, context.now, why, circumstances=context.carry.plan.circumstances)
            refused |= dict.fromkeys(one.pods or (one.shortage,), verdict)
        else:
            # Until it is seen it is requested again, which changes nothing if it is there: a watch may lag, and a plan
            # that is made meanwhile would launch it twice.
            unseen.append(one)
    return unseen, unwanted, refused


def _may_be_there(context: ScaleUpContext, outcome: Outcome) -> bool:
    """Whether it was made and may not be seen yet: a plan before that would not count it, and may pass a limit. On a
    clock that was set back this may last for any time."""
    is_new = outcome.at > context.now or is_ahead(outcome.at + _SEEN_WITHIN, context.now, _SEEN_WITHIN)
    return is_new and outcome.result is not Result.REFUSED


def _is_of_this_plan(context: ScaleUpContext, outcome: Outcome) -> bool:
    """Whether this is how the last plan ended, and not an earlier one that wanted the same. If the clock was set
    back since, that is unknown; then the next plan is made with the right time."""
    made_at = context.carry.plan.at
    return outcome.at <= context.now and (made_at <= outcome.at or made_at > context.now)


def _is_wanted(context: ScaleUpContext, wanted: PlannedLaunch) -> bool:
    """Whether its pool may still launch it, and one of the pods that it is for is still pending."""
    if not any(pool.metadata.uid == wanted.pool.metadata.uid for pool in context.usable):
        return False
    if wanted.is_probe:
        return True
    if (wanted.pool.metadata.name, wanted.offering.id) in context.closed:
        return False
    # A virtual pod goes when its successor comes, whose machine this is.
    is_new = is_ahead(context.carry.plan.at + _SEEN_WITHIN, context.now, _SEEN_WITHIN)
    waiting = context.waiting
    return not wanted.pods or any(uid in waiting or (is_new and is_virtual(uid)) for uid in wanted.pods)


def _noticing(context: ScaleUpContext, unseen: list[str], refused: dict[str, PodResult]) -> ScaleUpCarry:
    """Return what is carried over: which launches were seen, and whether a new pod is pending."""
    carry, now = context.carry, context.now
    virtual_pods = frozenset(context.virtual_pods)
    is_news = context.snapshot.arrivals != carry.arrivals or not virtual_pods <= carry.virtual_pods
    first_at, at_most = carry.first_at, context.settings.grow.at_most
    if carry.is_idle and first_at is not None and not is_ahead(first_at + at_most, now, at_most):
        first_at = None  # those found their nodes long ago, and say nothing about who comes now
    return msgspec.structs.replace(
        carry,
        unseen=frozenset(unseen),
        verdicts={**carry.verdicts, **refused} if refused else carry.verdicts,
        arrivals=context.snapshot.arrivals,
        virtual_pods=virtual_pods,
        first_at=first_at or (now if is_news else None),
        last_at=now if is_news else carry.last_at,
    )
