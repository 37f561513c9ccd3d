"""The name of a request, of its machine and of its node: it follows from what is wanted.

So whoever decides the same decides on the same name, and two leaders, or one that was interrupted, cannot buy twice.

A request's next phase, as it is written: phase, since when, what happened, and whether its machine could be had.
"""

import hashlib
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from growth.api.actions import PatchObject
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest, NodeRequestStatus
from growth.api.phases import RequestPhase
from growth.api.references import reference_to
from growth.api.status import MAX_WORDS, StatusCondition, with_condition, with_events
from growth.decide.capacity.provider_failures import MET

_HEX_DIGITS: Final = 10


def request_name(pool: NodePool, offering: str, wanted_by: Iterable[str], taken: Collection[str]) -> str:
    """``{pool}-{10 hex}``, of the pool's uid, the offering, who wants it, and the first number that is not taken.

    A name is taken by a request, a removal, a node or a machine: an earlier purchase for the same pods that failed.
    """
    wanted = ",".join(sorted(wanted_by))
    ordinal = 0
    while True:
        text = "\0".join((pool.metadata.uid, offering, wanted, str(ordinal)))
        name = f"{pool.metadata.name}-{hashlib.sha256(text.encode()).hexdigest()[:_HEX_DIGITS]}"
        if name not in taken:
            return name
        ordinal += 1


# The seed's names.
REQUESTED: Final = "nodeRequested"
REQUEST_FAILED: Final = "nodeRequestFailed"
PROVISIONED: Final = "nodeProvisioned"
LABELLED: Final = "nodeLabelled"


def moved(
    request: NodeRequest,
    phase: RequestPhase,
    now: datetime,
    why: str,
    *,
    events: tuple[tuple[str, str], ...] = (),
    met: tuple[Literal["True", "False"], str, str] | None = None,
    provider_id: str = "",
) -> PatchObject:
    """Bring the request into a phase; ``events`` are names with reasons, ``met`` is status, reason and message."""
    status = request.status
    conditions = status.conditions
    if met is not None:
        conditions = with_condition(conditions, StatusCondition(MET, met[0], met[1], met[2][:MAX_WORDS], now))
    new = NodeRequestStatus(
        phase=phase,
        phase_since=now if phase != status.phase or status.phase_since is None else status.phase_since,
        provider_id=provider_id or status.provider_id,
        conditions=conditions,
        events=with_events(status.events, now, events),
    )
    body: dict[str, Any] = {"status": msgspec.to_builtins(new)}
    return PatchObject(
        subject=reference_to(NODE_REQUESTS, request.metadata),
        why=why,
        body=body,
        subresource="status",
        resource_version=request.metadata.resource_version,
    )


def owned_by(pool: NodePool) -> dict[str, str]:
    """The owner of every request: without its pool it means nothing."""
    meta = pool.metadata
    return {"apiVersion": NODE_POOLS.api_version, "kind": NODE_POOLS.name, "name": meta.name, "uid": meta.uid}
