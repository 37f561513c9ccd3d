"""What a pool's status says of its failed launches: where machines never worked, and what they cost.

Each given-up request is counted once, by its uid: the status keeps the uids until the requests are gone. Working nodes
are noted only while something fails, because only then they tell anything.

What people read about launches that fail: in the pool's status and conditions, and as events on it.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.actions import RecordEvent
from growth.api.annotations import mark_of, was_started
from growth.api.growth_kinds import NODE_POOLS
from growth.api.node_pool import FailedLaunches, NodePool, Unhealthy, Wasted
from growth.api.node_request import NodeRequest
from growth.api.offering import OFFERING, POOL, Offering
from growth.api.references import reference_to
from growth.api.settings.model import ProvisionSettings
from growth.api.status import MAX_WORDS
from growth.api.timestamp import format_time
from growth.decide.capacity.launch_failures import LaunchRecord, first_failure, noted_in, unnoted_of, wait_after
from growth.decide.capacity.offering_catalog import as_billed
from growth.decide.capacity.offering_history import PoolObservation, launched_as
from growth.decide.capacity.provider_failures import FailedRequest, failure_of
from growth.decide.elapsed import CLOCKS_DIFFER

# As many as a pool's status may hold.
_MOST_ENTRIES: Final = 256
_MOST_COUNTED: Final = 4096
_HOUR: Final = timedelta(hours=1)


def failed_launches(observation: PoolObservation, settings: ProvisionSettings) -> tuple[FailedLaunches, ...]:
    """What the pool's status should say about offerings whose machines never worked, in the order of their ids."""
    pool, template = observation.pool, mark_of(observation.pool)
    entries = {one.offering: _on_this_clock(one, observation.now) for one in noted_in(pool)}
    for failure in _unnoted(observation, settings):
        entries[failure.scope] = _with(entries.get(failure.scope), failure, settings, template)
    if not any(one.failures for one in entries.values()):
        return ()
    _note_working_nodes(observation, entries, template)
    kept = {
        name: one
        for name, one in entries.items()
        if not one.failures or observation.now < forgotten_at(one, observation.now, settings)
    }
    if not any(one.failures for one in kept.values()):
        return ()
    _set_retries(observation, kept, settings)
    newest = sorted(kept.values(), key=lambda one: (one.failures > 0, one.last_at or observation.now, one.offering))
    return tuple(sorted(newest[-_MOST_ENTRIES:], key=lambda one: one.offering))


def failing_in(entries: Iterable[FailedLaunches]) -> frozenset[str]:
    """The offerings that fail; the others are noted because they work."""
    return frozenset(one.offering for one in entries if one.failures)


def forgotten_at(entry: FailedLaunches, now: datetime, settings: ProvisionSettings) -> datetime:
    """When a failure is no reason to do anything any more."""
    return max(entry.last_at or now, entry.retry_at or now) + settings.forget_after


def wasted(observation: PoolObservation, settings: ProvisionSettings) -> Wasted:
    """The pool's machines that were paid for in vain, with those that were given up since it was last written."""
    before = observation.pool.status.wasted
    there = {one.metadata.uid: one for one in observation.requests}
    counted = [uid for uid in before.counted if uid in there]
    new = [failure.request for failure in _unnoted(observation, settings)]
    costs = [cost for uid in new if (cost := _cost(there[uid], observation)) is not None]
    if not new and len(counted) == len(before.counted):
        return before
    return Wasted(
        before.machines + len(costs),
        f"{float(before.cost or 0) + sum(costs):.4f}",
        tuple(sorted([*counted, *new])[-_MOST_COUNTED:]),
    )


def _unnoted(observation: PoolObservation, settings: ProvisionSettings) -> list[FailedRequest]:
    found = (failure_of(one, observation.providers, observation.now, settings) for one in observation.requests)
    unnoted = unnoted_of((one for one in found if one is not None), observation.pool)
    return sorted(unnoted, key=lambda one: (one.at, one.scope, one.request))


def _with(
    before: FailedLaunches | None, failure: FailedRequest, settings: ProvisionSettings, template: str
) -> FailedLaunches:
    new = first_failure(failure, settings, template)
    if before is None or not before.failures:
        return new if before is None else msgspec.structs.replace(new, worked_at=before.worked_at)
    # What was launched together fails together: only a launch after a known failure is another round.
    is_another_round = before.last_at is not None and failure.asked_at > before.last_at
    return msgspec.structs.replace(
        new,
        failures=before.failures + 1,
        rounds=before.rounds + is_another_round,
        since=min(before.since or failure.asked_at, failure.asked_at),
        launched_at=max(before.launched_at or failure.asked_at, failure.asked_at),
        worked_at=before.worked_at,
    )


def _note_working_nodes(observation: PoolObservation, entries: dict[str, FailedLaunches], template: str) -> None:
    """Nodes that work or worked prove their offering, and clear it of failures of machines that are older."""
    for node in observation.nodes.values():
        labels, born = node.metadata.labels, node.metadata.creation_timestamp
        name = labels.get(OFFERING, "")
        if labels.get(POOL) not in observation.alike or not name or born is None or not was_started(node):
            continue
        entry = entries.get(name) or FailedLaunches(name, template=template)
        worked_at = max(entry.worked_at or born, born)
        if entry.launched_at is not None and worked_at > entry.launched_at:
            entry = FailedLaunches(name, template=template)
        entries[name] = msgspec.structs.replace(entry, worked_at=worked_at)


def _set_retries(observation: PoolObservation, entries: dict[str, FailedLaunches], settings: ProvisionSettings) -> None:
    """The wait counts for a server type as a whole, in the order of its failures."""
    types = {name: listed.type_id for name in entries if (listed := observation.listed.get(name)) is not None}
    rounds: dict[str, int] = {}
    for name, one in sorted(entries.items()):
        rounds[types.get(name, name)] = rounds.get(types.get(name, name), 0) + one.rounds
    for name, one in entries.items():
        if one.failures and one.last_at is not None:
            retry_at = one.last_at + wait_after(rounds[types.get(name, name)], settings)
            entries[name] = msgspec.structs.replace(one, retry_at=retry_at)


def _cost(request: NodeRequest, observation: PoolObservation) -> float | None:
    """What its machine cost until it was given up; None if the provider never accepted one."""
    began_at, ended_at = request.metadata.creation_timestamp, request.status.phase_since
    if not request.status.provider_id or began_at is None or ended_at is None:
        return None
    offering = launched_as(request, observation)
    price = as_billed(offering, observation.pool).price_per_hour if offering is not None else 0.0
    return price * max(ended_at - began_at, timedelta(0)) / _HOUR


def _on_this_clock(entry: FailedLaunches, now: datetime) -> FailedLaunches:
    """A clock may have been set back: what lies ahead counts as if it had just happened."""
    if entry.last_at is None or entry.last_at <= now + CLOCKS_DIFFER:
        return entry
    return msgspec.structs.replace(entry, last_at=now, retry_at=now)


def next_forgotten(entries: Iterable[FailedLaunches], now: datetime, settings: ProvisionSettings) -> datetime | None:
    """When one of these failures is forgotten, if nothing happens before."""
    ends = [forgotten_at(one, now, settings) for one in entries if one.failures]
    return min((end for end in ends if end > now), default=None)


# A single machine that never works may be chance; a second one in a row is not.
_FAILURES_IN_A_ROW: Final = 2


def failing_parts(record: LaunchRecord, offerings: Iterable[Offering]) -> list[Unhealthy]:
    """Offerings that make their pool unhealthy: two machines in a row failed, of their type or of the whole pool."""
    listed = list(offerings)
    types = {one.id: one.type_id for one in listed}
    in_pool = sum(record.failing[name].failures for name in record.tried)
    return [
        Unhealthy(name, one.since, _sentence(one))
        for name, one in sorted(record.failing.items())
        if max(in_pool, record.failures_of(listed, types.get(name, name))) >= _FAILURES_IN_A_ROW
    ]


def launch_events(pool: NodePool, failed: Iterable[FailedLaunches]) -> Iterator[RecordEvent]:
    """One event for each cause, however many machines it costs."""
    subject = reference_to(NODE_POOLS, pool.metadata)
    for one in failed:
        if one.failures:
            why = f"{one.offering}: {one.message}"
            yield RecordEvent(subject=subject, why=why, type="Warning", reason=one.reason, action="Checking")


def _sentence(failing: FailedLaunches) -> str:
    count = failing.failures
    times = f"{count} machines in a row never worked" if count > 1 else "the last machine never worked"
    retry = f"; one more is tried after {format_time(failing.retry_at)}" if failing.retry_at is not None else ""
    return f"{times} ({failing.reason}: {failing.message}){retry}"[:MAX_WORDS]
