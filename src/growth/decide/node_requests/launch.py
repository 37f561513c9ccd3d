"""Pending: ask for the machine until there is one, or until the answer says that there will be none.

What an error means is the table in ``decide.capacity.provider_failures``. A request that nobody asked about is never
given up: its time counts from the first trouble with it, however long nobody led.
"""

from growth.api.actions import CreateMachine, Outcome, Result
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.machine import Machine, request_for
from growth.api.node_request import NodeRequest
from growth.api.references import reference_to
from growth.decide.capacity.provider_failures import ENDING, LIMIT_REACHED, NO_MACHINE, POOL_GONE, POOL_UNCLEAR
from growth.decide.node_requests.context import NodeRequestsContext
from growth.decide.writes.node_requests import REQUEST_FAILED, REQUESTED, moved


def launch(context: NodeRequestsContext, request: NodeRequest) -> None:
    """What a request needs that is Pending."""
    subject = reference_to(NODE_REQUESTS, request.metadata)
    outcome = context.outcomes.latest(CreateMachine, subject)
    machine = context.machine_of(request) or _bought(outcome)
    pool = context.pools.get(request.pool)
    offering = context.offering_of(request)
    if machine is not None:
        _accepted(context, request, machine)
    elif problem := request.pool_problem:
        _give_up(context, request, POOL_UNCLEAR, problem)
    elif context.is_halted:
        context.hold(request, "ClusterUnhealthy", "nothing is launched in an unhealthy cluster")
    elif pool is None or pool.metadata.deletion_timestamp is not None:
        _give_up(context, request, POOL_GONE, f"pool {request.pool} is gone or going: nothing is bought for it")
    elif why := context.too_many.get(request.metadata.name):
        _give_up(context, request, LIMIT_REACHED, f"it would be too much: {why}")
    elif outcome is not None and outcome.result is Result.REFUSED and outcome.error in ENDING:
        _give_up(context, request, outcome.error, outcome.message, was_asked=True)
    elif context.was_never_created(request) and (outcome is not None or offering is None):
        # Also if nobody can say any more what it is: until it is given up, nobody plans (step 4).
        why = "its provider had no machine of this name in time"
        _give_up(context, request, NO_MACHINE, why, was_asked=True)
    elif offering is None:
        _miss_in_catalogue(context, request)
    else:
        _note_trouble(context, request, outcome)
        context.said.append(
            CreateMachine(
                subject=subject,
                why=f"the request is new: {offering.id} for pool {pool.metadata.name}",
                provider=offering.provider,
                request=request_for(request.metadata.name, pool, offering, uid=request.metadata.uid),
            )
        )


def _bought(outcome: Outcome | None) -> Machine | None:
    return outcome.machine if outcome is not None and outcome.result is Result.DONE else None


def _accepted(context: NodeRequestsContext, request: NodeRequest, machine: Machine) -> None:
    context.said.append(
        moved(
            request,
            "Provisioning",
            context.now,
            f"the provider has the machine {machine.id}",
            events=_asked(request),
            met=("True", "Accepted", f"machine {machine.id}"),
            provider_id=machine.provider_id,
        )
    )


def _asked(request: NodeRequest) -> tuple[tuple[str, str], ...]:
    """That the provider was asked, and for more than those need who wait, unless the history says so already."""
    if any(event.name == REQUESTED for event in request.status.events):
        return ()
    return ((REQUESTED, "with room for those who follow: more and more is wanted" if request.foresees else ""),)


def _give_up(
    context: NodeRequestsContext, request: NodeRequest, reason: str, message: str, *, was_asked: bool = False
) -> None:
    asked = _asked(request) if was_asked else ()
    context.said.append(
        moved(
            request,
            "Unmet",
            context.now,
            message,
            events=(*asked, (REQUEST_FAILED, f"{reason}: {message}")),
            met=("False", reason, message),
        )
    )


def _miss_in_catalogue(context: NodeRequestsContext, request: NodeRequest) -> None:
    """Nobody sells what is asked for: either no provider has answered yet, or it is a name that does not exist."""
    if context.knows_what_is_sold:
        what = request.spec.target_offering
        _give_up(context, request, "Invalid", f"spec.targetOffering is {what!r}, which no enabled provider sells")
    else:
        context.hold(request, "ProviderSilent", "no provider has said yet what it sells")


def _note_trouble(context: NodeRequestsContext, request: NodeRequest, outcome: Outcome | None) -> None:
    """An error that may pass is noted once, by its name: its words may hold the number of each single question."""
    if request.status.phase_since is not None:
        context.deadlines.append(context.phase_since(request) + context.terms.machine_within)
    if outcome is None or outcome.result not in (Result.REFUSED, Result.FAILED):
        return
    last = request.status.events[-1] if request.status.events else None
    if last is None or last.name != REQUEST_FAILED or not last.reason.startswith(f"{outcome.error}:"):
        words = f"{outcome.error}: {outcome.message}"
        events = (*_asked(request), (REQUEST_FAILED, words))
        context.said.append(moved(request, "Pending", context.now, words, events=events))
