"""Who is silent, and what is known about them: cases are opened, kept up and closed.

A node is silent if its Lease has missed two renewals. One that Kubernetes calls unready, and whose Lease was not seen
to be renewed since this process looks, is silent, too; one that is unready and renews its Lease is not: its kubelet
lives.
"""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from growth.api.action import FenceMachine, ReadPower, ReadPowers
from growth.api.machine import PowerReading
from growth.api.node import Node
from growth.api.outcome import Outcome, Result
from growth.decide.failover.asking import provider_reference
from growth.decide.failover.evidence import Case
from growth.decide.failover.scene import Scene, reference
from growth.decide.registry.unit import NodeState


def follow_evidence(scene: Scene) -> None:
    """What is known about each silent node now."""
    for node, last_sign in _silent(scene):
        scene.silent.add(node.metadata.uid)
        if node.metadata.name in scene.leaving:
            continue  # its machine is being given back
        if scene.is_foreign(node) and not scene.terms.foreign_nodes:
            continue
        scene.cases[node.metadata.uid] = _with_answers(scene, node, _known(scene, node, last_sign))
    if (next_silence := scene.snapshot.heartbeats.next_silence(scene.now)) is not None:
        scene.remind(next_silence)


def _silent(scene: Scene) -> Iterator[tuple[Node, datetime | None]]:
    """Silent nodes, each with its last sign of life; None if nobody knows when that was."""
    snapshot, steady_since = scene.snapshot, scene.state.steady_since
    troubled = [unit for units in scene.cluster.troubled.values() for unit in units]
    # One that boots has said nothing yet, and so is not silent.
    unready = [unit.name for unit in troubled if not unit.is_ready and unit.state is not NodeState.BOOTING]
    for name in dict.fromkeys((*snapshot.heartbeats.silent(scene.now), *unready)):
        node, heartbeat = snapshot.nodes.get(name), snapshot.heartbeats.of(name)
        if node is None:
            continue
        if heartbeat is None or not heartbeat.is_renewal:
            # Nothing was heard of it since this process looks; others say that it is unready, or it is silent by now.
            if not node.is_ready or (heartbeat is not None and heartbeat.is_silent(scene.now)):
                yield node, None
            continue
        # A clock that jumped tells nobody for how long it has been silent.
        last_sign = heartbeat.heard_at if steady_since is None else max(heartbeat.heard_at, steady_since)
        if scene.now - last_sign >= heartbeat.silent_after:
            yield node, last_sign
        else:
            scene.remind(last_sign + heartbeat.silent_after)


def _known(scene: Scene, node: Node, last_sign: datetime | None) -> Case:
    """The case so far. Another machine under the same node is another case."""
    before = scene.memory.cases.get(node.metadata.uid)
    if before is None or before.provider_id != node.spec.provider_id or before.last_sign > scene.now:
        # What was answered before this process looked is nothing that it has seen.
        sign = scene.now if last_sign is None else last_sign
        return Case(node.metadata.name, node.metadata.uid, node.spec.provider_id, sign, scene.now)
    return before if last_sign is None else before.heard(last_sign)


def _with_answers(scene: Scene, node: Node, case: Case) -> Case:
    """With all that its provider said since, in the order in which it was read."""
    for reading in sorted(_readings(scene, node, case), key=lambda one: one.read_at):
        if reading.read_at <= scene.now:
            case = case.told(reading)
    outcome = scene.state.outcome_of(ReadPower, reference(node))
    if outcome is not None and isinstance(outcome.action, ReadPower):
        case = msgspec.structs.replace(case, answered_at=outcome.action.asked_at)
    return case


def _readings(scene: Scene, node: Node, case: Case) -> Iterator[PowerReading]:
    place = scene.machines.place(case.provider_id)
    if place is None:
        return
    if (listed := scene.machines.reading(case.provider_id)) is not None:
        yield listed
    for action in (ReadPower, FenceMachine):
        for reading in _answered(scene.state.outcome_of(action, reference(node))):
            if reading.machine_id == place.machine_id:
                yield reading
    listing = scene.state.outcome_of(ReadPowers, provider_reference(place.provider))
    yield from (reading for reading in _answered(listing) if reading.machine_id == place.machine_id)


def _answered(outcome: Outcome | None) -> tuple[PowerReading, ...]:
    return outcome.readings if outcome is not None and outcome.result is Result.DONE else ()
