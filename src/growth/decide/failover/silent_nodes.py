"""Who is silent, and what is known about them: cases are opened, kept up and closed.

A node is silent if its Lease has missed two renewals. One that Kubernetes has not heard of for long (Ready is Unknown),
and whose Lease was not seen to be renewed since this process looks, is silent, too; one that is unready and renews its
Lease is not: its kubelet lives.
"""

from collections.abc import Iterator
from datetime import datetime

import msgspec

from growth.api.actions import FenceMachine, Outcome, ReadPower, ReadPowers, Result
from growth.api.machine import PowerReading
from growth.api.node import Node
from growth.api.out_of_service import out_of_service_taint
from growth.decide.elapsed import counts_from, is_ahead
from growth.decide.failover.context import IN_THE_WAY, FailoverContext, reference
from growth.decide.failover.evidence import NodeCase
from growth.decide.failover.machine_lookup import MachineLocation
from growth.decide.failover.power_queries import provider_reference


def follow_evidence(context: FailoverContext) -> None:
    """What is known about each silent node now."""
    for node, last_sign in _silent(context):
        context.unreachable.add(node.metadata.uid)
        if node.metadata.name in context.terminating:
            continue  # its machine is being given back
        if context.is_foreign(node) and not context.terms.foreign_nodes:
            continue
        context.cases[node.metadata.uid] = _with_answers(context, node, _known(context, node, last_sign))
        _keep_fencing(context, node)
    if (next_silence := context.snapshot.heartbeats.next_silence(context.now)) is not None:
        context.remind(next_silence)


def _keep_fencing(context: FailoverContext, node: Node) -> None:
    """Whose machine was powered off by us, and who is yet to be taken out of service."""
    uid = node.metadata.uid
    begun_at = context.carry.fencing.get(uid)
    if begun_at is None or out_of_service_taint(node) is not None:
        return
    if is_ahead(begun_at + IN_THE_WAY, context.now, IN_THE_WAY):
        context.fencing[uid] = begun_at


def _silent(context: FailoverContext) -> Iterator[tuple[Node, datetime | None]]:
    """Silent nodes, each with its last sign of life; None if nobody knows when that was."""
    snapshot = context.snapshot
    troubled = [unit for units in context.cluster.troubled.values() for unit in units]
    # One that boots has said nothing yet, and so is not silent.
    unready = [unit.name for unit in troubled if not unit.is_ready and not unit.is_booting]
    for name in dict.fromkeys((*snapshot.heartbeats.silent(context.now), *unready)):
        node, heartbeat = snapshot.nodes.get(name), snapshot.heartbeats.of(name)
        if node is None:
            continue
        if heartbeat is None:
            if _is_given_up(node):
                yield node, None
            continue
        # A clock that jumped tells nobody for how long it has been silent.
        last_sign = counts_from(heartbeat.heard_at, context.now, context.clock.even_since)
        # One whose Lease was only found as it was may be silent for longer than this process looks: others know.
        is_known = not heartbeat.is_renewal and _is_given_up(node)
        if is_known or context.now - last_sign >= heartbeat.silent_after:
            yield node, last_sign
        else:
            context.remind(last_sign + heartbeat.silent_after)


def _is_given_up(node: Node) -> bool:
    """Whether Kubernetes has not heard of it for long. A kubelet that says itself that it is not ready lives."""
    ready = next((one.status for one in node.status.conditions if one.type == "Ready"), "False")
    return ready not in ("True", "False")


def _known(context: FailoverContext, node: Node, last_sign: datetime | None) -> NodeCase:
    """The case so far. Another machine under the same node is another case."""
    before, meta = context.carry.cases.get(node.metadata.uid), node.metadata
    if before is None or before.provider_id != node.spec.provider_id or before.last_sign > context.now:
        # What was answered before this process looked is nothing that it has seen; and who registers lives.
        born = min(meta.creation_timestamp or context.now, context.now)
        sign = context.now if last_sign is None else max(last_sign, born)
        return NodeCase(meta.name, meta.uid, node.spec.provider_id, sign, context.now)
    sign = context.clock.even_since if last_sign is None else last_sign
    return before if sign is None else before.observed(sign)


def _with_answers(context: FailoverContext, node: Node, case: NodeCase) -> NodeCase:
    """With all that its provider said since, in the order in which it was read."""
    for reading in sorted(_readings(context, node, case), key=lambda one: one.read_at):
        if reading.read_at <= context.now:
            case = case.told(reading)
    outcome = context.outcomes.latest(ReadPower, reference(node))
    if outcome is not None and isinstance(outcome.action, ReadPower):
        case = msgspec.structs.replace(case, answered_at=outcome.action.asked_at)
    return case


def _readings(context: FailoverContext, node: Node, case: NodeCase) -> Iterator[PowerReading]:
    place = context.machines.place(case.provider_id)
    if place is None:
        return
    if (listed := context.machines.reading(case.provider_id)) is not None:
        yield listed
    for action in (ReadPower, FenceMachine):
        for reading in _answered(context.outcomes.latest(action, reference(node))):
            if reading.machine_id == place.machine_id:
                yield reading
    if (reading := _in_list(context, place)) is not None:
        yield reading


def _in_list(context: FailoverContext, place: MachineLocation) -> PowerReading | None:
    """What the last list says that was asked for; of many suspects each asks, so it is taken apart once."""
    if place.provider not in context.listings:
        outcome = context.outcomes.latest(ReadPowers, provider_reference(place.provider))
        context.listings[place.provider] = {reading.machine_id: reading for reading in _answered(outcome)}
    return context.listings[place.provider].get(place.machine_id)


def _answered(outcome: Outcome | None) -> tuple[PowerReading, ...]:
    return outcome.readings if outcome is not None and outcome.result is Result.DONE else ()
