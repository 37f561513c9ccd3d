"""What may be bought now: what providers sell, less what could not be had, corrected by what nodes turned out to be.

What was learnt stands in the status of the pools (``decide.learning`` writes it), so that it outlives the requests and
the process. It holds for all pools: an offering that one of them could not have, the others cannot have either.

    open ──could not be had──► closed ──its time is over, or the provider lists stock──► on trial ──one was had──► open
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.cloud import Cloud
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.nodepool import NodePool, OfferingStatus
from growth.api.noderequest import NodeRequest
from growth.api.offering import Offering, left_of
from growth.api.quantity import canonical, nano_value
from growth.api.settings import ProvisionSettings
from growth.api.status import condition_of
from growth.decide.ages import is_ahead
from growth.decide.failures import ENDS_WITH_STOCK, MET, Failure, failure_of
from growth.observe.snapshot import Snapshot

# A node that is smaller than was believed is believed the first time; who is wrong twice is not bought.
TOO_MANY_SURPRISES: Final = 2
# Requests of one plan are written one after the other: what was asked for so soon after a failure did not know of it.
BURST: Final = timedelta(seconds=10)
# A provider that lists stock is believed once. If nothing could be had all the same, only time helps: otherwise every
# list that it gives would lead to another purchase in vain.
_BELIEVED_UP_TO: Final = 1


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
    trials: tuple[str, ...] = ()
    """Providers and families of whose machines only one may be asked for, whichever it is."""
    disappointing: frozenset[str] = frozenset()
    """Ids of those whose nodes turned out to have something else than was promised: one may have less than was planned
    with."""

    @property
    def buyable(self) -> tuple[Offering, ...]:
        """What a plan may choose from."""
        return tuple(one.offering for one in self.sold.values() if one.access is not Access.CLOSED)

    def get(self, offering: str) -> Offering | None:
        """What is believed of an offering, whether it may be bought or not."""
        known = self.sold.get(offering)
        return known.offering if known else None


def shop_in(snapshot: Snapshot, settings: ProvisionSettings) -> Shop:
    """What may be bought, as this snapshot shows it: every decider asks, so it is worked out once."""
    known = snapshot.memo.get("shop")
    if not isinstance(known, Shop):
        pools, requests = snapshot.table(NODE_POOLS), snapshot.table(NODE_REQUESTS)
        known = shop_of(snapshot.clouds, pools.values(), requests.values(), snapshot.now, settings)
        snapshot.memo["shop"] = known
    return known


def shop_of(
    clouds: Mapping[str, Cloud],
    pools: Iterable[NodePool],
    requests: Iterable[NodeRequest],
    now: datetime,
    settings: ProvisionSettings,
) -> Shop:
    """What may be bought at this instant."""
    requests = list(requests)
    known: dict[str, _Known] = {}
    measured: dict[str, list[OfferingStatus]] = {}
    for pool in pools:
        for entry in pool.status.offerings:
            known.setdefault(entry.offering, _Known()).entries.append(entry)
            if entry.lacks:
                measured.setdefault(entry.offering, []).append(entry)
    for request in requests:
        failure = failure_of(request, clouds, now, settings)
        if failure is not None:
            known.setdefault(failure.scope, _Known()).failures.append(failure)
    pending = Counter(one.spec.target_offering for one in requests if one.status.phase == "Pending")
    sold: dict[str, Sold] = {}
    trials: list[str] = []
    disappointing: set[str] = set()
    for cloud in clouds.values():
        sizes = _by_type(measured, cloud) if measured else {}
        unlisted = Counter(one.spec.target_offering for one in _unlisted(requests, cloud))
        named = dict.fromkeys(group for one in cloud.offerings for group in one.groups) if known else ()
        groups = {group: _access_by(known[group], None, now, settings) for group in named if group in known}
        tried = [group for group, (access, _) in groups.items() if access is Access.ON_TRIAL]
        asked_for = {group: sum(pending[one.id] for one in cloud.offerings if group in one.groups) for group in tried}
        trials += tried
        for offering in cloud.offerings:
            around = [groups[group] for group in offering.groups if group in groups] if groups else []
            sized = sizes.get(offering.server_type, ())
            if sized:
                disappointing.add(offering.id)
            is_plain = offering.stock is None and offering.id not in known and not sized
            if is_plain and all(access is Access.OPEN for access, _ in around):
                sold[offering.id] = Sold(offering, Access.OPEN)  # as most are, most of the time
                continue
            own = known.get(offering.id, _Known())
            access, own_why = _access_by(own, cloud.read_at if offering.stock else None, now, settings)
            stock = None if offering.stock is None else max(0, offering.stock - unlisted[offering.id])
            if access is Access.ON_TRIAL:
                stock = _one_at_most(stock, pending[offering.id])
            for group in tried:
                if group in offering.groups:
                    stock = _one_at_most(stock, asked_for[group])
            believed = msgspec.structs.replace(corrected(offering, sized), stock=stock)
            worst, reason = max([(access, own_why), *around], key=lambda one: _BADNESS[one[0]])
            sold[offering.id] = Sold(believed, worst, reason, is_listed=offering.stock != 0)
    return Shop(sold, tuple(trials), frozenset(disappointing))


def accounts_for(entry: OfferingStatus, failure: Failure) -> bool:
    """Whether this failure has been learnt from: it is the one that was noted, or of those that came with it."""
    if entry.since is None:
        return False
    if failure.at <= entry.since:
        return True
    if entry.available_since is not None:
        return failure.at <= entry.available_since
    is_in_time = entry.until is not None and failure.at <= entry.until
    return is_in_time and failure.asked_at <= entry.since + BURST


def is_noted(failure: Failure, pool: NodePool) -> bool:
    """Whether the pool's status tells of this failure."""
    return any(accounts_for(one, failure) for one in pool.status.offerings if one.offering == failure.scope)


def accepted_at_of(request: NodeRequest) -> datetime | None:
    """When the provider was heard to have its machine, by our own clock; None if that never was."""
    met = condition_of(request.status.conditions, MET)
    return met.last_transition_time if met is not None and met.status == "True" else None


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


class _Known(msgspec.Struct):
    """What is known of one offering, of a family or of all of a provider, beside what the provider says."""

    entries: list[OfferingStatus] = []
    failures: list[Failure] = []


_BADNESS: Final = {access: badness for badness, access in enumerate(Access)}


def _access_by(
    known: _Known, stock_read_at: datetime | None, now: datetime, settings: ProvisionSettings
) -> tuple[Access, str]:
    """The worst that anything known says, and why."""
    fresh = [one for one in known.failures if not any(accounts_for(entry, one) for entry in known.entries)]
    if fresh:
        return Access.CLOSED, max(fresh, key=lambda one: one.at).message
    failed_at = max((one.at for one in known.failures), default=None)
    found = [(_access(one, stock_read_at, failed_at, now, settings), one.message) for one in known.entries]
    worst = max(found, key=lambda one: _BADNESS[one[0]], default=(Access.OPEN, ""))
    return worst if worst[0] is not Access.OPEN else (Access.OPEN, "")


def _access(
    entry: OfferingStatus,
    stock_read_at: datetime | None,
    failed_at: datetime | None,
    now: datetime,
    settings: ProvisionSettings,
) -> Access:
    if entry.surprises >= TOO_MANY_SURPRISES:
        return Access.CLOSED
    if entry.until is None or entry.available_since is not None:
        return Access.OPEN
    if not is_ahead(entry.until, now, settings.unmet_at_most):
        return Access.ON_TRIAL
    if stock_read_at is None or entry.reason not in ENDS_WITH_STOCK or entry.level > _BELIEVED_UP_TO:
        return Access.CLOSED
    # A list that was read before the last failure is the one that was wrong.
    failures = [instant for instant in (entry.since, failed_at) if instant is not None]
    return Access.ON_TRIAL if all(stock_read_at > instant for instant in failures) else Access.CLOSED


def _one_at_most(stock: int | None, asked_for: int) -> int:
    left = max(0, 1 - asked_for)
    return left if stock is None else min(stock, left)


def _unlisted(requests: Sequence[NodeRequest], cloud: Cloud) -> Iterable[NodeRequest]:
    """Requests whose machines the provider's stock still counts: it did not know of them when it was read."""
    listed = {machine.name for machine in cloud.machines}
    for request in requests:
        if request.metadata.name not in listed and _is_younger(request, cloud.read_at):
            yield request


def _is_younger(request: NodeRequest, read_at: datetime | None) -> bool:
    if request.status.phase == "Pending":
        return True
    accepted_at = accepted_at_of(request)
    return accepted_at is not None and read_at is not None and accepted_at >= read_at


def corrected(offering: Offering, entries: Iterable[OfferingStatus]) -> Offering:
    """The offering with what nodes of its type turned out to have: the least counts.

    With an image of which nothing is known, they have what they had least with any; and never more than was promised.
    """
    worst: dict[str, int] = {}
    by_image: dict[str, dict[str, int]] = {}
    for entry in entries:
        own = by_image.setdefault(entry.image, {})
        for name, amount in entry.lacks.items():
            lack = nano_value(amount)
            own[name] = max(lack, own.get(name, lack))
            worst[name] = max(lack, worst.get(name, 0), 0)
    if not worst:
        return offering
    beyond = {
        image: _amounts({name: worst[name] - one for name, one in own.items()}) for image, own in by_image.items()
    }
    resources = left_of(offering.resources, _amounts(worst))
    return msgspec.structs.replace(
        offering, resources=resources, beyond={image: more for image, more in beyond.items() if more}
    )


def _amounts(nanos: Mapping[str, int]) -> dict[str, str]:
    return {name: canonical(f"{amount}n") for name, amount in nanos.items() if amount}


def _by_type(measured: Mapping[str, list[OfferingStatus]], cloud: Cloud) -> dict[str, list[OfferingStatus]]:
    """What was learnt about sizes: machines of one type are the same in all places."""
    found: dict[str, list[OfferingStatus]] = {}
    for offering in cloud.offerings:
        if offering.id in measured:
            found.setdefault(offering.server_type, []).extend(measured[offering.id])
    return found
