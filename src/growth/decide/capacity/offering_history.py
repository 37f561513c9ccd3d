"""What there is to learn from, for one pool.

What nodes turn out to have: more or less than was estimated of their type, with the image of their pool.

- A node that is smaller corrects the estimate at once. If it is smaller than was promised and another one was, too, its
  offering is not bought any more.
- One that is larger corrects it only if it is the first of its type and image: a hundredth less is believed than it
  has, as far as all of its kind have that are there. After that only smaller ones count, because what is bought for
  pods that then do not fit on it costs money, and a little room that nobody counts on does not.

What requests and nodes teach about offerings: it is written into the status of their pool, where it outlives them.

- An offering that could not be had is left alone, longer each time. One machine that could be had after that opens it.
  (A machine that was launched and never worked is another matter: ``decide.capacity.failed_launch_status``.)
- Nodes that turn out smaller or larger than was estimated correct that (``decide.capacity.offering_history``).
- What went wrong is forgotten when for long enough nothing did; what nodes turned out to have is not.
- What lies ahead of us was written before a clock was set back: it counts as if it had just happened, and may be tried.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from growth.api.node import Node
from growth.api.node_pool import NodePool, OfferingStatus
from growth.api.node_request import NodeRequest
from growth.api.offering import INSTANCE_TYPE, OFFERING, POOL, Offering, left_of
from growth.api.quantity import NANO, canonical, nano_value
from growth.api.settings.model import ProvisionSettings
from growth.decide.capacity.availability import BURST, TOO_MANY_SURPRISES, accounts_for
from growth.decide.capacity.node_startup import shortfall
from growth.decide.capacity.offering_catalog import OfferingCatalog, accepted_at_of
from growth.decide.capacity.provider_failures import LAUNCHED, OF_ONE_POOL, FailedRequest, failure_of
from growth.decide.elapsed import CLOCKS_DIFFER
from growth.decide.fit.template_node import allocatable_from


class PoolObservation(msgspec.Struct, frozen=True):
    """Everything there is to learn from, for one pool."""

    pool: NodePool
    requests: tuple[NodeRequest, ...]
    """Those of the pool."""
    every_request: Collection[NodeRequest]
    """Those of all pools: what another one could have, this one can have, too."""
    nodes: Mapping[str, Node]
    catalog: OfferingCatalog
    listed: Mapping[str, Offering]
    """Offerings as their providers list them, not corrected by what was learnt."""
    providers: tuple[str, ...]
    now: datetime
    alike: Collection[str] = ()
    """Names of pools whose machines are made like this one's, itself among them."""


def launched_as(request: NodeRequest, observation: PoolObservation) -> Offering | None:
    """What its machine is, as it is believed to be. A request may leave the location open; then its node says it."""
    exact = observation.catalog.get(request.spec.target_offering)
    node = observation.nodes.get(request.metadata.name)
    return exact or (observation.catalog.get(node.metadata.labels.get(OFFERING, "")) if node is not None else None)


# Machines of one type differ by a little: a hundredth less is believed without a word, and of a larger one so much less
# than it has. What would be gained by less than another one is not worth a word either.
_NEGLIGIBLE: Final = 0.01
_WORTH_IT: Final = 1.02
# An estimate may be so careful (Hetzner's: 8 % of the memory). A node that is larger still was resized, or says nothing
# about the next one: that is not believed.
_AT_MOST: Final = 1.1
# What is learnt is written in whole bytes, pods and thousandths of a core.
_UNITS: Final = {"cpu": NANO // 1000}
SMALLER: Final = "SmallerThanPromised"


def measure(observation: PoolObservation, entries: dict[str, OfferingStatus]) -> None:
    """Put what the pool's nodes teach into its entries."""
    spans: dict[str, _Span] = {}
    surprising = [
        request for request in observation.requests if not _is_as_expected(request, observation, entries, spans)
    ]
    for request in sorted(surprising, key=lambda one: one.metadata.name):
        _blame(request, observation, entries)
        _praise(request, observation, entries)


def with_image(entry: OfferingStatus, image: str) -> OfferingStatus:
    """The entry in a pool with this image: what was measured with another one says nothing about it."""
    if entry.image == image or not entry.lacks:
        return entry
    return msgspec.structs.replace(entry, lacks={}, surprises=0, image="")


class _Span:
    """Between which amounts a node of an offering teaches nothing, and what the last one had of which that is true."""

    __slots__ = ("floor", "known", "roof")

    def __init__(self, expected: Mapping[str, str], measured: Collection[str]) -> None:
        self.floor = {name: nano_value(amount) for name, amount in expected.items()}
        self.roof = {name: self.floor[name] * _WORTH_IT for name in _praisable(expected, measured)}
        self.known: Mapping[str, str] | None = None

    def holds(self, has: Mapping[str, str]) -> bool:
        if has == self.known:
            return True
        amounts = {name: nano_value(has[name]) for name in self.floor if name in has}
        is_held = all(name in amounts and amounts[name] >= least for name, least in self.floor.items())
        is_held = is_held and all(amounts[name] <= most for name, most in self.roof.items())
        if is_held:
            self.known = has
        return is_held


def _is_as_expected(
    request: NodeRequest, observation: PoolObservation, entries: Mapping[str, OfferingStatus], spans: dict[str, _Span]
) -> bool:
    """Whether its node surely teaches nothing: nearly always, so what is expected is worked out once per offering."""
    node = observation.nodes.get(request.metadata.name)
    believed = launched_as(request, observation) if node is not None else None
    if node is None or believed is None:
        return True
    span = spans.get(believed.id)
    if span is None:
        measured = entries[believed.id].lacks if believed.id in entries else ()
        span = spans[believed.id] = _Span(allocatable_from(believed, observation.pool), measured)
    return span.holds(node.status.allocatable)


def _blame(request: NodeRequest, observation: PoolObservation, entries: dict[str, OfferingStatus]) -> None:
    """Compare a node with what its offering promised, and believe that it has less."""
    node, pool = observation.nodes.get(request.metadata.name), observation.pool
    believed = launched_as(request, observation)
    if node is None or not node.is_ready or believed is None or request.status.phase not in ("Provisioning", "Ready"):
        return
    promised = allocatable_from(observation.listed.get(believed.id, believed), pool)
    entry = entries.get(believed.id, OfferingStatus(believed.id))
    # Another node of the same pass may have taught us something that the shop does not know yet.
    expected = _least(allocatable_from(believed, pool), left_of(promised, entry.lacks))
    has_settled = request.status.phase == "Ready"  # before that, devices may still be on their way
    surprise = _without_devices(shortfall(node, expected), keep=has_settled)
    if not surprise:
        return
    whole = _without_devices(shortfall(node, promised), keep=has_settled)
    # Of what was believed to be more than was promised, only that is taken back which is not there.
    found = {name: _lack(promised[name], node.status.allocatable.get(name, "0")) for name in {*whole, *surprise}}
    lacks = {
        name: max((one[name] for one in (found, entry.lacks) if name in one), key=nano_value)
        for name in sorted({*found, *entry.lacks})
    }
    words = ", ".join(f"{amount} less {name}" for name, amount in sorted(whole.items()))
    changed = msgspec.structs.replace(entry, lacks=lacks, image=pool.spec.machine.image)
    least = _least(expected, promised)
    # Nobody broke a promise if a node is only smaller than another one was.
    if _is_remarkable(_without_devices(shortfall(node, least), keep=has_settled), least):
        message = f"node {node.metadata.name} has {words} than promised"
        surprises = entry.surprises + 1
        if surprises >= TOO_MANY_SURPRISES:
            message += "; it is not the first time, so it is not bought any more"
        changed = msgspec.structs.replace(
            changed, surprises=surprises, since=observation.now, reason=SMALLER, message=message[:1024]
        )
    entries[believed.id] = changed


def _praise(request: NodeRequest, observation: PoolObservation, entries: dict[str, OfferingStatus]) -> None:
    """Believe that nodes of its type have more than was promised, as far as all have that are there."""
    node, pool = observation.nodes.get(request.metadata.name), observation.pool
    believed = launched_as(request, observation)
    if node is None or not node.is_ready or believed is None or request.status.phase != "Ready":
        return
    expected = allocatable_from(believed, pool)
    promised = allocatable_from(observation.listed.get(believed.id, believed), pool)
    entry = entries.get(believed.id, OfferingStatus(believed.id))
    praisable = _praisable(promised, entry.lacks)
    alike = [one.status.allocatable for one in observation.nodes.values() if _is_alike(one, node)] if praisable else []
    lacks = dict(entry.lacks)
    for name in praisable:
        least, estimate = min(nano_value(has.get(name, "0")) for has in alike), nano_value(promised[name])
        if _WORTH_IT * nano_value(expected[name]) < least <= _AT_MOST * estimate:
            more = int(least * (1 - _NEGLIGIBLE)) - estimate
            unit = _UNITS.get(name, NANO)
            lacks[name] = canonical(f"{-(more // unit) * unit}n")
    if lacks != entry.lacks:
        lacks = dict(sorted(lacks.items()))
        entries[believed.id] = msgspec.structs.replace(entry, lacks=lacks, image=pool.spec.machine.image)


def _praisable(resources: Iterable[str], measured: Collection[str]) -> list[str]:
    """Of what a node may turn out to have more: not of devices, and not of what was measured before."""
    return [name for name in resources if "/" not in name and name not in measured]


def _is_alike(one: Node, node: Node) -> bool:
    """Whether it is a node of the same pool and type."""
    return all(one.metadata.labels.get(key) == node.metadata.labels.get(key) for key in (POOL, INSTANCE_TYPE))


def _lack(promised: str, has: str) -> str:
    return canonical(f"{nano_value(promised) - nano_value(has)}n")


def _least(one: Mapping[str, str], other: Mapping[str, str]) -> dict[str, str]:
    """No more of anything than either."""
    return {name: min(text, other.get(name, text), key=nano_value) for name, text in one.items()}


def _without_devices(amounts: Mapping[str, str], *, keep: bool) -> dict[str, str]:
    return {name: amount for name, amount in amounts.items() if keep or "/" not in name}


def _is_remarkable(less: Mapping[str, str], expected: Mapping[str, str]) -> bool:
    return any(nano_value(amount) > _NEGLIGIBLE * nano_value(expected[name]) for name, amount in less.items())


# As many as a pool's status may hold; the whole status would be refused otherwise.
MOST_ENTRIES: Final = 256


def learnt(observation: PoolObservation, settings: ProvisionSettings) -> tuple[OfferingStatus, ...]:
    """What the pool's status should say about offerings, in the order of their names."""
    image = observation.pool.spec.machine.image
    entries = {
        entry.offering: _on_this_clock(with_image(entry, image), observation.now)
        for entry in observation.pool.status.offerings
    }
    found = (failure_of(request, observation.providers, observation.now, settings) for request in observation.requests)
    failures = [failure for failure in found if failure is not None and failure.reason not in LAUNCHED]
    for failure in sorted(failures, key=lambda one: (one.at, one.scope)):
        entry = entries.get(failure.scope, OfferingStatus(failure.scope))
        if not accounts_for(entry, failure):
            entries[failure.scope] = _left_alone(entry, failure, settings)
    for scope, entry in list(entries.items()):
        if _is_had_again(entry, observation):
            entries[scope] = msgspec.structs.replace(entry, available_since=observation.now)
    measure(observation, entries)
    forgotten = (_forgetting(entry, observation.now, settings) for _, entry in sorted(entries.items()))
    return _bounded([entry for entry in forgotten if entry is not None])


def next_change(entries: Iterable[OfferingStatus], now: datetime, settings: ProvisionSettings) -> datetime | None:
    """When one of these is forgotten, if nothing happens before."""
    ends = [_worst(entry) + settings.forget_after for entry in entries if entry.since is not None]
    return min((end for end in ends if end > now), default=None)


def _left_alone(entry: OfferingStatus, failure: FailedRequest, settings: ProvisionSettings) -> OfferingStatus:
    level = entry.level + 1
    # More doublings than this are beyond any bound.
    wait = min(settings.unmet * 2 ** min(level - 1, 16), settings.unmet_at_most)
    return msgspec.structs.replace(
        entry,
        level=level,
        since=failure.at,
        until=failure.at + wait,
        available_since=None,
        reason=failure.reason,
        message=failure.message,
    )


def _is_had_again(entry: OfferingStatus, observation: PoolObservation) -> bool:
    """Whether a machine could be had that was asked for after the failure.

    Those that were asked for together with it are no news: of ten, seven may be had before the stock is used up. When
    that was is told by our own clock: the API server's may be another one, and would open what just failed for ever.
    """
    if entry.until is None or entry.since is None or entry.available_since is not None:
        return False
    news_from = min(entry.until, entry.since + BURST)
    # What another pool could have says nothing about what this one asks for.
    for request in observation.requests if entry.reason in OF_ONE_POOL else observation.every_request:
        offering, accepted_at = launched_as(request, observation), accepted_at_of(request)
        is_of_it = offering is not None and entry.offering in (offering.id, *offering.groups)
        is_had = request.status.phase in ("Provisioning", "Ready")
        if is_of_it and is_had and accepted_at is not None and news_from <= accepted_at <= observation.now:
            return True
    return False


def _on_this_clock(entry: OfferingStatus, now: datetime) -> OfferingStatus:
    if entry.since is None or entry.since <= now + CLOCKS_DIFFER:
        return entry
    return msgspec.structs.replace(entry, since=now, until=now if entry.until is not None else None)


def _bounded(entries: list[OfferingStatus]) -> tuple[OfferingStatus, ...]:
    newest = sorted(entries, key=_worst, reverse=True)[:MOST_ENTRIES]
    return tuple(sorted(newest, key=lambda one: one.offering))


def _forgetting(entry: OfferingStatus, now: datetime, settings: ProvisionSettings) -> OfferingStatus | None:
    """The entry as far as it is still remembered."""
    if entry.since is None or now < _worst(entry) + settings.forget_after:
        return entry
    return OfferingStatus(entry.offering, lacks=entry.lacks, image=entry.image) if entry.lacks else None


def _worst(entry: OfferingStatus) -> datetime:
    """When it was last known to be wrong with it."""
    since = entry.since or datetime.min.replace(tzinfo=UTC)
    return max(since, entry.until or since)
