"""S2 to S4: how each pool is, and each thing that is bought in it; what is coming, and what is missing since when."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final

import msgspec

from growth.api.settings.model import RegistrySettings
from growth.decide.facts.cluster_state import GroupKey, NodeState, PoolGroup, Unit

_BETTER: Final = "; it is better now, and must stay so for a while"


class PoolTally:
    """What there is of each group, while it is counted."""

    def __init__(self, ready: Mapping[GroupKey, int], troubled: Iterable[Unit]) -> None:
        self.counts: dict[GroupKey, dict[NodeState, int]] = {}
        self.amiss: dict[GroupKey, int] = {}
        """Of a pool as a whole, only machines that worked before: what never did speaks of its type, not of the pool
        (``decide.capacity.launch_failures``)."""
        self._broken: dict[GroupKey, int] = {}
        """Of those of an offering, the ones that worked before."""
        self.missing_since: dict[GroupKey, datetime] = {}
        self.blamed: dict[str, set[str]] = {}
        """By pool, the offerings of which something is amiss; an empty one if nobody knows what was bought."""
        for (pool, offering), count in ready.items():
            for key in _keys(pool, offering):
                self._add(key, NodeState.READY, count)
        for unit in troubled:
            if unit.pool:
                self._count(unit)

    def _count(self, unit: Unit) -> None:
        for key in _keys(unit.pool, unit.offering):
            self._add(key, unit.state, 1)
            is_broken = unit.is_amiss and unit.state is NodeState.UNREADY
            if is_broken:
                self._broken[key] = self._broken.get(key, 0) + 1
            if is_broken or (unit.is_amiss and key[1]):
                self.amiss[key] = self.amiss.get(key, 0) + 1
            if (since := unit.missing_since) is not None:
                self.missing_since[key] = min(self.missing_since.get(key, since), since)
        if unit.is_amiss:
            self.blamed.setdefault(unit.pool, set()).add(unit.offering)

    def _add(self, key: GroupKey, state: NodeState, count: int) -> None:
        if count:
            counts = self.counts.setdefault(key, {})
            counts[state] = counts.get(state, 0) + count

    def is_amiss(self, key: GroupKey, settings: RegistrySettings) -> bool:
        """Whether a group is beyond its limits. The narrowest blame that explains it holds: if one offering alone is,
        its machines say nothing about their pool."""
        pool, offering = key
        amiss, ready = self.amiss.get(key, 0), self.counts.get(key, {}).get(NodeState.READY, 0)
        if not offering:
            closed = [one for one in self.blamed.get(pool, ()) if one and self.is_amiss((pool, one), settings)]
            if len(closed) == 1:
                amiss -= self._broken.get((pool, closed[0]), 0)
                ready -= self.counts.get((pool, closed[0]), {}).get(NodeState.READY, 0)
        return amiss > settings.pool_ok_amiss and 100 * amiss > settings.pool_amiss_percent * (amiss + ready)


def grouped(
    tally: PoolTally, before: Mapping[GroupKey, PoolGroup], now: datetime, settings: RegistrySettings
) -> dict[GroupKey, PoolGroup]:
    """All groups that there are, and those that have yet to improve."""
    found: dict[GroupKey, PoolGroup] = {}
    for key in sorted(tally.counts.keys() | {key for key, group in before.items() if group.is_unhealthy}):
        pool, offering = key
        counts, amiss = tally.counts.get(key, {}), tally.amiss.get(key, 0)
        group = PoolGroup(pool, offering, counts, amiss, tally.missing_since.get(key))
        is_amiss = tally.is_amiss(key, settings)
        group = _with_health(group, before.get(key), is_amiss=is_amiss, now=now, settings=settings)
        if counts or group.is_unhealthy:
            found[key] = group
    return found


def _keys(pool: str, offering: str) -> tuple[GroupKey, ...]:
    return ((pool, offering), (pool, "")) if offering else ((pool, ""),)


def _with_health(
    group: PoolGroup, before: PoolGroup | None, *, is_amiss: bool, now: datetime, settings: RegistrySettings
) -> PoolGroup:
    """Unhealthy at once; healthy again when it was within its limits for a while."""
    was_unhealthy = before is not None and before.is_unhealthy
    if is_amiss:
        since = before.unhealthy_since if before is not None and was_unhealthy else None
        return msgspec.structs.replace(
            group, is_unhealthy=True, unhealthy_since=min(since or now, now), why=_why(group)
        )
    if before is None or not was_unhealthy:
        return group
    latest = now + settings.improves_after
    improves_at = min(before.improves_at or latest, latest)  # a clock may have been set back
    if now >= improves_at:
        return group
    why = f"{before.why.removesuffix(_BETTER)}{_BETTER}"
    return msgspec.structs.replace(
        group, is_unhealthy=True, unhealthy_since=before.unhealthy_since, improves_at=improves_at, why=why
    )


def _why(group: PoolGroup) -> str:
    ready = group.counts.get(NodeState.READY, 0)
    what = group.offering or "the pool"
    return f"{group.amiss} of {group.amiss + ready} machines of {what} are unready, failed to start or overdue"
