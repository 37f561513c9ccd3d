"""What requests and nodes teach about offerings: it is written into the status of their pool, where it outlives them.

- An offering that could not be had is left alone, longer each time. One machine that could be had after that opens it.
  (A machine that was launched and never worked is another matter: ``decide.launch_log``.)
- Nodes that turn out smaller or larger than was estimated correct that (``decide.measuring``).
- What went wrong is forgotten when for long enough nothing did; what nodes turned out to have is not.
- What lies ahead of us was written before a clock was set back: it counts as if it had just happened, and may be tried.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

import msgspec

from growth.api.node_pool import OfferingStatus
from growth.api.settings.model import ProvisionSettings
from growth.decide.access import BURST, accounts_for
from growth.decide.failures import CLOCKS_DIFFER, LAUNCHED, OF_ONE_POOL, Failure, failure_of
from growth.decide.lesson import Lesson, bought_as
from growth.decide.measuring import measure, with_image
from growth.decide.offerings import accepted_at_of

# As many as a pool's status may hold; the whole status would be refused otherwise.
MOST_ENTRIES: Final = 256


def learnt(lesson: Lesson, settings: ProvisionSettings) -> tuple[OfferingStatus, ...]:
    """What the pool's status should say about offerings, in the order of their names."""
    image = lesson.pool.spec.machine.image
    entries = {
        entry.offering: _on_this_clock(with_image(entry, image), lesson.now) for entry in lesson.pool.status.offerings
    }
    found = (failure_of(request, lesson.providers, lesson.now, settings) for request in lesson.requests)
    failures = [failure for failure in found if failure is not None and failure.reason not in LAUNCHED]
    for failure in sorted(failures, key=lambda one: (one.at, one.scope)):
        entry = entries.get(failure.scope, OfferingStatus(failure.scope))
        if not accounts_for(entry, failure):
            entries[failure.scope] = _left_alone(entry, failure, settings)
    for scope, entry in list(entries.items()):
        if _is_had_again(entry, lesson):
            entries[scope] = msgspec.structs.replace(entry, available_since=lesson.now)
    measure(lesson, entries)
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
    # What another pool could have says nothing about what this one asks for.
    for request in lesson.requests if entry.reason in OF_ONE_POOL else lesson.every_request:
        offering, accepted_at = bought_as(request, lesson), accepted_at_of(request)
        is_of_it = offering is not None and entry.offering in (offering.id, *offering.groups)
        is_had = request.status.phase in ("Provisioning", "Ready")
        if is_of_it and is_had and accepted_at is not None and news_from <= accepted_at <= lesson.now:
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
