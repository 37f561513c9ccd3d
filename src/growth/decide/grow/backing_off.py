"""How long a pod that found no place is left alone.

| failure | tried again after |
|---|---|
| 1st, 2nd | 10 s |
| 3rd, 4th, 5th ... | 30 s, 60 s, 2 min ... 10 min |
| the one after 10 min | BackOff: time alone does not help any more |

Whatever the record says, a pod is tried again at once when the circumstances are others: another set of pools, an
offering that can be had again.
"""

from datetime import datetime, timedelta
from typing import Final

from growth.api.backoff import BackOff
from growth.api.settings import GrowSettings
from growth.decide.ages import is_ahead

_FREE_FAILURES: Final = 2


def failed(before: BackOff | None, now: datetime, saw: str, settings: GrowSettings) -> BackOff:
    """What to write on a pod that found no place once more; plans may follow each other faster than failures count."""
    if before is not None and timedelta(0) <= now - before.at < settings.count_failures_every:
        return BackOff(before.failures, before.at, before.until, saw)
    failures = (before.failures if before else 0) + 1
    delay = _delay(failures, settings)
    return BackOff(failures, now, None if delay is None else now + delay, saw)


def is_held(record: BackOff, now: datetime, circumstances: str, settings: GrowSettings) -> bool:
    """Whether a pod with this record is left alone for now."""
    if record.saw != circumstances:
        return False
    longest = max(settings.back_off_at_most, settings.count_failures_every)
    return record.is_final or is_ahead(record.until, now, longest)


def _delay(failures: int, settings: GrowSettings) -> timedelta | None:
    if failures <= _FREE_FAILURES:
        return settings.count_failures_every
    # More doublings than this are beyond any bound, and beyond what a timedelta can hold.
    doublings = min(failures - _FREE_FAILURES - 1, 32)
    wished = settings.back_off * 2**doublings
    if doublings and settings.back_off * 2 ** (doublings - 1) >= settings.back_off_at_most:
        return None
    return min(wished, settings.back_off_at_most)
