"""What may be bought now: what providers sell, less what could not be had, corrected by what nodes turned out to be.

What was learnt stands in the status of the pools (``decide.capacity.offering_history`` writes it), so that it outlives
the requests and the process. It holds for all pools: an offering that one of them could not have, the others cannot
have either; unless it was the pool's own mistake.

What an offering costs in one pool: what the pool does without is not billed.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest
from growth.api.offering import Offering, in_pool
from growth.api.provider_state import ProviderState
from growth.api.settings.model import ProvisionSettings, Settings
from growth.api.status import condition_of
from growth.decide.capacity.availability import (
    BADNESS,
    Availability,
    AvailabilityKnowledge,
    OfferingStanding,
    access_by,
    knowledge_from,
)
from growth.decide.capacity.launch_failures import LaunchRecord, record_of, unnoted_of
from growth.decide.capacity.measured_resources import corrected, measured_by_type
from growth.decide.capacity.pool_usage import may_launch
from growth.decide.capacity.provider_failures import MET
from growth.decide.contract import ClockTrust, Derivation, Fact, Facts
from growth.observe.snapshot import Snapshot


class OfferingInCatalog(msgspec.Struct, frozen=True):
    """One offering as it may be bought now: with what is believed of it, and how many may be asked for."""

    offering: Offering
    access: Availability
    why: str = ""
    is_listed: bool = True
    """Whether the provider says that it has some, or at least does not say that it has none."""


class OfferingCatalog(Fact, frozen=True):
    """All offerings of all providers that have answered, by id."""

    offered: Mapping[str, OfferingInCatalog] = {}
    trials: tuple[str, ...] = ()
    """Of what only one machine may be asked for: providers and families, whichever it is; or an
    offering in one pool (``in_pool``)."""
    closed: frozenset[tuple[str, str]] = frozenset()
    """Pools and offerings that plans leave out for this pool."""
    mistaken: frozenset[tuple[str, str]] = frozenset()
    """Of those, the ones that the pool itself asked for in a way that cannot be."""
    launches: Mapping[str, LaunchRecord] = {}
    """By pool, what is known of launches that failed."""
    disappointing: frozenset[str] = frozenset()
    """Ids of those whose nodes turned out to have something else than was promised: one may have less than was planned
    with."""

    def why_suspect(self, pool: str, offering: Offering, now: datetime) -> str:
        """Why launches of this offering fail in a pool; empty if they do not, or if one more may be tried by now."""
        record = self.launches.get(pool)
        if record is None or now >= record.retry_at.get(offering.type_id, now):
            return ""
        return record.suspects.get(offering.id, "")

    @property
    def buyable(self) -> tuple[Offering, ...]:
        """What a plan may choose from."""
        return tuple(one.offering for one in self.offered.values() if one.access is not Availability.CLOSED)

    def get(self, offering: str) -> Offering | None:
        """What is believed of an offering, whether it may be bought or not."""
        known = self.offered.get(offering)
        return known.offering if known else None


def derive(
    snapshot: Snapshot, settings: Settings, _facts: Facts, _clock: ClockTrust, _previous: OfferingCatalog | None
) -> OfferingCatalog:
    """Work out what may be launched now."""
    pools, requests = snapshot.table(NODE_POOLS), snapshot.table(NODE_REQUESTS)
    return shop_of(snapshot.clouds, pools.values(), requests.values(), snapshot.now, settings.provision)


OFFERING_CATALOG: Final = Derivation(name="offering-catalog", provides=OfferingCatalog, derive=derive)


def shop_of(
    clouds: Mapping[str, ProviderState],
    pools: Iterable[NodePool],
    requests: Iterable[NodeRequest],
    now: datetime,
    settings: ProvisionSettings,
) -> OfferingCatalog:
    """What may be bought at this instant."""
    requests, pools = list(requests), list(pools)
    knowledge = knowledge_from(pools, requests, clouds, now, settings)
    known = knowledge.of
    pending = Counter(one.spec.target_offering for one in requests if one.status.phase == "Pending")
    offered: dict[str, OfferingInCatalog] = {}
    trials: list[str] = []
    disappointing: set[str] = set()
    for cloud in clouds.values():
        sizes = measured_by_type({name: one.entries for name, one in known.items()}, cloud) if known else {}
        unlisted = Counter(one.spec.target_offering for one in _unlisted(requests, cloud))
        named = dict.fromkeys(group for one in cloud.offerings for group in one.groups) if known else ()
        groups = {group: access_by(known[group], None, now, settings) for group in named if group in known}
        tried = [group for group, (access, _) in groups.items() if access is Availability.ON_TRIAL]
        asked_for = {group: sum(pending[one.id] for one in cloud.offerings if group in one.groups) for group in tried}
        trials += tried
        for offering in cloud.offerings:
            around = [groups[group] for group in offering.groups if group in groups] if groups else []
            sized = sizes.get(offering.server_type, ())
            if sized:
                disappointing.add(offering.id)
            is_plain = offering.stock is None and offering.id not in known and not sized
            if is_plain and all(access is Availability.OPEN for access, _ in around):
                offered[offering.id] = OfferingInCatalog(offering, Availability.OPEN)  # as most are, most of the time
                continue
            own = known.get(offering.id, OfferingStanding())
            access, own_why = access_by(own, cloud.read_at if offering.stock else None, now, settings)
            stock = None if offering.stock is None else max(0, offering.stock - unlisted[offering.id])
            if access is Availability.ON_TRIAL:
                stock = _one_at_most(stock, pending[offering.id])
            for group in tried:
                if group in offering.groups:
                    stock = _one_at_most(stock, asked_for[group])
            believed = msgspec.structs.replace(corrected(offering, sized), stock=stock)
            worst, reason = max([(access, own_why), *around], key=lambda one: BADNESS[one[0]])
            offered[offering.id] = OfferingInCatalog(believed, worst, reason, is_listed=offering.stock != 0)
    own_trials, mistaken = _mistaken(knowledge, requests, now, settings)
    launches = _launch_records(pools, clouds, knowledge, settings)
    first_ones, suspect = _suspected(launches, [one.offering for one in offered.values()], requests)
    all_trials = (*trials, *own_trials, *first_ones)
    return OfferingCatalog(offered, all_trials, mistaken | suspect, mistaken, launches, frozenset(disappointing))


def _launch_records(
    pools: Sequence[NodePool],
    clouds: Mapping[str, ProviderState],
    knowledge: AvailabilityKnowledge,
    settings: ProvisionSettings,
) -> dict[str, LaunchRecord]:
    """By pool, what is known of launches that failed: nothing as a rule, so nothing is worked out then."""
    if not knowledge.launches and not any(pool.status.failed_launches for pool in pools):
        return {}
    by_name = {pool.metadata.name: pool for pool in pools}
    unnoted = {
        name: unnoted_of(failures, by_name[name]) for name, failures in knowledge.launches.items() if name in by_name
    }
    found: dict[str, LaunchRecord] = {}
    for pool in pools:
        offerings = [one for cloud in clouds.values() for one in cloud.offerings if may_launch(pool, one)]
        record = record_of(pool, pools, offerings, unnoted, settings)
        if record is not None:
            found[pool.metadata.name] = record
    return found


def _suspected(
    launches: Mapping[str, LaunchRecord], offerings: Sequence[Offering], requests: Sequence[NodeRequest]
) -> tuple[list[str], frozenset[tuple[str, str]]]:
    """Types of which a pool launches one machine first, and the offerings that its plans leave out: those that are
    suspect, and those of a type whose first machine is on its way."""
    if not launches:
        return [], frozenset()
    types = {one.id: one.type_id for one in offerings}
    live = {
        (one.pool, types.get(one.spec.target_offering, one.spec.target_offering))
        for one in requests
        if one.status.phase in ("Pending", "Provisioning")
    }
    first_ones: list[str] = []
    closed: set[tuple[str, str]] = set()
    for pool, record in sorted(launches.items()):
        closed |= {(pool, name) for name in record.suspects}
        awaited = {type_id for type_id in record.unproven if (pool, type_id) in live}
        closed |= {(pool, name) for name, type_id in types.items() if type_id in awaited}
        first_ones += [in_pool(pool, type_id) for type_id in sorted(record.unproven - awaited)]
    return first_ones, frozenset(closed)


def _mistaken(
    knowledge: AvailabilityKnowledge, requests: Sequence[NodeRequest], now: datetime, settings: ProvisionSettings
) -> tuple[list[str], frozenset[tuple[str, str]]]:
    """What single pools may try with one machine, and what they must not buy."""
    if not knowledge.mistakes:
        return [], frozenset()
    asked_for = Counter((one.pool, one.spec.target_offering) for one in requests if one.status.phase == "Pending")
    trials: list[str] = []
    closed: set[tuple[str, str]] = set()
    for key, known in sorted(knowledge.mistakes.items()):
        access, _ = access_by(known, None, now, settings)
        if access is Availability.CLOSED or (access is Availability.ON_TRIAL and asked_for[key]):
            closed.add(key)
        elif access is Availability.ON_TRIAL:
            trials.append(in_pool(*key))
    return trials, frozenset(closed)


def accepted_at_of(request: NodeRequest) -> datetime | None:
    """When the provider was heard to have its machine, by our own clock; None if that never was."""
    met = condition_of(request.status.conditions, MET)
    return met.last_transition_time if met is not None and met.status == "True" else None


def offering_for(request: NodeRequest, catalog: OfferingCatalog) -> Offering | None:
    """What a request means, whether it may be bought or not. One that leaves the location open gets the cheapest."""
    wanted, location = request.spec.target_offering, request.spec.location
    exact = catalog.get(wanted)
    if exact is not None:
        return exact
    fitting = [
        one
        for one in catalog.offered.values()
        if f"{one.offering.provider}-{one.offering.server_type}".lower() == wanted.lower()
        and location in ("", one.offering.location)
    ]
    order = sorted(
        fitting, key=lambda one: (one.access is Availability.CLOSED, one.offering.price_per_hour, one.offering.id)
    )
    return order[0].offering if order else None


def _one_at_most(stock: int | None, asked_for: int) -> int:
    left = max(0, 1 - asked_for)
    return left if stock is None else min(stock, left)


def _unlisted(requests: Sequence[NodeRequest], cloud: ProviderState) -> Iterable[NodeRequest]:
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


# Prices have fewer decimals than this; what lies behind them comes from subtracting floats.
_DECIMALS = 12


def as_billed(offering: Offering, pool: NodePool | None) -> Offering:
    """The offering with the price that machines of this pool have; of a pool that is gone, with everything."""
    if pool is None or pool.spec.machine.public_ipv4 or not offering.ipv4_per_hour:
        return offering
    price = max(0.0, round(offering.price_per_hour - offering.ipv4_per_hour, _DECIMALS))
    # Nobody said what a month costs without it.
    return msgspec.structs.replace(offering, price_per_hour=price, ipv4_per_hour=0.0, price_per_month=None)
