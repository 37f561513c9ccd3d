"""The base of everything we read from the API server: exactly the fields we use, frozen, unknown fields skipped.

Kubernetes objects are about 3.5 KB each and a large cluster holds 150,000 of them; we keep a few hundred bytes. What
is not named in a struct is skipped while decoding and never becomes a Python object. The price: a slim object is for
reading only, it must never be sent back as a whole (that would erase what we skipped), so writes are patches.

What every object carries: who it is, which version we saw, who owns it.
"""

from datetime import datetime

import msgspec


class FrozenValue(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """A frozen value without cycles (so the garbage collector need not track it), camelCase on the wire."""


class OwnerReference(FrozenValue, frozen=True, gc=True, weakref=True):
    """Who made this object and takes it along when it goes."""

    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool = False


class ObjectMeta(FrozenValue, frozen=True):
    """The metadata we use. ``resource_version`` is an integer: Kubernetes 1.35 promises that it may be compared."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def controller(self) -> OwnerReference | None:
        """The one owner that manages this object (a ReplicaSet, a Job, a DaemonSet), if there is one."""
        # A plain loop: this is asked of every pod of a large cluster, and a generator takes five times as long.
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class Condition(FrozenValue, frozen=True):
    """One statement of a status and since when it holds.

    ``status`` should be True, False or Unknown, but on nodes and pods the API server takes any word.
    """

    type: str
    status: str = "Unknown"
    reason: str = ""
    last_transition_time: datetime | None = None
