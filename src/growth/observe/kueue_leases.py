"""Whether somebody renews Kueue's Lease: that is, whether a Kueue is alive.

No clock is compared with another one. A Lease that is held was renewed when we first saw it, for all that we know, and
again whenever we see that it was. One that nobody renewed for longer than it is good for, by our own clock, belongs to
somebody who is gone.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.change import Change, Happened
from growth.api.queue.kueue_installation import KueueLease

# What Kueue writes, if a Lease does not say it. A little more is allowed: a server or a watch may be late.
_USUAL_SECONDS: Final = 15
_GRACE: Final = timedelta(seconds=2)


class Held(msgspec.Struct, frozen=True):
    """A Lease that somebody holds."""

    lease: KueueLease
    heard_at: datetime
    """When we first saw it as it is now."""

    @property
    def good_for(self) -> timedelta:
        """So long after that its holder is taken to be alive."""
        return timedelta(seconds=self.lease.spec.lease_duration_seconds or _USUAL_SECONDS) + _GRACE


class KueueLeases:
    """Told of all Leases of that name, by namespace; the clock is given."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._held: dict[str, Held] = {}

    def hear(self, changes: Iterable[Change[KueueLease]]) -> None:
        """Leases were made, renewed, released or deleted."""
        for change in changes:
            namespace, spec = change.now.metadata.namespace, change.now.spec
            if change.happened is Happened.DELETED or not spec.holder_identity:
                self._held.pop(namespace, None)
                continue
            known = self._held.get(namespace)
            if known is None or known.lease.spec != spec:
                self._held[namespace] = Held(change.now, self._now())

    @property
    def held(self) -> Mapping[str, Held]:
        """Those that somebody holds, dead or alive, by namespace."""
        return self._held
