"""Whether something may be bought: by what failed, and by what pools have noted of that.

open ──could not be had──► closed ──its time is over, or the provider lists stock──► on trial ──one was had──► open
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.node_pool import NodePool, OfferingStatus
from growth.api.node_request import NodeRequest
from growth.api.settings.model import ProvisionSettings
from growth.decide.capacity.provider_failures import ENDS_WITH_STOCK, LAUNCHED, OF_ONE_POOL, FailedRequest, failure_of
from growth.decide.elapsed import is_ahead

# A node that is smaller than was believed is believed the first time; who is wrong twice is not bought.
TOO_MANY_SURPRISES: Final = 2
# Requests of one plan are written one after the other: what was asked for so soon after a failure did not know of it.
BURST: Final = timedelta(seconds=10)
# A provider that lists stock is believed once. If nothing could be had all the same, only time helps: otherwise every
# list that it gives would lead to another purchase in vain.
_BELIEVED_UP_TO: Final = 1


class Availability(StrEnum):
    """Whether an offering may be bought."""

    OPEN = "open"
    ON_TRIAL = "on trial"
    """One machine at a time, until one could be had."""
    CLOSED = "closed"


class OfferingStanding(msgspec.Struct):
    """What is known of one offering, of a family or of all of a provider, beside what the provider says."""

    entries: list[OfferingStatus] = []
    failures: list[FailedRequest] = []


BADNESS: Final = {access: badness for badness, access in enumerate(Availability)}


def access_by(
    known: OfferingStanding, stock_read_at: datetime | None, now: datetime, settings: ProvisionSettings
) -> tuple[Availability, str]:
    """The worst that anything known says, and why."""
    fresh = [one for one in known.failures if not any(accounts_for(entry, one) for entry in known.entries)]
    if fresh:
        return Availability.CLOSED, max(fresh, key=lambda one: one.at).message
    failed_at = max((one.at for one in known.failures), default=None)
    found = [(_access(one, stock_read_at, failed_at, now, settings), one.message) for one in known.entries]
    worst = max(found, key=lambda one: BADNESS[one[0]], default=(Availability.OPEN, ""))
    return worst if worst[0] is not Availability.OPEN else (Availability.OPEN, "")


def _access(
    entry: OfferingStatus,
    stock_read_at: datetime | None,
    failed_at: datetime | None,
    now: datetime,
    settings: ProvisionSettings,
) -> Availability:
    if entry.surprises >= TOO_MANY_SURPRISES:
        return Availability.CLOSED
    if entry.until is None or entry.available_since is not None:
        return Availability.OPEN
    if not is_ahead(entry.until, now, settings.unmet_at_most):
        return Availability.ON_TRIAL
    if stock_read_at is None or entry.reason not in ENDS_WITH_STOCK or entry.level > _BELIEVED_UP_TO:
        return Availability.CLOSED
    # A list that was read before the last failure is the one that was wrong.
    failures = [instant for instant in (entry.since, failed_at) if instant is not None]
    return Availability.ON_TRIAL if all(stock_read_at > instant for instant in failures) else Availability.CLOSED


class AvailabilityKnowledge(msgspec.Struct, frozen=True):
    """All that is known beside what providers say."""

    of: dict[str, OfferingStanding]
    """Of offerings, families and providers, for all pools."""
    mistakes: dict[tuple[str, str], OfferingStanding]
    """Of offerings in one pool (its name and the offering's id): what it asked for cannot be."""
    launches: dict[str, list[FailedRequest]]
    """By pool, requests that were given up because their machines never worked."""


def knowledge_from(
    pools: Iterable[NodePool],
    requests: Iterable[NodeRequest],
    providers: Iterable[str],
    now: datetime,
    settings: ProvisionSettings,
) -> AvailabilityKnowledge:
    """What pools have noted, and what became of requests."""
    known = AvailabilityKnowledge({}, {}, {})
    for pool in pools:
        for entry in pool.status.offerings:
            left = entry
            if entry.reason in OF_ONE_POOL:
                known.mistakes.setdefault((pool.metadata.name, entry.offering), OfferingStanding()).entries.append(
                    entry
                )
                left = msgspec.structs.replace(entry, until=None)
            known.of.setdefault(entry.offering, OfferingStanding()).entries.append(left)
    names = tuple(providers)
    for request in requests:
        failure = failure_of(request, names, now, settings)
        if failure is not None and failure.reason in LAUNCHED:
            known.launches.setdefault(request.pool, []).append(failure)
        elif failure is not None and failure.reason in OF_ONE_POOL:
            known.mistakes.setdefault((request.pool, failure.scope), OfferingStanding()).failures.append(failure)
        elif failure is not None:
            known.of.setdefault(failure.scope, OfferingStanding()).failures.append(failure)
    return known


def accounts_for(entry: OfferingStatus, failure: FailedRequest) -> bool:
    """Whether this failure has been learnt from: it is the one that was noted, or of those that came with it."""
    if entry.since is None:
        return False
    if failure.at <= entry.since:
        return True
    if entry.available_since is not None:
        return failure.at <= entry.available_since
    is_in_time = entry.until is not None and failure.at <= entry.until
    return is_in_time and failure.asked_at <= entry.since + BURST


def is_noted(failure: FailedRequest, pool: NodePool) -> bool:
    """Whether the pool's status tells of this failure."""
    if failure.reason in LAUNCHED:
        return failure.request in pool.status.wasted.counted
    return any(accounts_for(one, failure) for one in pool.status.offerings if one.offering == failure.scope)
