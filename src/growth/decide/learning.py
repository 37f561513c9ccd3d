"""What requests and nodes teach about offerings: it is written into the status of their pool, where it outlives them.

- An offering that could not be had is left alone, longer each time. One machine that could be had after that opens it.
- A node that is smaller than promised corrects what is believed of its offering. If a node is smaller than even that,
  the offering is not bought any more.
- What went wrong is forgotten when for long enough nothing did; what nodes turned out to have is not.
- What lies ahead of us was written before a clock was set back: it counts as if it had just happened, and may be tried.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from typing import Final

import msgspec

from growth.api.node import Node
from growth.api.nodepool import NodePool, OfferingStatus
from growth.api.noderequest import NodeRequest
from growth.api.offering import OFFERING, Offering
from growth.api.quantity import nano_value
from growth.api.settings import ProvisionSettings
from growth.decide.failures import CLOCKS_DIFFER, Failure, failure_of
from growth.decide.fit.new_node import allocatable_from
from growth.decide.offerings import (
    BURST,
    TOO_MANY_SURPRISES,
    Shop,
    accepted_at_of,
    accounts_for,
    corrected,
)
from growth.decide.provision.arrival import shortfall

# Machines of one type differ by a little; that much is believed without a word.
_NEGLIGIBLE: Final = 0.01
SMALLER: Final = "SmallerThanPromised"
# As many as a pool's status may hold; the whole status would be refused otherwise.
MOST_ENTRIES: Final = 256


class Lesson(msgspec.Struct, frozen=True):
    """Everything there is to learn from, for one pool."""

    pool: NodePool
    requests: tuple[NodeRequest, ...]
    """Those of the pool."""
    every_request: Collection[NodeRequest]
    """Those of all pools: what another one could have, this one can have, too."""
    nodes: Mapping[str, Node]
    shop: Shop
    listed: Mapping[str, Offering]
    """Offerings as their providers list them, not corrected by what was learnt."""
    providers: tuple[str, ...]
    now: datetime


def learnt(lesson: Lesson, settings: ProvisionSettings) -> tuple[OfferingStatus, ...]:
    """What the pool's status should say about offerings, in the order of their names."""
    entries = {entry.offering: _on_this_clock(entry, lesson.now) for entry in lesson.pool.status.offerings}
    found = (failure_of(request, lesson.providers, lesson.now, settings) for request in lesson.requests)
    failures = [failure for failure in found if failure is not None]
    for failure in sorted(failures, key=lambda one: (one.at, one.scope)):
        entry = entries.get(failure.scope, OfferingStatus(failure.scope))
        if not accounts_for(entry, failure):
            entries[failure.scope] = _left_alone(entry, failure, settings)
    for scope, entry in list(entries.items()):
        if _is_had_again(entry, lesson):
            entries[scope] = msgspec.structs.replace(entry, available_since=lesson.now)
    floors: dict[str, _Floor] = {}
    surprising = [request for request in lesson.requests if not _is_as_expected(request, lesson, floors)]
    for request in sorted(surprising, key=lambda one: one.metadata.name):
        _measure(request, lesson, entries)
    forgotten = (_forgetting(entry, lesson.now, settings) for _, entry in sorted(entries.items()))
    return _bounded([entry for entry in forgotten if entry is not None])


def next_change(entries: Iterable[OfferingStatus], now: datetime, settings: ProvisionSettings) -> datetime | None:
    """When one of these is forgotten, if nothing happens before."""
    ends = [_worst(entry) + settings.forget_after for entry in entries if entry.since is not None]
    return min((end for end in ends if end > now), default=None)


def _left_alone(entry: OfferingStatus, failure: Failure, settings: ProvisionSettings) -> OfferingStatus:
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


def _is_had_again(entry: OfferingStatus, lesson: Lesson) -> bool:
    """Whether a machine could be had that was asked for after the failure.

    Those that were asked for together with it are no news: of ten, seven may be had before the stock is used up. When
    that was is told by our own clock: the API server's may be another one, and would open what just failed for ever.
    """
    if entry.until is None or entry.since is None or entry.available_since is not None:
        return False
    news_from = min(entry.until, entry.since + BURST)
    for request in lesson.every_request:
        offering, accepted_at = _bought_as(request, lesson), accepted_at_of(request)
        is_of_it = offering is not None and entry.offering in (offering.id, *offering.groups)
        is_had = request.status.phase in ("Provisioning", "Ready")
        if is_of_it and is_had and accepted_at is not None and news_from <= accepted_at <= lesson.now:
            return True
    return False


def _bought_as(request: NodeRequest, lesson: Lesson) -> Offering | None:
    """What its machine is, as it is believed to be. A request may leave the location open; then its node says it."""
    exact = lesson.shop.get(request.spec.target_offering)
    node = lesson.nodes.get(request.metadata.name)
    return exact or (lesson.shop.get(node.metadata.labels.get(OFFERING, "")) if node is not None else None)


class _Floor:
    """What a node of an offering has at least, and what the last one had that has all of it: the next has the same."""

    __slots__ = ("amounts", "known")

    def __init__(self, expected: Mapping[str, str]) -> None:
        self.amounts = {name: nano_value(amount) for name, amount in expected.items()}
        self.known: Mapping[str, str] | None = None

    def is_met_by(self, has: Mapping[str, str]) -> bool:
        if has == self.known:
            return True
        is_met = all(name in has and nano_value(has[name]) >= amount for name, amount in self.amounts.items())
        if is_met:
            self.known = has
        return is_met


def _is_as_expected(request: NodeRequest, lesson: Lesson, floors: dict[str, _Floor]) -> bool:
    """Whether its node surely teaches nothing: nearly always, so what is expected is worked out once per offering."""
    node = lesson.nodes.get(request.metadata.name)
    believed = _bought_as(request, lesson) if node is not None else None
    if node is None or believed is None:
        return True
    floor = floors.get(believed.id)
    if floor is None:
        floor = floors[believed.id] = _Floor(allocatable_from(believed, lesson.pool))
    return floor.is_met_by(node.status.allocatable)


def _measure(request: NodeRequest, lesson: Lesson, entries: dict[str, OfferingStatus]) -> None:
    """Compare a node with what its offering promised."""
    node, pool = lesson.nodes.get(request.metadata.name), lesson.pool
    believed = _bought_as(request, lesson)
    if node is None or not node.is_ready or believed is None or request.status.phase not in ("Provisioning", "Ready"):
        return
    listed = lesson.listed.get(believed.id, believed)
    entry = entries.get(believed.id, OfferingStatus(believed.id))
    # Another node of the same pass may have taught us something that the shop does not know yet.
    believed = _least(believed, corrected(listed, [entry]))
    has_settled = request.status.phase == "Ready"  # before that, devices may still be on their way
    surprise = _without_devices(shortfall(node, allocatable_from(believed, pool)), keep=has_settled)
    if not surprise:
        return
    whole = _without_devices(shortfall(node, allocatable_from(listed, pool)), keep=has_settled)
    lacks = {
        name: max((whole.get(name, "0"), entry.lacks.get(name, "0")), key=nano_value)
        for name in sorted({*whole, *entry.lacks})
    }
    words = ", ".join(f"{amount} less {name}" for name, amount in sorted(whole.items()))
    changed = msgspec.structs.replace(entry, lacks=lacks)
    if _is_remarkable(surprise, allocatable_from(believed, pool)):
        message = f"node {node.metadata.name} has {words} than promised"
        surprises = entry.surprises + 1
        if surprises >= TOO_MANY_SURPRISES:
            message += "; it is not the first time, so it is not bought any more"
        changed = msgspec.structs.replace(
            changed, surprises=surprises, since=lesson.now, reason=SMALLER, message=message[:1024]
        )
    entries[believed.id] = changed


def _least(one: Offering, other: Offering) -> Offering:
    """An offering that has no more of anything than either."""
    least = {name: min(text, other.resources.get(name, text), key=nano_value) for name, text in one.resources.items()}
    return msgspec.structs.replace(one, resources=least)


def _without_devices(amounts: Mapping[str, str], *, keep: bool) -> dict[str, str]:
    return {name: amount for name, amount in amounts.items() if keep or "/" not in name}


def _is_remarkable(less: Mapping[str, str], expected: Mapping[str, str]) -> bool:
    return any(nano_value(amount) > _NEGLIGIBLE * nano_value(expected[name]) for name, amount in less.items())


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
    return OfferingStatus(entry.offering, lacks=entry.lacks) if entry.lacks else None


def _worst(entry: OfferingStatus) -> datetime:
    """When it was last known to be wrong with it."""
    since = entry.since or datetime.min.replace(tzinfo=UTC)
    return max(since, entry.until or since)
