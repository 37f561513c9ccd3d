"""Who last gave a sign of life, and when: the Leases of the nodes.

Thousands of Leases are renewed in every ten seconds, and what matters is who is not: so they stand in the order in
which they were last renewed, and whoever looks for silence begins at the old end.

The instant is the one at which we heard of it: a node's own clock may be wrong.

Whether somebody renews Kueue's Lease: that is, whether a Kueue is alive.

No clock is compared with another one. A Lease that is held was renewed when we first saw it, for all that we know, and
again whenever we see that it was. One that nobody renewed for longer than it is good for, by our own clock, belongs to
somebody who is gone.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.core import Lease
from growth.api.queue.kueue_installation import KueueLease

# A kubelet renews its Lease four times in the time for which it is good. Two that were missed are half of it.
_MISSED_SHARE: Final = 0.5
# What kubelets write. A Lease that does not say for how long it is good is not one that is always too late.
_KUBELET_SECONDS: Final = 40


class NodeHeartbeat(msgspec.Struct, frozen=True):
    """The last renewal that we heard of."""

    renewed_at: datetime | None
    """By the node's clock: only good for telling one renewal from the next."""
    heard_at: datetime
    silent_after: timedelta
    """Two renewals were missed when none was heard of for so long."""
    is_renewal: bool = True
    """Whether it was seen to be renewed, and not just found as it was: then it may be long ago."""

    def is_silent(self, now: datetime) -> bool:
        """Whether two renewals were missed, or nobody can tell: the clock was set back since it was heard of."""
        return not timedelta(0) <= now - self.heard_at < self.silent_after


class NodeHeartbeats:
    """Told of all Leases of nodes; the clock is given."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._last: OrderedDict[str, NodeHeartbeat] = OrderedDict()
        self._shortest = timedelta.max

    def hear(self, changes: Iterable[Change[Lease]]) -> None:
        """Leases were made, renewed or deleted."""
        for change in changes:
            name, spec = change.now.metadata.name, change.now.spec
            if change.happened is ChangeType.DELETED:
                self._last.pop(name, None)
                continue
            known = self._last.get(name)
            if known is not None and known.renewed_at == spec.renew_time:
                continue  # somebody else edited it, or it was read again
            silent_after = timedelta(seconds=(spec.lease_duration_seconds or _KUBELET_SECONDS) * _MISSED_SHARE)
            self._shortest = min(self._shortest, silent_after)
            self._last[name] = NodeHeartbeat(spec.renew_time, self._now(), silent_after, known is not None)
            self._last.move_to_end(name)

    def of(self, name: str) -> NodeHeartbeat | None:
        """The last one of this node; None if it has no Lease."""
        return self._last.get(name)

    def silent(self, now: datetime) -> Iterator[str]:
        """Names of nodes that missed two renewals, as far as the clock tells; the longest silent first."""
        for name, heartbeat in self._last.items():
            if timedelta(0) <= now - heartbeat.heard_at < self._shortest:
                return
            if heartbeat.is_silent(now):
                yield name

    def next_silence(self, now: datetime) -> datetime | None:
        """When the next one falls silent, if it is not heard of before; None if nobody is left to fall silent."""
        for heartbeat in self._last.values():
            if not heartbeat.is_silent(now):
                return heartbeat.heard_at + heartbeat.silent_after
        return None

    def __len__(self) -> int:
        """How many nodes have a Lease."""
        return len(self._last)


# What Kueue writes, if a Lease does not say it. A little more is allowed: a server or a watch may be late.
_KUEUE_SECONDS: Final = 15
_GRACE: Final = timedelta(seconds=2)


class Held(msgspec.Struct, frozen=True):
    """A Lease that somebody holds."""

    lease: KueueLease
    heard_at: datetime
    """When we first saw it as it is now."""

    @property
    def good_for(self) -> timedelta:
        """So long after that its holder is taken to be alive."""
        return timedelta(seconds=self.lease.spec.lease_duration_seconds or _KUEUE_SECONDS) + _GRACE


class KueueLeases:
    """Told of all Leases of that name, by namespace; the clock is given."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._held: dict[str, Held] = {}

    def hear(self, changes: Iterable[Change[KueueLease]]) -> None:
        """Leases were made, renewed, released or deleted."""
        for change in changes:
            namespace, spec = change.now.metadata.namespace, change.now.spec
            if change.happened is ChangeType.DELETED or not spec.holder_identity:
                self._held.pop(namespace, None)
                continue
            known = self._held.get(namespace)
            if known is None or known.lease.spec != spec:
                self._held[namespace] = Held(change.now, self._now())

    @property
    def held(self) -> Mapping[str, Held]:
        """Those that somebody holds, dead or alive, by namespace."""
        return self._held
