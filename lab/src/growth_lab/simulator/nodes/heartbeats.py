"""Heartbeats: each living node renews its Lease, and nobody writes that down unless somebody watches.

A Lease in the store shows when its node began to renew it, or the last renewal of a node that fell silent. What it
shows in between follows from the clock. While Leases are watched, every renewal is a write, because a watch tells
nothing else.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from growth_lab.simulator.clock import Clock, written_exactly
from growth_lab.simulator.merge_patch import Json, merged
from growth_lab.simulator.served_kinds import LEASES
from growth_lab.simulator.store import Event, Store
from growth_lab.simulator.timings import Timings

NAMESPACE: Final = "kube-node-lease"
# kwok and the kubelet renew this often in the time for which a Lease is good.
_RENEWALS: Final = 4


class Heartbeats:
    """The Leases of all nodes whose kubelets run here."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._clock, self._store = clock, store
        self._duration = timings.node_lease
        self._period = timings.node_lease / _RENEWALS
        self._since: dict[str, float] = {}  # by node, the first renewal of its present life
        self._last: dict[str, float] = {}  # by node that fell silent
        self._owners: dict[str, str] = {}
        self._listeners: list[Callable[[str], None]] = []
        self._timers: dict[str, asyncio.TimerHandle] | None = None  # only while somebody watches
        store.listen(LEASES, self._hear)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Be called with the name of each node that begins to renew its Lease, or ends it."""
        self._listeners.append(listener)

    def is_beating(self, node: str) -> bool:
        """Whether the node renews its Lease."""
        return node in self._since

    def last_renewal(self, node: str) -> float | None:
        """When a node last renewed its Lease, in seconds; None if it never did."""
        since = self._since.get(node)
        if since is None:
            return self._last.get(node)
        return self._renewal(node)

    def _renewal(self, node: str) -> float:
        since = self._since[node]
        # Floats: a renewal that is due now counts as made.
        return since + (self._clock.seconds() - since + 1e-6) // self._period * self._period

    def begin(self, node: str, uid: str) -> None:
        """The node begins, or goes on, to renew its Lease."""
        if node in self._since:
            return
        self._since[node], self._owners[node] = self._clock.seconds(), uid
        self._write(node)
        if self._timers is not None:
            self._renew_later(node)
        self._tell(node)

    def end(self, node: str) -> None:
        """The node falls silent: its Lease shows the last renewal from now on."""
        if node not in self._since:
            return
        if self._store.get(LEASES, node, NAMESPACE) is not None:
            self._write(node)
        self._last[node] = self._renewal(node)
        del self._since[node], self._owners[node]
        if self._timers is not None:
            self._timers.pop(node).cancel()
        self._tell(node)

    def as_of_now(self, lease: Json) -> Json:
        """A stored Lease as it looks at this instant."""
        meta = lease["metadata"]
        if meta.get("namespace") != NAMESPACE or meta["name"] not in self._since:
            return lease
        return merged(lease, {"spec": {"renewTime": self._stamp(self._renewal(meta["name"]))}})

    def be_watched(self, is_watched: bool) -> None:  # noqa: FBT001 - the form that growth_lab.simulator.api.computed asks for
        """Somebody watches Leases, so renewals must be written; or nobody does any more."""
        if is_watched == (self._timers is not None):
            return
        if is_watched:
            self._timers = {}
            for node in self._since:
                self._write(node)
                self._renew_later(node)
        else:
            for timer in (self._timers or {}).values():
                timer.cancel()
            self._timers = None

    def _renew_later(self, node: str) -> None:
        if self._timers is not None:
            pause = self._renewal(node) + self._period - self._clock.seconds()
            self._timers[node] = self._clock.after(pause, lambda: self._renew(node))

    def _renew(self, node: str) -> None:
        self._write(node)
        self._renew_later(node)

    def _write(self, node: str) -> None:
        if node not in self._since:
            return
        spec = {
            "holderIdentity": node,
            "leaseDurationSeconds": round(self._duration),
            "renewTime": self._stamp(self._renewal(node)),
        }
        if self._store.get(LEASES, node, NAMESPACE) is not None:
            self._store.patch(LEASES, node, NAMESPACE, {"spec": spec})
            return
        owner = {"apiVersion": "v1", "kind": "Node", "name": node, "uid": self._owners[node]}
        meta = {"name": node, "namespace": NAMESPACE, "ownerReferences": [owner]}
        self._store.create(LEASES, {"metadata": meta, "spec": spec})

    def _hear(self, event: Event) -> None:
        """A Lease that somebody deletes is made again with the next renewal."""
        node, meta = event.object["metadata"]["name"], event.object["metadata"]
        if event.what != "DELETED" or meta.get("namespace") != NAMESPACE or self._timers is not None:
            return
        if node in self._since:
            pause = self._renewal(node) + self._period - self._clock.seconds()
            self._clock.after(pause, lambda: self._write(node))

    def _stamp(self, seconds: float) -> str:
        return written_exactly(self._clock.now() + timedelta(seconds=seconds - self._clock.seconds()))

    def _tell(self, node: str) -> None:
        for listener in self._listeners:
            listener(node)
