"""The published limit: 3600 calls an hour and project, spent in bursts if one likes, one comes back each second."""

import math
from datetime import datetime, timedelta
from typing import Final

LIMIT: Final = 3600
_PER_SECOND: Final = 1.0


class RateLimit:
    """How many calls are left."""

    def __init__(self, now: datetime) -> None:
        self._left = float(LIMIT)
        self._seen_at = now

    def takes(self, now: datetime) -> bool:
        """Spend one call, if one is left."""
        self._refill(now)
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def set_left(self, left: int, now: datetime) -> None:
        """So many are left from now on."""
        self._left, self._seen_at = float(left), now

    def headers(self, now: datetime) -> tuple[tuple[str, str], ...]:
        """What every answer to a known token carries; ``Reset`` is when all calls are there again."""
        self._refill(now)
        full_at = now + timedelta(seconds=(LIMIT - self._left) / _PER_SECOND)
        return (
            ("RateLimit-Limit", str(LIMIT)),
            ("RateLimit-Remaining", str(int(self._left))),
            ("RateLimit-Reset", str(math.ceil(full_at.timestamp()))),
        )

    def _refill(self, now: datetime) -> None:
        passed = max(0.0, (now - self._seen_at).total_seconds())
        self._left = min(float(LIMIT), self._left + passed * _PER_SECOND)
        self._seen_at = max(self._seen_at, now)
