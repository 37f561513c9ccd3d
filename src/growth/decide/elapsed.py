"""How old something is that carries a wall-clock time, on a clock that may have jumped."""

from datetime import datetime, timedelta
from typing import Final

from growth.api.node_request import NodeRequest

# Clocks of two leaders may differ by so much. What was written farther ahead of us was written before a clock was set.
CLOCKS_DIFFER: Final = timedelta(minutes=1)


def counts_from(written: datetime | None, now: datetime, steady_since: datetime | None) -> datetime:
    """The instant from which a deadline counts.

    What was written before the clock jumped says nothing about how long ago that was: it counts from the jump. So does
    what lies ahead of us; without a jump seen (another machine's clock is ahead) it counts from now.
    """
    if written is None or written > now:
        return now if steady_since is None else steady_since
    return written if steady_since is None else max(written, steady_since)


def since(
    written: datetime | None, now: datetime, steady_since: datetime | None, healthy_since: datetime | None
) -> datetime:
    """The same in a cluster that was too unhealthy to act in: what passed meanwhile counts from its recovery."""
    counted = counts_from(written, now, steady_since)
    return counted if healthy_since is None else max(counted, min(healthy_since, now))


def phase_since(request: NodeRequest, now: datetime) -> datetime | None:
    """Since when a request is in its phase, by the clock of the leader who wrote that.

    What lies far ahead was written by a clock that was wrong, and would keep the request until ours is there, too. Then
    it counts from when the request was made, by the API server's clock: a little too early rather than hours too late.
    """
    written, made = request.status.phase_since, request.metadata.creation_timestamp
    is_wrong = written is not None and written > now + CLOCKS_DIFFER
    return made if is_wrong and made is not None else written


def is_ahead(until: datetime | None, now: datetime, longest: timedelta) -> bool:
    """Whether an instant is still to come. One that is farther away than it could ever be set is a clock's mistake."""
    return until is not None and timedelta(0) < until - now <= longest
