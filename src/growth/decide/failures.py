"""What a provider's errors mean for a request: the one table, which docs/growing.md shows and tests follow.

| the provider says | the request | what is left alone | asked again |
|---|---|---|---|
| OutOfStock | Unmet | the offering | when its time is over, or stock is listed |
| QuotaExceeded | Unmet | the provider | when its time is over |
| Unauthorized | Unmet | the provider | when its time is over |
| Invalid | Unmet | the offering | when its time is over |
| RateLimited | stays Pending | nothing | after the time that was asked for |
| Unavailable | stays Pending | nothing | after 1 s, doubling to 60 |
| anything else (a mistake) | stays Pending | nothing | after 1 s, doubling to 60 |

A machine that does not come, or a node that does not become ready in time, leaves its offering alone, too: the next one
would hardly do better.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.noderequest import NodeRequest

MET: Final = "Met"
"""The condition of a request that says whether its machine could be had, and if not, why."""


class Scope(StrEnum):
    """What is left alone after a failure."""

    OFFERING = "offering"
    PROVIDER = "provider"
    NOTHING = "nothing"


# Of errors that end a request.
ENDING: Final = {
    "OutOfStock": Scope.OFFERING,
    "QuotaExceeded": Scope.PROVIDER,
    "Unauthorized": Scope.PROVIDER,
    "Invalid": Scope.OFFERING,
}
NO_MACHINE: Final = "NoMachine"
NO_NODE: Final = "NoNode"
NEVER_READY: Final = "NeverReady"
POOL_GONE: Final = "PoolGone"
_SCOPES: Final = {
    **ENDING,
    NO_MACHINE: Scope.OFFERING,
    NO_NODE: Scope.OFFERING,
    NEVER_READY: Scope.OFFERING,
    POOL_GONE: Scope.NOTHING,
}


class Failure(msgspec.Struct, frozen=True):
    """Something that could not be had."""

    scope: str
    """The offering's id, or the provider's name for all that it sells."""
    at: datetime
    reason: str
    message: str


def failure_of(request: NodeRequest, providers: Iterable[str]) -> Failure | None:
    """What a request that was given up says about its offering; None if it says nothing."""
    status = request.status
    if status.phase not in ("Unmet", "Deprovisioning") or status.phase_since is None:
        return None
    met = next((condition for condition in status.conditions if condition.type == MET), None)
    reason = met.reason if met is not None else NO_MACHINE
    scope = _SCOPES.get(reason, Scope.OFFERING)
    if scope is Scope.NOTHING:
        return None
    offering = request.spec.target_offering
    provider = max((name for name in providers if offering.startswith(f"{name}-")), key=len, default="")
    where = provider if scope is Scope.PROVIDER and provider else offering
    return Failure(where, status.phase_since, reason, met.message if met is not None else "")
