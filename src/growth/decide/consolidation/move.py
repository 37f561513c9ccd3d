"""A move as it is written: made, and brought into its next phase."""

import hashlib
from datetime import datetime
from typing import Final

import msgspec

from growth.api.actions import CreateObject, PatchObject
from growth.api.disruption import Reason
from growth.api.growth_kinds import NODE_MOVES
from growth.api.node_move import NodeMove, NodeMoveSpec, NodeMoveStatus, Purchase
from growth.api.phases import MovePhase
from growth.api.references import reference_by_name, reference_to
from growth.api.status import MAX_WORDS, with_events
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.problem import Move
from growth.decide.writes.node_requests import request_name

MOVE: Final = "growth.dev/move"
"""Annotation of a NodeRequest: the move for which it was made."""

_HEX_DIGITS: Final = 10


def made(spec: NodeMoveSpec) -> CreateObject:
    """A move is decided. Its name follows from what goes and what is bought, so that two leaders decide on the same."""
    text = "\0".join((spec.reason, *sorted(spec.nodes), "", *sorted(one.name for one in spec.buys)))
    name = f"move-{hashlib.sha256(text.encode()).hexdigest()[:_HEX_DIGITS]}"
    return CreateObject(
        subject=reference_by_name(NODE_MOVES, name), why=spec.why, body={"spec": msgspec.to_builtins(spec)}
    )


def spec_of(context: ConsolidationContext, move: Move, reason: Reason = "Cheaper", why: str = "") -> NodeMoveSpec:
    """A move as it is written down, with names for what is bought: nothing in the cluster has them yet. One that is
    made for money says itself why."""
    snapshot = context.snapshot
    machines = (machine.name for cloud in snapshot.clouds.values() for machine in cloud.machines)
    taken = {*context.requests, *context.terminating, *snapshot.nodes, *machines}
    buys: list[Purchase] = []
    for one in move.launching:
        name = request_name(one.pool, one.offering.id, (pod.metadata.uid for pod in one.pods), taken)
        taken.add(name)
        buys.append(Purchase(name, one.pool.metadata.name, one.offering.id))
    return NodeMoveSpec(
        reason=reason,
        why=(why or _sentence(move))[:MAX_WORDS],
        nodes=move.terminating,
        buys=tuple(buys),
        saves_per_hour=f"{move.saves_per_hour:.6f}".rstrip("0").rstrip("."),
    )


def _sentence(move: Move) -> str:
    terminating = "a node" if len(move.terminating) == 1 else f"{len(move.terminating)} nodes"
    types = sorted(one.offering.server_type for one in move.launching)
    instead = (
        f"{', '.join(types)} cost less" if types else "its pods fit elsewhere" if move.to else "nothing works there"
    )
    return f"{terminating} for {move.before_per_hour:.4g} an hour: {instead}, {move.saves_per_hour:.4g} is saved"


def into(move: NodeMove, phase: MovePhase, at: datetime, why: str) -> PatchObject:
    """Bring a move into a phase."""
    status = NodeMoveStatus(
        phase=phase,
        phase_since=at,
        message=why[:MAX_WORDS],
        events=with_events(move.status.events, at, [(phase, why)]),
    )
    return PatchObject(
        subject=reference_to(NODE_MOVES, move.metadata),
        why=why,
        body={"status": msgspec.to_builtins(status)},
        subresource="status",
        resource_version=move.metadata.resource_version,
    )
