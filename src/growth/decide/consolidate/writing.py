"""A move as it is written: made, and brought into its next phase."""

import hashlib
from datetime import datetime
from typing import Final

import msgspec

from growth.api.action import CreateObject, PatchObject
from growth.api.growth_kinds import NODE_MOVES
from growth.api.nodemove import NodeMove, NodeMoveSpec, NodeMoveStatus
from growth.api.phases import MovePhase
from growth.api.references import reference_by_name, reference_to
from growth.api.status import MAX_WORDS, with_events

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
