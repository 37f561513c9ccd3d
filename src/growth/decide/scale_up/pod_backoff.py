"""The backoff of a pod that no plan had capacity for.

| failure | tried again after |
|---|---|
| 1st, 2nd | 10 s |
| 3rd, 4th, 5th ... | 30 s, 60 s, 2 min ... 10 min |
| the one after 10 min | BackOff: time alone does not help any more |

A pod is tried again at once when its circumstances are others (``RetryFingerprint``), even in backoff.
"""

from datetime import datetime, timedelta
from typing import Final

from growth.api.annotations import BackOff
from growth.api.settings.model import GrowSettings
from growth.decide.capacity.retry_fingerprint import RetryFingerprint
from growth.decide.elapsed import is_ahead

_FREE_FAILURES: Final = 2


def failed(before: BackOff | None, now: datetime, saw: str, settings: GrowSettings) -> BackOff:
    """What to write on a pod that found no place once more; plans may follow each other faster than failures count."""
    if before is not None and timedelta(0) <= now - before.at < settings.count_failures_every:
        # People write annotations, too: an end that could not have been set is none.
        is_right = before.until is None or is_ahead(before.until, now, _longest(settings))
        return BackOff(
            before.failures, before.at, before.until if is_right else now + settings.count_failures_every, saw
        )
    failures = (before.failures if before else 0) + 1
    delay = _delay(failures, settings)
    return BackOff(failures, now, None if delay is None else now + delay, saw)


def is_held(record: BackOff, now: datetime, circumstances: RetryFingerprint, settings: GrowSettings) -> bool:
    """Whether a pod with this record is left alone for now."""
    if not circumstances.hold_what(record.saw):
        return False
    return record.is_final or is_ahead(record.until, now, _longest(settings))


def _longest(settings: GrowSettings) -> timedelta:
    return max(settings.back_off_at_most, settings.count_failures_every)


def _delay(failures: int, settings: GrowSettings) -> timedelta | None:
    if failures <= _FREE_FAILURES:
        return settings.count_failures_every
    delay = settings.back_off
    for _ in range(failures - _FREE_FAILURES - 1):
        if delay >= settings.back_off_at_most:
            return None
        delay *= 2
    return min(delay, settings.back_off_at_most)
