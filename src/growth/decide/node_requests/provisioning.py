"""Provisioning: wait until the node is what was planned, or until its time is over.

A provider that does not answer proves nothing: a deadline that needs its word waits for it.

Machines that never registered go one by one, the oldest first (UC5): they may all be late for one reason.

Of each pool one goes at a time; the next one when the machine of the last is gone. Meanwhile one that registers after
all is used.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

from growth.api.actions import CreateMachine, Hold, Outcome, PatchObject, RecordEvent, Result
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES, PODS
from growth.api.machine import request_for
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.provider_state import cloud_of
from growth.api.references import reference_by_name, reference_to
from growth.decide.capacity.node_startup import NodeStartup, StartupStep, arrival_of
from growth.decide.capacity.provider_failures import (
    ENDING,
    LAUNCHED,
    MACHINE_GONE,
    NEVER_READY,
    NO_MACHINE,
    NO_NODE,
    POOL_GONE,
)
from growth.decide.node_requests.context import NodeRequestsContext
from growth.decide.writes.node_requests import LABELLED, PROVISIONED, REQUEST_FAILED, moved


def await_node(context: NodeRequestsContext, request: NodeRequest) -> None:
    """What a request needs that is Provisioning."""
    pool = context.pools.get(request.pool)
    is_drained = pool is not None and pool.metadata.deletion_timestamp is not None
    if pool is not None and is_drained and pool.spec.deletion_policy == "Drain" and not context.is_halted:
        why = f"pool {request.pool} is being deleted, and its machines with it"
        _give_up(context, request, POOL_GONE, why, has_machine=True)
        return
    node = context.snapshot.nodes.get(request.metadata.name)
    if node is None:
        is_ending = _await_registration(context, request)
        if not is_ending and context.machine_of(request) is not None:
            _note(context, request, PROVISIONED, "the provider lists its machine")
        return
    if is_another_machine(node, request):
        why = f"it is another machine ({node.spec.provider_id}) than its request's ({request.status.provider_id})"
        context.said.append(Hold(subject=reference_to(NODES, node.metadata), why=why, reason="AnotherMachine"))
        _await_registration(context, request)
        return
    arrival = arrival_at(context, node, request)
    ends_at = _registers_by(context, request) + context.terms.ready_within
    is_late = context.now >= ends_at and not context.is_halted
    if arrival is None and pool is not None and node.is_ready and is_late:
        # Growth was started anew while the provider is silent. The node works, and its pods waited long enough.
        arrival = NodeStartup(StartupStep.ARRIVED)
    if arrival is None:
        why = f"pool {request.pool} or offering {request.spec.target_offering} is not known now"
        context.hold(request, "Unknown", why)
        if not is_late:
            context.deadlines.append(ends_at)
        return
    if arrival.step is StartupStep.UNLABELLED:
        context.said.append(_labelled(node, arrival))
    if arrival.step is StartupStep.ARRIVED and context.awaits_memory(node) and not is_late:
        # Its pods have the time that they are given to get there once they can. If memory takes too long, the node
        # stays closed all the same: it works, and is not given up for that.
        context.deadlines.append(ends_at)
    elif arrival.step is StartupStep.ARRIVED or (arrival.step is StartupStep.INCOMPLETE and is_late):
        _arrived(context, request, arrival)
    elif is_late:
        _give_up(context, request, NEVER_READY, f"its node is not ready in time: {arrival.step}", has_machine=True)
    else:
        names = (PROVISIONED,) if arrival.step is StartupStep.UNLABELLED else (PROVISIONED, LABELLED)
        _note(context, request, *names, "its node registered")
        context.deadlines.append(ends_at)


def is_another_machine(node: Node, request: NodeRequest) -> bool:
    """Whether the node bears the request's name, but runs on a machine that is not the request's."""
    theirs, ours = node.spec.provider_id, request.status.provider_id
    return bool(theirs and ours and theirs != ours)


def arrival_at(context: NodeRequestsContext, node: Node, request: NodeRequest) -> NodeStartup | None:
    """How far the request's node is; None as long as nobody can say what it should be.

    One of an offering that is not sold any more is taken as it is: it cannot be compared, and it works.
    """
    name = request.metadata.name
    if name not in context.arrivals:
        context.arrivals[name] = _arrival_at(context, node, request)
    return context.arrivals[name]


def _arrival_at(context: NodeRequestsContext, node: Node, request: NodeRequest) -> NodeStartup | None:
    pool, offering = context.pools.get(request.pool), context.offering_of(request)
    if pool is None or (offering is None and not context.knows_what_is_sold):
        return None
    if offering is None:
        return NodeStartup(StartupStep.ARRIVED if node.is_ready else StartupStep.NOT_READY)
    return arrival_of(node, request_for(request.metadata.name, pool, offering), pool)


def _note(context: NodeRequestsContext, request: NodeRequest, *names_and_why: str) -> None:
    """Record what happened on the way to the node, each once, in the pass in which it is first seen."""
    *names, why = names_and_why
    new = _missing(request, names)
    if new:
        context.said.append(
            moved(request, request.status.phase, context.now, why, events=tuple((one, "") for one in new))
        )


def _missing(request: NodeRequest, names: Iterable[str]) -> list[str]:
    known = {event.name for event in request.status.events}
    return [name for name in names if name not in known]


def _registers_by(context: NodeRequestsContext, request: NodeRequest) -> datetime:
    return context.phase_since(request) + context.terms.machine_within


def _await_registration(context: NodeRequestsContext, request: NodeRequest) -> bool:
    """What a request needs whose node is not there; whether it ends."""
    if failed := _half_way(context, request):
        reason = failed.error if failed.error in ENDING else NO_MACHINE
        _give_up(context, request, reason, failed.message, has_machine=False)
        return True
    if _is_gone(context, request):
        why = "its provider listed its machine, and lists it no more"
        _give_up(context, request, MACHINE_GONE, why, has_machine=False)
        return True
    unit = context.cluster.request_unit(request.metadata.name)
    if unit is None:
        return False
    if unit.was_never_created:
        _give_up(context, request, MACHINE_GONE, unit.why, has_machine=False)
    elif unit.never_registered:
        giving_up = _given_up(context, request, NO_NODE, unit.why, has_machine=True)
        context.unregistered.append((unit.since or context.now, unit.name, unit.pool, giving_up))
        context.said += tell_pods(context, request, NO_NODE, unit.why)
    elif unit.changes_at is not None:
        context.deadlines.append(unit.changes_at)
    elif unit.why:
        context.hold(request, "ProviderSilent", unit.why)
    return unit.was_never_created or unit.never_registered


def _is_gone(context: NodeRequestsContext, request: NodeRequest) -> bool:
    """Whether its machine vanished while it booted: it was listed, and two lists in a row are without it."""
    cloud = cloud_of(request.spec.target_offering, context.snapshot.clouds)
    if cloud is None or not cloud.answers or cloud.read_at is None or context.is_halted:
        return False
    if context.machine_of(request) is not None or _missing(request, (PROVISIONED,)):
        return False
    first_missing = context.missing_at.get(request.metadata.uid, cloud.read_at)
    context.missing_now[request.metadata.uid] = min(first_missing, cloud.read_at)
    return cloud.read_at > first_missing


def _half_way(context: NodeRequestsContext, request: NodeRequest) -> Outcome | None:
    """How its purchase ended, if its machine was seen, failed to come about after that, and is not there any more.

    Without that word one would wait for it as long as for a machine that is merely late.
    """
    outcome = context.outcomes.latest(CreateMachine, reference_to(NODE_REQUESTS, request.metadata))
    if outcome is None or outcome.result not in (Result.REFUSED, Result.FAILED) or context.is_halted:
        return None
    is_later = request.status.phase_since is not None and outcome.at >= request.status.phase_since
    is_gone = context.machine_of(request) is None and context.has_answered(request, outcome.at)
    return outcome if is_later and is_gone else None


def _arrived(context: NodeRequestsContext, request: NodeRequest, arrival: NodeStartup) -> None:
    lacks = f"without {', '.join(arrival.resources)}" if arrival.resources else ""
    labelled = ((LABELLED, lacks),) if lacks or _missing(request, (LABELLED,)) else ()
    events = (*((name, "") for name in _missing(request, (PROVISIONED,))), *labelled)
    context.said.append(moved(request, "Ready", context.now, "its node is what was planned", events=events))


def _give_up(context: NodeRequestsContext, request: NodeRequest, reason: str, why: str, *, has_machine: bool) -> None:
    context.said.append(_given_up(context, request, reason, why, has_machine=has_machine))
    context.said += tell_pods(context, request, reason, why)


def tell_pods(context: NodeRequestsContext, request: NodeRequest, reason: str, why: str) -> Iterator[RecordEvent]:
    """Tell the pods that the machine was launched for, once for each cause: the machine itself is not named."""
    if reason not in LAUNCHED:
        return
    note = f"a machine of {request.spec.target_offering} that was launched for it never worked ({reason}: {why})"
    for uid in request.planned_for:
        pod = context.snapshot.waiting.get(uid)
        if pod is not None:
            subject = reference_to(PODS, pod.metadata)
            yield RecordEvent(subject=subject, why=note, type="Warning", reason="LaunchFailed", action="Launching")


def _given_up(
    context: NodeRequestsContext, request: NodeRequest, reason: str, why: str, *, has_machine: bool
) -> PatchObject:
    """A machine that is there must be removed; without one there is nothing left to do."""
    events = ((REQUEST_FAILED, f"{reason}: {why}"),)
    phase = "Deprovisioning" if has_machine else "Unmet"
    return moved(request, phase, context.now, why, events=events, met=("False", reason, why))


def _labelled(node: Node, arrival: NodeStartup) -> PatchObject:
    names = ", ".join(sorted(arrival.labels))
    return PatchObject(
        subject=reference_to(NODES, node.metadata),
        why=f"it lacks labels that the plan counts on: {names}",
        body={"metadata": {"labels": arrival.labels}},
    )


def give_up_unregistered(context: NodeRequestsContext) -> None:
    """Say what becomes of those that were found in this pass."""
    if not context.unregistered:
        return
    terminating = context.cluster.terminating_units
    busy = {unit.pool: unit.name for unit in terminating if not unit.has_node and unit.has_machine}
    for _, name, pool, giving_up in sorted(context.unregistered, key=lambda one: one[:2]):
        if pool in busy:
            why = f"its machine never registered; it goes when {busy[pool]} is gone"
            context.said.append(Hold(subject=reference_by_name(NODE_REQUESTS, name), why=why, reason="OneByOne"))
        else:
            busy[pool] = name
            context.said.append(giving_up)
