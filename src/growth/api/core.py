"""The small kinds of the core group: namespaces, ConfigMaps, Secrets, events.

Leases: who leads, and which node last gave a sign of life.
"""

from datetime import datetime

from growth.api.meta import FrozenValue, ObjectMeta


class Namespace(FrozenValue, frozen=True):
    """One namespace; its labels decide what namespace selectors mean."""

    metadata: ObjectMeta


class ConfigMap(FrozenValue, frozen=True):
    """Named texts."""

    metadata: ObjectMeta
    data: dict[str, str] = {}


class Secret(FrozenValue, frozen=True):
    """Named bytes that few may read. Shown as text it names its keys alone: a log must never tell more."""

    metadata: ObjectMeta
    data: dict[str, bytes] = {}
    type: str = ""

    def __repr__(self) -> str:
        return f"Secret({self.metadata.namespace}/{self.metadata.name}, keys={sorted(self.data)})"


class ObjectReference(FrozenValue, frozen=True):
    """The object that an event tells about."""

    kind: str = ""
    name: str = ""
    namespace: str = ""
    uid: str = ""
    api_version: str = ""


class EventSeries(FrozenValue, frozen=True):
    """How often an event that goes on has happened, and when last."""

    count: int = 0
    last_observed_time: datetime | None = None


class Event(FrozenValue, frozen=True):
    """Something that happened to an object, told for people (``events.k8s.io/v1``)."""

    metadata: ObjectMeta
    type: str = ""
    reason: str = ""
    note: str = ""
    regarding: ObjectReference = ObjectReference()
    series: EventSeries | None = None


class LeaseSpec(FrozenValue, frozen=True):
    """Who holds the lease, since when, and how long it is good for after each renewal."""

    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: datetime | None = None
    renew_time: datetime | None = None
    lease_transitions: int = 0


class Lease(FrozenValue, frozen=True):
    """One lease."""

    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()
