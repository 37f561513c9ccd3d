"""What may be bought now: what providers sell, less what could not be had, corrected by what nodes turned out to be.

What was learnt stands in the status of the pools (``decide.learning`` writes it), so that it outlives the requests and
the process. It holds for all pools: an offering that one of them could not have, the others cannot have either.

    open ──could not be had──► closed ──its time is over, or the provider lists stock──► on trial ──one was had──► open
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.cloud import Cloud
from growth.api.nodepool import NodePool, OfferingStatus
from growth.api.noderequest import NodeRequest
from growth.api.offering import Offering, left_of
from growth.api.quantity import nano_value
from growth.api.settings import ProvisionSettings
from growth.decide.ages import is_ahead
from growth.decide.failures import Failure, failure_of

# A node that is smaller than was believed is believed the first time; who is wrong twice is not bought.
TOO_MANY_SURPRISES: Final = 2


class Access(StrEnum):
    """Whether an offering may be bought."""

    OPEN = "open"
    ON_TRIAL = "on trial"
    """One machine at a time, until one could be had."""
    CLOSED = "closed"


class Sold(msgspec.Struct, frozen=True):
    """One offering as it may be bought now: with what is believed of it, and how many may be asked for."""

    offering: Offering
    access: Access
    why: str = ""
    is_listed: bool = True
    """Whether the provider says that it has some, or at least does not say that it has none."""


class Shop(msgspec.Struct, frozen=True):
    """All offerings of all providers that have answered, by id."""

    sold: dict[str, Sold]

    @property
    def buyable(self) -> tuple[Offering, ...]:
        """What a plan may choose from."""
        return tuple(one.offering for one in self.sold.values() if one.access is not Access.CLOSED)

    def get(self, offering: str) -> Offering | None:
        """What is believed of an offering, whether it may be bought or not."""
        known = self.sold.get(offering)
        return known.offering if known else None


def shop_of(
    clouds: Mapping[str, Cloud],
    pools: Iterable[NodePool],
    requests: Iterable[NodeRequest],
    now: datetime,
    settings: ProvisionSettings,
) -> Shop:
    """What may be bought at this instant."""
    requests = list(requests)
    known = [entry for pool in pools for entry in pool.status.offerings]
    by_scope: dict[str, list[OfferingStatus]] = {}
    for entry in known:
        by_scope.setdefault(entry.offering, []).append(entry)
    fresh: dict[str, list[Failure]] = {}
    for request in requests:
        failure = failure_of(request, clouds)
        if failure is not None and not any(accounts_for(one, failure) for one in by_scope.get(failure.scope, ())):
            fresh.setdefault(failure.scope, []).append(failure)
    unanswered: dict[str, int] = {}
    for request in requests:
        if request.status.phase == "Pending":
            unanswered[request.spec.target_offering] = unanswered.get(request.spec.target_offering, 0) + 1
    sold: dict[str, Sold] = {}
    for cloud in clouds.values():
        for offering in cloud.offerings:
            entries = [*by_scope.get(offering.id, ()), *by_scope.get(offering.provider, ())]
            failures = [*fresh.get(offering.id, ()), *fresh.get(offering.provider, ())]
            one = _sold(offering, cloud, _Known(entries, failures, unanswered.get(offering.id, 0)), now, settings)
            sold[offering.id] = msgspec.structs.replace(one, is_listed=offering.stock != 0)
    return Shop(sold)


def accounts_for(entry: OfferingStatus, failure: Failure) -> bool:
    """Whether this failure has been learnt from: it is the one that was noted, or came while none was to be bought."""
    ends = [instant for instant in (entry.since, entry.until) if instant is not None]
    return bool(ends) and failure.at <= max(ends)


def is_noted(failure: Failure, pool: NodePool) -> bool:
    """Whether the pool's status tells of this failure."""
    return any(accounts_for(one, failure) for one in pool.status.offerings if one.offering == failure.scope)


def offering_for(request: NodeRequest, shop: Shop) -> Offering | None:
    """What a request means, whether it may be bought or not. One that leaves the location open gets the cheapest."""
    wanted, location = request.spec.target_offering, request.spec.location
    exact = shop.get(wanted)
    if exact is not None:
        return exact
    fitting = [
        one
        for one in shop.sold.values()
        if f"{one.offering.provider}-{one.offering.server_type}".lower() == wanted.lower()
        and location in ("", one.offering.location)
    ]
    order = sorted(fitting, key=lambda one: (one.access is Access.CLOSED, one.offering.price_per_hour, one.offering.id))
    return order[0].offering if order else None


class _Known(msgspec.Struct, frozen=True):
    """What is known of one offering beside what its provider says."""

    entries: list[OfferingStatus]
    failures: list[Failure]
    """Those that nobody has learnt from yet."""
    unanswered: int
    """Requests for it that the provider has not answered: it may list machines that these will get."""


def _sold(offering: Offering, cloud: Cloud, known: _Known, now: datetime, settings: ProvisionSettings) -> Sold:
    believed, unanswered = corrected(offering, known.entries), known.unanswered
    stock = None if offering.stock is None else max(0, offering.stock - unanswered)
    if known.failures:
        return Sold(believed, Access.CLOSED, known.failures[-1].message)
    access, why = Access.OPEN, ""
    for entry in known.entries:
        one = _access(entry, offering, cloud, now, settings)
        if one is Access.CLOSED:
            return Sold(believed, one, entry.message)
        if one is Access.ON_TRIAL:
            access, why = one, entry.message
    if access is Access.ON_TRIAL:
        stock = max(0, 1 - unanswered) if stock is None else min(stock, max(0, 1 - unanswered))
    return Sold(msgspec.structs.replace(believed, stock=stock), access, why)


def _access(
    entry: OfferingStatus, offering: Offering, cloud: Cloud, now: datetime, settings: ProvisionSettings
) -> Access:
    if entry.surprises >= TOO_MANY_SURPRISES:
        return Access.CLOSED
    if entry.until is None or entry.available_since is not None:
        return Access.OPEN
    if not is_ahead(entry.until, now, settings.unmet_at_most):
        return Access.ON_TRIAL
    has_stock = offering.stock is not None and offering.stock > 0 and offering.id == entry.offering
    is_news = entry.since is not None and cloud.read_at is not None and cloud.read_at > entry.since
    return Access.ON_TRIAL if has_stock and is_news else Access.CLOSED


def corrected(offering: Offering, entries: Iterable[OfferingStatus]) -> Offering:
    """The offering with what its nodes turned out to have."""
    lacks: dict[str, str] = {}
    for entry in entries:
        for name, amount in entry.lacks.items():
            if name not in lacks or nano_value(amount) > nano_value(lacks[name]):
                lacks[name] = amount
    return msgspec.structs.replace(offering, resources=left_of(offering.resources, lacks)) if lacks else offering
