"""Which offerings of a pool are suspect because machines never worked. Docs: docs/failed-launches.md.

A refusal by the provider costs nothing and says what it is about. A machine that is launched and never becomes a
working node costs money and a failure time, and says less: the cause may be the server type (an image for another
architecture, a type that the account may not use), or what all types of the pool share (image, start-up script,
network). So one failure makes its server type suspect in every location, and every type unproven of which no node
works: one machine of it comes first. A success narrows the suspicion again: a node of the type elsewhere leaves only
the offering that failed suspect, a node of another type clears what the types share.

Pools with the same machine settings share what they know: image and network are the same.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from growth.api.annotations import mark_of
from growth.api.node_pool import FailedLaunches, NodePool
from growth.api.offering import Offering
from growth.api.settings.model import ProvisionSettings
from growth.decide.capacity.provider_failures import LAUNCHED, FailedRequest

_NEVER: Final = datetime.min.replace(tzinfo=UTC)
# More doublings than this are beyond any bound.
_DOUBLINGS: Final = 16


class LaunchRecord(msgspec.Struct, frozen=True):
    """What is known about launches of one pool while some of them fail."""

    pool: str
    failing: Mapping[str, FailedLaunches]
    """By offering: those whose last machine never worked."""
    suspects: Mapping[str, str]
    """By offering of the pool, why none is planned with: it failed, or its type did in another location."""
    unproven: frozenset[str]
    """Server types (``type_id``) of which one machine comes first: none is known to work, and no launch of the pool has
    worked since the failures began."""
    tried: frozenset[str]
    """Offerings that failed since the pool last had a working node."""
    failing_since: datetime
    """When the first of these failures became known."""
    launched_at: datetime
    """When the last machine that failed was requested."""
    retry_at: Mapping[str, datetime]
    """By server type that is suspect, from when on one machine is launched beside a working offering."""

    @property
    def sentence(self) -> str:
        """What fails, for people who wait for the pool."""
        named = [f"{name} ({one.reason})" for name, one in sorted(self.failing.items())]
        more = f" and {len(named) - 3} more" if len(named) > 3 else ""
        return f"machines of pool {self.pool} fail to become working nodes: {', '.join(named[:3])}{more}"

    def failures_of(self, offerings: Iterable[Offering], type_id: str) -> int:
        """Failures in a row of a server type, in all locations."""
        ids = {one.id for one in offerings if one.type_id == type_id} | {type_id}
        return sum(one.failures for name, one in self.failing.items() if name in ids)


def record_of(
    pool: NodePool,
    pools: Iterable[NodePool],
    offerings: Collection[Offering],
    unnoted: Mapping[str, Sequence[FailedRequest]],
    settings: ProvisionSettings,
) -> LaunchRecord | None:
    """What is known of a pool that may launch these offerings; None if none of its launches failed.

    ``unnoted`` are, by pool, failures that its status does not include yet.
    """
    alike = [one for one in pools if are_alike(one, pool)]
    known = [entry for one in alike for entry in noted_in(one)]
    known += [first_failure(failure, settings) for one in alike for failure in unnoted.get(one.metadata.name, ())]
    if not any(one.failures for one in known):
        return None
    types = {one.id: one.type_id for one in offerings} | {one.type_id: one.type_id for one in offerings}
    worked = _worked(known, types)
    failing = _failing(known, worked)
    if not failing:
        return None
    pool_worked = max(worked.values(), default=_NEVER)
    failed_types: dict[str, datetime] = {}
    for name, one in failing.items():
        type_id = types.get(name)
        if type_id is not None and (one.launched_at or _NEVER) >= _latest(worked, types, type_id):
            failed_types[type_id] = max(failed_types.get(type_id, _NEVER), one.last_at or _NEVER)
    suspects: dict[str, str] = {}
    for one in offerings:
        if (own := failing.get(one.id) or failing.get(one.type_id)) is not None:
            suspects[one.id] = own.message
        elif one.type_id in failed_types:
            where = sorted(name for name in failing if types.get(name) == one.type_id)
            suspects[one.id] = f"machines of its type failed: {', '.join(where)}"
    is_doubtful = any((one.since or _NEVER) >= pool_worked for one in failing.values())
    proven = {types[name] for name in worked}
    unproven = {one.type_id for one in offerings if one.id not in suspects and one.type_id not in proven}
    return LaunchRecord(
        pool.metadata.name,
        failing,
        suspects,
        frozenset(unproven if is_doubtful else ()),
        frozenset(name for name, one in failing.items() if (one.launched_at or _NEVER) >= pool_worked),
        min(one.last_at or _NEVER for one in failing.values()),
        max(one.launched_at or _NEVER for one in failing.values()),
        _retries(failing, types, failed_types, settings),
    )


def noted_in(pool: NodePool) -> list[FailedLaunches]:
    """What the pool's status says of its present template: with another one, nothing is suspected."""
    entries = pool.status.failed_launches
    if not entries:
        return []
    template = mark_of(pool)
    return [one for one in entries if one.template in ("", template)]


def first_failure(failure: FailedRequest, settings: ProvisionSettings, template: str = "") -> FailedLaunches:
    """One machine that never worked."""
    return FailedLaunches(
        failure.scope,
        failures=1,
        rounds=1,
        since=failure.asked_at,
        launched_at=failure.asked_at,
        last_at=failure.at,
        retry_at=failure.at + wait_after(1, settings),
        reason=failure.reason,
        message=failure.message,
        template=template,
    )


def wait_after(rounds: int, settings: ProvisionSettings) -> timedelta:
    """How long nothing of a type is launched beside what works: longer than it takes to fail, and doubled each time."""
    return min(settings.machine_within * 2 ** min(max(rounds, 1) - 1, _DOUBLINGS), settings.forget_after)


def unnoted_of(failures: Iterable[FailedRequest], pool: NodePool) -> list[FailedRequest]:
    """Of what became of the pool's requests, the launches that its status does not include yet."""
    counted = set(pool.status.wasted.counted)
    return [one for one in failures if one.reason in LAUNCHED and one.request not in counted]


def are_alike(one: NodePool, other: NodePool) -> bool:
    """Whether machines of both are made alike, so that what fails in the one fails in the other."""
    return one is other or (one.spec.provider, one.spec.machine) == (other.spec.provider, other.spec.machine)


def _worked(known: Iterable[FailedLaunches], types: Mapping[str, str]) -> dict[str, datetime]:
    """By offering, when its newest working node registered."""
    found: dict[str, datetime] = {}
    for one in known:
        if one.worked_at is not None and one.offering in types:
            found[one.offering] = max(found.get(one.offering, one.worked_at), one.worked_at)
    return found


def _failing(known: Iterable[FailedLaunches], worked: Mapping[str, datetime]) -> dict[str, FailedLaunches]:
    """By offering, what failed since it last worked; of several pools together."""
    found: dict[str, FailedLaunches] = {}
    for one in known:
        if not one.failures or (one.launched_at or _NEVER) < worked.get(one.offering, _NEVER):
            continue
        before = found.get(one.offering)
        found[one.offering] = one if before is None else _together(before, one)
    return found


def _together(one: FailedLaunches, other: FailedLaunches) -> FailedLaunches:
    last = max((one, other), key=lambda each: each.last_at or _NEVER)
    return msgspec.structs.replace(
        last,
        failures=one.failures + other.failures,
        rounds=max(one.rounds, other.rounds),
        since=min(one.since or _NEVER, other.since or _NEVER),
        launched_at=max(one.launched_at or _NEVER, other.launched_at or _NEVER),
    )


def _latest(worked: Mapping[str, datetime], types: Mapping[str, str], type_id: str) -> datetime:
    return max((at for name, at in worked.items() if types[name] == type_id), default=_NEVER)


def _retries(
    failing: Mapping[str, FailedLaunches],
    types: Mapping[str, str],
    failed_types: Mapping[str, datetime],
    settings: ProvisionSettings,
) -> dict[str, datetime]:
    """By server type that is suspect: the end of the wait that all its failures together have earned."""
    rounds: dict[str, int] = {}
    for name, one in failing.items():
        if name in types:
            rounds[types[name]] = rounds.get(types[name], 0) + one.rounds
    return {name: last + wait_after(rounds[name], settings) for name, last in failed_types.items()}
