"""Leases: who leads, and which node last gave a sign of life."""

from datetime import datetime

from growth.api.meta import ObjectMeta
from growth.api.slim import Slim


class LeaseSpec(Slim, frozen=True):
    """Who holds the lease, since when, and how long it is good for after each renewal."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int = 0


class Lease(Slim, frozen=True):
    """One lease."""

    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()
