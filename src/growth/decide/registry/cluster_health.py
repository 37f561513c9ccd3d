"""S1: is the cluster in good enough shape to act in? And if not, since when, because of whom, and for how long.

    healthy ──too many unready without reason──► unhealthy ──not so for a check──► healthy

It turns unhealthy at once, and healthy again only when nothing was amiss for the time of one check. Nodes that are not
ours count for the alarm, but halt us for a while only: their owner may never mend them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.settings.model import RegistrySettings
from growth.api.status import MAX_WORDS
from growth.decide.elapsed import is_ahead
from growth.decide.facts.cluster_state import ClusterHealth, NodeState, ReadinessCensus, Unit

_NAMED: Final = 20
# What follows from it is said after it, in the same sentence.
_LONGEST: Final = MAX_WORDS - 128


def checked(
    before: ClusterHealth, ready: int, unready: Sequence[Unit], now: datetime, settings: RegistrySettings
) -> ClusterHealth:
    """The health after one look: so many nodes are ready, and these are unready without reason."""
    foreign = sum(unit.state is NodeState.FOREIGN for unit in unready)
    census = ReadinessCensus(ready, len(unready) - foreign, foreign)
    if _is_amiss(len(unready), ready, settings):
        return _unhealthy(before, census, unready, now, settings)
    if not before.is_healthy:
        # A process that was just started has yet to see a healthy cluster for a while.
        bad_at = now if _was_amiss(before.census, settings) else min(before.bad_at or now, now)
        recovers_at = bad_at + settings.check_every
        if now < recovers_at:
            return msgspec.structs.replace(before, census=census, bad_at=bad_at, changes_at=recovers_at)
    recovered_at = now if not before.is_healthy else before.recovered_at
    return ClusterHealth(healthy_since=_resumed(before, now, is_halted=False), census=census, recovered_at=recovered_at)


def _unhealthy(
    before: ClusterHealth, census: ReadinessCensus, unready: Sequence[Unit], now: datetime, settings: RegistrySettings
) -> ClusterHealth:
    since = now if before.is_healthy else min(before.unhealthy_since or now, now)
    check, at_most = settings.check_every, settings.foreign_halt_at_most
    is_by_ours = _is_amiss(census.unready, census.ready, settings)
    was_so = _is_amiss(before.census.unready, before.census.ready, settings)
    ours_bad_at = now if is_by_ours or was_so else before.ours_bad_at
    was_by_ours = ours_bad_at is not None and is_ahead(ours_bad_at + check, now, check)
    is_halted = is_by_ours or was_by_ours or is_ahead(since + at_most, now, at_most)
    return ClusterHealth(
        is_healthy=False,
        is_halted=is_halted,
        healthy_since=_resumed(before, now, is_halted=is_halted),
        unhealthy_since=since,
        alarm=before.alarm if not before.is_healthy and before.alarm else _alarm(unready, census.ready),
        census=census,
        bad_at=now,
        ours_bad_at=ours_bad_at,
        changes_at=now + check,
    )


def _resumed(before: ClusterHealth, now: datetime, *, is_halted: bool) -> datetime | None:
    """Since when Growth may act: a clock that was set back must not keep deadlines waiting for its return."""
    if before.is_halted and not is_halted:
        return now
    return None if before.healthy_since is None else min(before.healthy_since, now)


def _is_amiss(unready: int, ready: int, settings: RegistrySettings) -> bool:
    if not unready:
        return False
    is_too_many = unready > settings.ok_unready and 100 * unready > settings.unready_percent * (unready + ready)
    return is_too_many or not ready


def _was_amiss(census: ReadinessCensus, settings: RegistrySettings) -> bool:
    return _is_amiss(census.unready + census.foreign_unready, census.ready, settings)


def _alarm(unready: Sequence[Unit], ready: int) -> str:
    names = sorted(f"{unit.name} (not ours)" if unit.state is NodeState.FOREIGN else unit.name for unit in unready)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    total = len(names) + ready
    words = f"{len(names)} of {total} nodes are unready without reason: {', '.join(names[:_NAMED])}{more}"
    return words[:_LONGEST]
