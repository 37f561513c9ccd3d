"""How often we may ask: Hetzner's limit, shared so that looking never starves buying, and a pace of our own.

The limit holds for the whole project: the cloud controller, the CSI driver and people spend from it, too. So what is
left is what the last answer said, and not what we counted.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

from growth.cloud.hetzner.provider_errors import RATE_LIMITED_SECONDS, ApiRefused

_HOUR_SECONDS: Final = 3600.0
# Published; each answer says what holds for this project.
_LIMIT: Final = 3600
# Lists and the catalogue leave so much of the limit to purchases, deletions and proofs of power: a minute's worth. More
# would leave us blind for long after the limit was reached, and of what comes back lists take a seventh at most.
_RESERVED_SHARE: Final = 1 / 60


class RateBudget:
    """What is left of the limit. ``note`` may be called from any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._said = (float(_LIMIT), float(_LIMIT), clock())
        self._closed_until = clock()

    @property
    def left(self) -> float:
        """So many calls may be made now, if nobody else made any since the last answer."""
        limit, left, at = self._said
        return min(limit, left + (self._clock() - at) * limit / _HOUR_SECONDS)

    def note(self, headers: Mapping[str, str]) -> None:
        """An answer came."""
        try:
            limit, left = float(headers["RateLimit-Limit"]), float(headers["RateLimit-Remaining"])
        except (KeyError, ValueError):
            return  # something in between answered
        if limit > 0:
            self._said = (limit, left, self._clock())

    def note_refusal(self) -> float:
        """We asked too often; gives how many seconds to wait. All who ask meanwhile hear the same, without a call."""
        self._closed_until = self._clock() + RATE_LIMITED_SECONDS
        return RATE_LIMITED_SECONDS

    def check(self, *, is_urgent: bool) -> None:
        """Raise Refused, as the API would, if this call should not be made now."""
        wait = self._closed_until - self._clock()
        if not is_urgent:
            limit = self._said[0]
            wait = max(wait, (limit * _RESERVED_SHARE - self.left) * _HOUR_SECONDS / limit)
        if wait > 0:
            raise ApiRefused("rate_limit_exceeded", _words(is_urgent=is_urgent), writes=False, retry_after=wait)


def _words(*, is_urgent: bool) -> str:
    return "the API refused because of its limit just now" if is_urgent else "what is left is kept for purchases"


class PollPace:
    """Long lists cost a call for each page, so the longer they are, the rarer they are read.

    A list must not tell of an instant before it was asked for, so nothing is kept: who asks too early waits.
    """

    # 500 servers are ten pages. At one page in 7 s they are read every 70 s: 514 calls an hour.
    _seconds_per_page = 7.0
    # Small projects are read as often as anybody likes, and so is everything for a moment.
    _burst_pages = 30.0
    # Whoever asks has little patience (60 s), and the pages themselves take some of it.
    _longest_wait_seconds = 40.0

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._saved = self._burst_pages
        self._at = clock()

    async def wait(self, pages: int) -> None:
        """Return when a list of so many pages may be read."""
        self._save()
        missing = min(pages, self._burst_pages) - self._saved
        await asyncio.sleep(min(max(0.0, missing * self._seconds_per_page), self._longest_wait_seconds))

    def note(self, pages: int) -> None:
        """So many were read."""
        self._save()
        # Debts are forgiven at some point: a project that shrinks should not pay for its past for hours.
        self._saved = max(-self._burst_pages, self._saved - pages)

    def _save(self) -> None:
        now = self._clock()
        self._saved = min(self._burst_pages, self._saved + (now - self._at) / self._seconds_per_page)
        self._at = now
