"""What every object carries: who it is, which version we saw, who owns it."""

from datetime import datetime

from growth.api.slim import Slim


class OwnerReference(Slim, frozen=True, gc=True, weakref=True):
    """Who made this object and takes it along when it goes."""

    kind: str
    name: str
    uid: str
    api_version: str = ""
    controller: bool = False


class ObjectMeta(Slim, frozen=True):
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


class Condition(Slim, frozen=True):
    """One statement of a status and since when it holds.

    ``status`` should be True, False or Unknown, but on nodes and pods the API server takes any word.
    """

    type: str
    status: str = "Unknown"
    reason: str = ""
    last_transition_time: datetime | None = None
