"""What a provider's errors mean for a request: the one table, which docs/growing.md shows and tests follow."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.node_request import NodeRequest
from growth.api.offering import family_of
from growth.api.phases import RequestPhase
from growth.api.settings.model import ProvisionSettings
from growth.api.status import condition_of
from growth.decide.elapsed import CLOCKS_DIFFER

MET: Final = "Met"
"""The condition of a request that says whether its machine could be had, and if not, why."""
NO_MACHINE: Final = "NoMachine"
NO_NODE: Final = "NoNode"
NEVER_READY: Final = "NeverReady"
MACHINE_GONE: Final = "MachineGone"
POOL_GONE: Final = "PoolGone"
POOL_UNCLEAR: Final = "PoolUnclear"
LIMIT_REACHED: Final = "LimitReached"


class BackoffScope(StrEnum):
    """What is left alone after a failure."""

    OFFERING = "the offering"
    FAMILY = "its family of types"
    PROVIDER = "the provider"
    POOLS_OWN = "the offering, for its pool"
    """What is asked for is wrong, and each pool asks for something else."""
    LAUNCHES = "the server type, for its pool"
    """The machine was launched and never worked (``decide.capacity.launch_failures``)."""
    NOTHING = "nothing"


class FailureConsequence(msgspec.Struct, frozen=True):
    """What follows from an error, or from a wait that was too long."""

    error: str
    """What an Outcome or the request's condition calls it."""
    phase: RequestPhase
    leaves_alone: BackoffScope
    again: str
    """When the same thing is asked for again."""
    ends_with_stock: bool = False
    """Whether stock that the provider lists later says that it is over."""


_IN_TIME: Final = "when its time is over"
_BY_PROBE: Final = "by one machine, beside one that works"
_SOON: Final = "after 1 s, doubling to 60 s"
ANYTHING_ELSE: Final = "anything else"

SAID_BY_PROVIDERS: Final = (
    FailureConsequence(
        "OutOfStock", "Unmet", BackoffScope.OFFERING, f"{_IN_TIME}, or stock is listed", ends_with_stock=True
    ),
    FailureConsequence("QuotaExceeded", "Unmet", BackoffScope.PROVIDER, _IN_TIME),
    FailureConsequence("FamilyQuotaExceeded", "Unmet", BackoffScope.FAMILY, _IN_TIME),
    FailureConsequence("Unauthorized", "Unmet", BackoffScope.PROVIDER, _IN_TIME),
    FailureConsequence("Invalid", "Unmet", BackoffScope.POOLS_OWN, _IN_TIME),
    FailureConsequence("RateLimited", "Pending", BackoffScope.NOTHING, "after the time that was asked for"),
    FailureConsequence("Unavailable", "Pending", BackoffScope.NOTHING, _SOON),
    FailureConsequence(ANYTHING_ELSE, "Pending", BackoffScope.NOTHING, _SOON),
)
"""An error is told as the event ``nodeRequestFailed`` on the request, whatever else it leads to."""

WAITED_TOO_LONG: Final = (
    # The next one would hardly do better, so its offering is left alone, too.
    FailureConsequence(NO_MACHINE, "Unmet", BackoffScope.OFFERING, _IN_TIME),
    FailureConsequence(MACHINE_GONE, "Unmet", BackoffScope.LAUNCHES, _BY_PROBE),
    FailureConsequence(NO_NODE, "Deprovisioning", BackoffScope.LAUNCHES, _BY_PROBE),
    FailureConsequence(NEVER_READY, "Deprovisioning", BackoffScope.LAUNCHES, _BY_PROBE),
    FailureConsequence(POOL_GONE, "Unmet", BackoffScope.NOTHING, "never"),
    FailureConsequence(POOL_UNCLEAR, "Unmet", BackoffScope.NOTHING, "never"),
    FailureConsequence(LIMIT_REACHED, "Unmet", BackoffScope.NOTHING, "when there is room for one"),
)
"""What ends a request without an error."""

ENDING: Final = frozenset(one.error for one in SAID_BY_PROVIDERS if one.phase == "Unmet")
"""Errors that end a request."""
ENDS_WITH_STOCK: Final = frozenset(one.error for one in SAID_BY_PROVIDERS if one.ends_with_stock)
OF_ONE_POOL: Final = frozenset(one.error for one in SAID_BY_PROVIDERS if one.leaves_alone is BackoffScope.POOLS_OWN)
"""Errors that say nothing about what other pools can have."""
LAUNCHED: Final = frozenset(one.error for one in WAITED_TOO_LONG if one.leaves_alone is BackoffScope.LAUNCHES)
"""Reasons why a machine that was launched never became a working node."""
_SCOPES: Final = {one.error: one.leaves_alone for one in (*SAID_BY_PROVIDERS, *WAITED_TOO_LONG)}


class FailedRequest(msgspec.Struct, frozen=True):
    """A request that was given up."""

    request: str
    """Its uid."""
    scope: str
    """The offering's id, its family, or the provider's name for all its offerings."""
    at: datetime
    asked_at: datetime
    """When it was asked for: what was asked for together fails together."""
    reason: str
    message: str


def failure_of(
    request: NodeRequest, providers: Iterable[str], now: datetime, settings: ProvisionSettings
) -> FailedRequest | None:
    """What a request that was given up says about its offering; None if it says nothing, or nothing any more."""
    status = request.status
    if status.phase not in ("Unmet", "Deprovisioning") or status.phase_since is None:
        return None
    if not now - settings.forget_after < status.phase_since <= now + CLOCKS_DIFFER:
        return None
    met = condition_of(status.conditions, MET)
    reason = met.reason if met is not None else NO_MACHINE
    scope = _SCOPES.get(reason, BackoffScope.OFFERING)
    if scope is BackoffScope.NOTHING:
        return None
    offering = request.spec.target_offering
    provider = max((name for name in providers if offering.startswith(f"{name}-")), key=len, default="")
    where = offering
    if provider and scope in (BackoffScope.PROVIDER, BackoffScope.FAMILY):
        where = provider if scope is BackoffScope.PROVIDER else family_of(provider, offering)
    at = min(status.phase_since, now)
    asked_at = min(request.metadata.creation_timestamp or at, at)
    return FailedRequest(request.metadata.uid, where, at, asked_at, reason, met.message if met is not None else "")
