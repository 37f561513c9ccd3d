"""Ready, Unmet and Deprovisioning: how a request ends."""

from datetime import timedelta

from growth.api.actions import DeleteObject
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.node_request import NodeRequest
from growth.api.references import reference_to
from growth.api.status import condition_of
from growth.decide.capacity.availability import is_noted
from growth.decide.capacity.provider_failures import MET, POOL_UNCLEAR
from growth.decide.node_requests.context import NodeRequestsContext
from growth.decide.writes.removal_requests import asked_to_go


def keep(context: NodeRequestsContext, request: NodeRequest) -> None:
    """A node that works speaks for itself; its request is kept for a while, for people to look at.

    It also says for whom the node was bought, so it outlives the time in which these pods have their places.
    """
    ends_at = context.phase_since(request) + max(context.terms.keep_ready, context.terms.hand_over)
    if request.metadata.name not in context.snapshot.nodes:
        _delete(context, request, "its node is gone")
    elif context.now < ends_at:
        context.deadlines.append(ends_at)
    elif request.metadata.name not in context.snapshot.closed:
        _delete(context, request, "its node has been ready for a while")


def forget(context: NodeRequestsContext, request: NodeRequest) -> None:
    """What an Unmet request taught is noted in its pool; then it goes, when its offering may be tried again."""
    if not _is_noted(context, request):
        return
    pool, failure = context.pools.get(request.pool), context.failure_of(request)
    ends_at, met = context.phase_since(request), condition_of(request.status.conditions, MET)
    if met is not None and met.reason == POOL_UNCLEAR:
        ends_at += context.terms.unmet_at_most  # no pool shows why: whoever wrote it finds that here
    if pool is not None and failure is not None:
        until = [one.until for one in pool.status.offerings if one.offering == failure.scope and one.until]
        ends_at = min(max([ends_at, *until]), ends_at + context.terms.unmet_at_most)
    if context.now >= ends_at:
        _delete(context, request, "its offering may be tried again")
    else:
        context.deadlines.append(ends_at)


def hand_over_to_removal(context: NodeRequestsContext, request: NodeRequest) -> None:
    """The machine must go, which is another request's business; this one goes when that one is seen."""
    name = request.metadata.name
    if why := _why_done(context, request):
        if _is_noted(context, request):
            _delete(context, request, why)
        return
    if context.is_halted:
        context.hold(request, "ClusterUnhealthy", "nothing is removed in an unhealthy cluster")
        return
    met = condition_of(request.status.conditions, MET)
    reason = (met.message if met is not None else "") or "given up"
    context.said.append(asked_to_go(name, request.pool, request.status.provider_id, reason))


def _why_done(context: NodeRequestsContext, request: NodeRequest) -> str:
    """Why nobody has to be asked for the machine's removal; empty if somebody has to be."""
    name = request.metadata.name
    if _works_after_all(context, name):
        # Whoever removes machines leaves this one alone, and would be asked for it again and again.
        return "its node works after all"
    if _is_nothing_left(context, request):
        # A removal that was quicker than its pool's learning is over already.
        return "its machine is gone"
    return "its machine is being removed" if name in context.terminating else ""


def _works_after_all(context: NodeRequestsContext, name: str) -> bool:
    """Whether pods run on its node: it came late, or was seen late. What is bound to one that never was ready does not
    run."""
    node = context.snapshot.nodes.get(name)
    return node is not None and name in context.snapshot.work and (node.is_ready or name not in context.snapshot.closed)


def _is_nothing_left(context: NodeRequestsContext, request: NodeRequest) -> bool:
    """Whether there is no node, and its provider has said since it was given up that there is no machine."""
    if request.metadata.name in context.snapshot.nodes or context.machine_of(request) is not None:
        return False
    return context.has_answered(request, context.phase_since(request) + timedelta(microseconds=1))


def _is_noted(context: NodeRequestsContext, request: NodeRequest) -> bool:
    """Whether its pool has learnt from it, or there is nothing to learn and nobody to do so."""
    pool, failure = context.pools.get(request.pool), context.failure_of(request)
    return pool is None or failure is None or is_noted(failure, pool)


def _delete(context: NodeRequestsContext, request: NodeRequest, why: str) -> None:
    context.said.append(DeleteObject(subject=reference_to(NODE_REQUESTS, request.metadata), why=why))
