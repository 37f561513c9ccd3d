"""How fast nodes of a zone may be emptied: one at a time, slower or not at all when much of the zone is down.

Kubernetes suspects itself rather than believe that most machines died at once. Normal: one node every ten seconds. More
than half of a zone (and at least three nodes) down: a tenth of that in zones of more than fifty nodes, none in smaller
ones. A zone that is down altogether is emptied at the normal speed, unless all zones are.
"""

from typing import Final, Literal

from growth_lab.simulator.timings import Timings

ZoneState = Literal["Normal", "Partial", "Full"]

_UNHEALTHY_SHARE: Final = 0.55
_UNHEALTHY_NODES: Final = 3
_LARGE_ZONE: Final = 50


def state_of(ready: int, unready: int) -> ZoneState:
    """How a zone is, by how many of its nodes are ready."""
    if not ready and unready:
        return "Full"
    if unready >= _UNHEALTHY_NODES and unready / (ready + unready) >= _UNHEALTHY_SHARE:
        return "Partial"
    return "Normal"


def rate_of(state: ZoneState, nodes: int, timings: Timings) -> float:
    """How many nodes a second may be emptied."""
    if state != "Partial":
        return timings.node_evictions_per_second
    return timings.node_evictions_per_second_in_trouble if nodes > _LARGE_ZONE else 0.0


class Brake:
    """A bucket that holds one token and fills at the rate of its zone."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate: float = rate
        self._tokens: float = 1.0
        self._at: float = now

    def has_token(self, now: float) -> bool:
        """Take a token, if there is one."""
        self._fill(now)
        if self._tokens < 1 - 1e-9:
            return False
        self._tokens -= 1
        return True

    def next_token(self, now: float) -> float | None:
        """How long until there is one; None if there never will be."""
        self._fill(now)
        if not self._rate:
            return None
        return max(0.0, (1 - self._tokens) / self._rate)

    def change(self, rate: float, now: float) -> None:
        """Another rate: a bucket that was empty stays empty, a full one stays full."""
        self._fill(now)
        if rate != self._rate:
            self._tokens = 1.0 if self._tokens >= 1 - 1e-9 and self._rate and rate else 0.0
            self._rate = rate

    def _fill(self, now: float) -> None:
        self._tokens = min(1.0, self._tokens + (now - self._at) * self._rate)
        self._at = now
