"""How long to wait before asking again: doubling, capped, and jittered so that replicas do not march in step."""

import random


class Backoff:
    """The delays of one who keeps failing; a success starts them over."""

    def __init__(self, first_seconds: float, cap_seconds: float, jitter: random.Random) -> None:
        self._first = first_seconds
        self._cap = cap_seconds
        self._jitter = jitter
        self._failures = 0

    def succeeded(self) -> None:
        """Forget all failures."""
        self._failures = 0

    def failed(self, asked_seconds: float | None = None) -> float:
        """Seconds to wait after one more failure: never less than the server asked for."""
        # Beyond 2^16 the cap has long been reached; the bound keeps the power from growing for ever.
        longest = min(self._cap, self._first * 2.0 ** min(self._failures, 16))
        self._failures += 1
        return (asked_seconds or 0.0) + longest * self._jitter.uniform(0.5, 1.0)
