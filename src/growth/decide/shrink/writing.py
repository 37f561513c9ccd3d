"""A removal's next phase, as it is written."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.actions import PatchObject
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.node_removal_request import NodeRemovalRequest, NodeRemovalRequestStatus
from growth.api.phases import RemovalPhase
from growth.api.references import reference_to
from growth.api.status import with_events

# The seed's names.
DELETION_REQUESTED: Final = "Deletion requested"
DELETION_FAILED: Final = "Deletion failed"


def moved(
    removal: NodeRemovalRequest,
    phase: RemovalPhase,
    at: datetime,
    why: str,
    *,
    events: Sequence[tuple[str, str]] = (),
    attempt: int | None = None,
    attempted_at: datetime | None = None,
) -> PatchObject:
    """Bring the removal into a phase; ``events`` are names with reasons, what is not given stays."""
    status = removal.status
    new = NodeRemovalRequestStatus(
        phase=phase,
        removal_attempt=status.removal_attempt if attempt is None else attempt,
        remove_attempted_at=attempted_at or status.remove_attempted_at,
        events=with_events(status.events, at, events),
    )
    return PatchObject(
        subject=reference_to(NODE_REMOVAL_REQUESTS, removal.metadata),
        why=why,
        body={"status": msgspec.to_builtins(new)},
        subresource="status",
        resource_version=removal.metadata.resource_version,
    )
