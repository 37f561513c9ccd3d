"""Provisioning: wait until the node is what was planned, or until its time is over.

A provider that does not answer proves nothing: a deadline that needs its word waits for it.
"""

from datetime import datetime

from growth.api.action import CreateMachine, Hold, PatchObject
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.machine import request_for
from growth.api.node import Node
from growth.api.noderequest import NodeRequest
from growth.api.outcome import Outcome, Result
from growth.api.references import reference_to
from growth.decide.failures import ENDING, NEVER_READY, NO_MACHINE, NO_NODE, POOL_GONE
from growth.decide.provision.arrival import Arrival, Step, arrival_of
from growth.decide.provision.moves import LABELLED, PROVISIONED, REQUEST_FAILED, moved
from growth.decide.provision.scene import Scene
from growth.decide.registry.unit import NodeState


def await_node(scene: Scene, request: NodeRequest) -> None:
    """What a request needs that is Provisioning."""
    pool = scene.pools.get(request.spec.pool)
    is_drained = pool is not None and pool.metadata.deletion_timestamp is not None
    if pool is not None and is_drained and pool.spec.deletion_policy == "Drain" and not scene.is_halted:
        why = f"pool {request.spec.pool} is being deleted, and its machines with it"
        _give_up(scene, request, POOL_GONE, why, has_machine=True)
        return
    node = scene.snapshot.nodes.get(request.metadata.name)
    if node is None:
        _await_registration(scene, request)
        return
    if is_another_machine(node, request):
        why = f"it is another machine ({node.spec.provider_id}) than its request's ({request.status.provider_id})"
        scene.said.append(Hold(subject=reference_to(NODES, node.metadata), why=why, reason="AnotherMachine"))
        _await_registration(scene, request)
        return
    arrival = arrival_at(scene, node, request)
    ends_at = _registers_by(scene, request) + scene.settings.ready_within
    is_late = scene.now >= ends_at and not scene.is_halted
    if arrival is None and pool is not None and node.is_ready and is_late:
        # Growth was started anew while the provider is silent. The node works, and its pods waited long enough.
        arrival = Arrival(Step.ARRIVED)
    if arrival is None:
        why = f"pool {request.spec.pool} or offering {request.spec.target_offering} is not known now"
        scene.hold(request, "Unknown", why)
        if not is_late:
            scene.deadlines.append(ends_at)
        return
    if arrival.step is Step.UNLABELLED:
        scene.said.append(_labelled(node, arrival))
    if arrival.step is Step.ARRIVED and scene.awaits_memory(node) and not is_late:
        # Its pods have the time that they are given to get there once they can. If memory takes too long, the node
        # stays closed all the same: it works, and is not given up for that.
        scene.deadlines.append(ends_at)
    elif arrival.step is Step.ARRIVED or (arrival.step is Step.INCOMPLETE and is_late):
        _arrived(scene, request, arrival)
    elif is_late:
        _give_up(scene, request, NEVER_READY, f"its node is not ready in time: {arrival.step}", has_machine=True)
    else:
        scene.deadlines.append(ends_at)


def is_another_machine(node: Node, request: NodeRequest) -> bool:
    """Whether the node bears the request's name, but runs on a machine that is not the request's."""
    theirs, ours = node.spec.provider_id, request.status.provider_id
    return bool(theirs and ours and theirs != ours)


def arrival_at(scene: Scene, node: Node, request: NodeRequest) -> Arrival | None:
    """How far the request's node is; None as long as nobody can say what it should be.

    One of an offering that is not sold any more is taken as it is: it cannot be compared, and it works.
    """
    name = request.metadata.name
    if name not in scene.arrivals:
        scene.arrivals[name] = _arrival_at(scene, node, request)
    return scene.arrivals[name]


def _arrival_at(scene: Scene, node: Node, request: NodeRequest) -> Arrival | None:
    pool, offering = scene.pools.get(request.spec.pool), scene.offering_of(request)
    if pool is None or (offering is None and not scene.knows_what_is_sold):
        return None
    if offering is None:
        return Arrival(Step.ARRIVED if node.is_ready else Step.NOT_READY)
    return arrival_of(node, request_for(request.metadata.name, pool, offering), pool)


def _registers_by(scene: Scene, request: NodeRequest) -> datetime:
    return scene.since(request) + scene.settings.machine_within


def _await_registration(scene: Scene, request: NodeRequest) -> None:
    if failed := _half_way(scene, request):
        reason = failed.error if failed.error in ENDING else NO_MACHINE
        _give_up(scene, request, reason, failed.message, has_machine=False)
        return
    unit = scene.cluster.request_unit(request.metadata.name)
    if unit is None:
        return
    if unit.state is NodeState.NEVER_CREATED:
        _give_up(scene, request, NO_MACHINE, unit.why, has_machine=False)
    elif unit.state is NodeState.NEVER_REGISTERED:
        giving_up = _given_up(scene, request, NO_NODE, unit.why, has_machine=True)
        scene.unregistered.append((unit.since or scene.now, unit.name, unit.pool, giving_up))
    elif unit.changes_at is not None:
        scene.deadlines.append(unit.changes_at)
    elif unit.why:
        scene.hold(request, "ProviderSilent", unit.why)


def _half_way(scene: Scene, request: NodeRequest) -> Outcome | None:
    """How its purchase ended, if its machine was seen, failed to come about after that, and is not there any more.

    Without that word one would wait for it as long as for a machine that is merely late.
    """
    outcome = scene.state.outcome_of(CreateMachine, reference_to(NODE_REQUESTS, request.metadata))
    if outcome is None or outcome.result not in (Result.REFUSED, Result.FAILED) or scene.is_halted:
        return None
    is_later = request.status.phase_since is not None and outcome.at >= request.status.phase_since
    is_gone = scene.machine_of(request) is None and scene.has_answered(request, outcome.at)
    return outcome if is_later and is_gone else None


def _arrived(scene: Scene, request: NodeRequest, arrival: Arrival) -> None:
    lacks = f"without {', '.join(arrival.resources)}" if arrival.resources else ""
    events = ((PROVISIONED, ""), (LABELLED, lacks))
    scene.said.append(moved(request, "Ready", scene.now, "its node is what was planned", events=events))


def _give_up(scene: Scene, request: NodeRequest, reason: str, why: str, *, has_machine: bool) -> None:
    scene.said.append(_given_up(scene, request, reason, why, has_machine=has_machine))


def _given_up(scene: Scene, request: NodeRequest, reason: str, why: str, *, has_machine: bool) -> PatchObject:
    """A machine that is there must be removed; without one there is nothing left to do."""
    events = ((REQUEST_FAILED, f"{reason}: {why}"),)
    phase = "Deprovisioning" if has_machine else "Unmet"
    return moved(request, phase, scene.now, why, events=events, met=("False", reason, why))


def _labelled(node: Node, arrival: Arrival) -> PatchObject:
    names = ", ".join(sorted(arrival.labels))
    return PatchObject(
        subject=reference_to(NODES, node.metadata),
        why=f"it lacks labels that the plan counts on: {names}",
        body={"metadata": {"labels": arrival.labels}},
    )
