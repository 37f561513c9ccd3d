"""What a lease says, and what may be concluded from it: values in, values out, neither clock nor network.

Two machines never agree on what time it is, so no instant that another one wrote is ever compared with a clock of
ours. All that its ``renewTime`` is good for is to differ from the one before: a record that changed is alive. How long
it may stay unchanged is counted on our own monotonic clock from when we first saw it so (``ObservedLease.since``).

The Lease object on the API server: read it, make it, change it if nobody else did.

Each call is one request and no retries: those of the client could outlive a leader's deadline. Each carries its own
patience, and every change carries the resource version on which it was decided.
"""

import math
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.core import Lease
from growth.api.kinds import LEASES
from growth.api.timestamp import format_micro_time
from growth.kube.client import Client
from growth.kube.patches import Json, MergePatch
from growth.kube.retry import send_once
from growth.kube.transport import Method, Request

MISSING_HOLDER: Final = "unknown-previous-holder"
"""In whose name a missing lease is made anew. It never renews, so whoever may still hold the deleted one runs out."""

_TICK: Final = timedelta(microseconds=1)  # the finest that a MicroTime can tell apart

Spec = dict[str, Any]


class LeaseTerms(msgspec.Struct, frozen=True, kw_only=True):
    """How long a lease is good for; all replicas may differ, because each record carries its own duration.

    A holder writes until ``renew_deadline_seconds`` after the last renewal it sent, others take over
    ``lease_duration_seconds`` after they saw it. The difference covers what is on the wire when the deadline passes and
    two clocks that run at different speeds.
    """

    lease_duration_seconds: float = 15.0
    renew_deadline_seconds: float = 10.0
    retry_period_seconds: float = 2.0

    def __post_init__(self) -> None:
        if not 0 < self.retry_period_seconds < self.renew_deadline_seconds < self.lease_duration_seconds:
            raise ValueError(
                "a lease needs 0 < retry period < renew deadline < lease duration, but they are "
                f"{self.retry_period_seconds:g} s, {self.renew_deadline_seconds:g} s and "
                f"{self.lease_duration_seconds:g} s; raise the longer ones"
            )

    @property
    def whole_duration_seconds(self) -> int:
        """The duration as it stands in the record: whole seconds, never less than meant."""
        return math.ceil(self.lease_duration_seconds)

    @property
    def gap_seconds(self) -> float:
        """From the holder's last permitted send to the earliest instant in which another one may begin."""
        return self.lease_duration_seconds - self.renew_deadline_seconds


class ObservedLease(msgspec.Struct, frozen=True):
    """A lease as we saw it, and since when (on our monotonic clock) its record has not changed before our eyes."""

    lease: Lease
    since: float


def seen(before: ObservedLease | None, lease: Lease, clock: float) -> ObservedLease:
    """The new sight. ``clock`` is read after the answer came: later than the truth only makes us wait longer.

    What counts as a change is what a holder changes, not the resource version: a tool that labels the lease every few
    seconds would otherwise keep a dead holder alive.
    """
    if before is not None and _record(before.lease) == _record(lease):
        return ObservedLease(lease, before.since)
    return ObservedLease(lease, clock)


def _record(lease: Lease) -> tuple[str, str, int, datetime | None]:
    spec = lease.spec
    return lease.metadata.uid, spec.holder_identity, spec.lease_transitions, spec.renew_time


def free_at(sight: ObservedLease, identity: str, terms: LeaseTerms) -> float:
    """From when on ``identity`` may take this lease. At once, if nobody holds it or it still stands in our name."""
    spec = sight.lease.spec
    if spec.holder_identity in ("", identity):
        return -math.inf
    # The holder's own promise counts, not ours: replicas with other terms may run side by side during an upgrade.
    return sight.since + (spec.lease_duration_seconds or terms.whole_duration_seconds)


def claim(lease: Lease, identity: str, terms: LeaseTerms, now: datetime) -> Spec:
    """The fields by which ``identity`` takes a lease, or renews it if it already holds it."""
    spec = {"leaseDurationSeconds": terms.whole_duration_seconds, "renewTime": format_micro_time(_after(lease, now))}
    if lease.spec.holder_identity == identity:
        return spec
    return {
        **spec,
        "holderIdentity": identity,
        "acquireTime": format_micro_time(now),
        "renewTime": format_micro_time(now),
        "leaseTransitions": lease.spec.lease_transitions + 1,
    }


def release(lease: Lease, now: datetime) -> Spec:
    """The fields by which the holder gives a lease up; null removes the name."""
    return {"holderIdentity": None, "leaseDurationSeconds": 1, "renewTime": format_micro_time(_after(lease, now))}


def replacement(terms: LeaseTerms, now: datetime) -> Spec:
    """A lease where there is none: held by an unknown one, so that everybody first waits for a full duration."""
    return {
        "holderIdentity": MISSING_HOLDER,
        "leaseDurationSeconds": terms.whole_duration_seconds,
        "acquireTime": format_micro_time(now),
        "renewTime": format_micro_time(now),
    }


def _after(lease: Lease, now: datetime) -> datetime:
    """An instant that this holder never wrote before, even if the wall clock stands still or jumps back.

    Otherwise a renewal could leave the record as it was, and others would believe that there was none.
    """
    last = lease.spec.renew_time
    return now if last is None else max(now, last + _TICK)


class LeaseObject:
    """One lease by its name."""

    def __init__(self, client: Client, name: str, namespace: str) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self._path = LEASES.path(name, namespace)

    async def read(self, patience: float) -> Lease:
        """As it is now; raises NotFound."""
        return await self._send(Request(Method.GET, self._path, timeout_seconds=patience))

    async def create(self, spec: Spec, patience: float) -> Lease:
        """Make it; raises AlreadyExists."""
        body: Json = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.name,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": spec,
        }
        content = MergePatch(body).encode()
        return await self._send(
            Request(Method.POST, LEASES.collection(self._namespace), body=content, timeout_seconds=patience)
        )

    async def change(self, seen: Lease, spec: Spec, patience: float) -> Lease:
        """Set fields, if it is still as we saw it; raises Conflict, NotFound."""
        patch = MergePatch({"metadata": {"resourceVersion": str(seen.metadata.resource_version)}, "spec": spec})
        return await self._send(
            Request(
                Method.PATCH,
                self._path,
                body=patch.encode(),
                content_type=patch.content_type,
                timeout_seconds=patience,
            )
        )

    async def _send(self, request: Request) -> Lease:
        return self._client.reader(LEASES).object((await send_once(self._client.transport, request)).body)

    def __str__(self) -> str:
        return f"lease {self._namespace}/{self._name}"
