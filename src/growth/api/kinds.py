"""Which kinds we speak, where the API server serves them and into which struct they are decoded."""

from typing import Final, Generic, TypeVar

import msgspec

from growth.api.core import ConfigMap, Event, Lease, Namespace, Secret
from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.storage import (
    CsiDriver,
    CsiNode,
    CsiStorageCapacity,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)
from growth.api.workloads import DaemonSet, Job, PodDisruptionBudget, PriorityClass

T = TypeVar("T")


class Kind(msgspec.Struct, Generic[T], frozen=True):
    """One kind of object: its address on the API server and our type for it."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool
    type: type[T]
    is_tolerant: bool = False
    """Whether one object that cannot be read is set aside, and the others go on: who writes this kind may know words
    that we do not. Of all other kinds no object may be missed."""

    @property
    def api_version(self) -> str:
        """What stands in ``apiVersion`` of a manifest."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path under which all versions of a group's objects live: ``/api/v1`` or ``/apis/apps/v1``."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def collection(self, namespace: str = "") -> str:
        """The path of all objects, of one namespace if it is named."""
        return f"{self.root}/namespaces/{namespace}/{self.plural}" if namespace else f"{self.root}/{self.plural}"

    def path(self, name: str, namespace: str = "", subresource: str = "") -> str:
        """The path of one object or of its subresource."""
        base = f"{self.collection(namespace)}/{name}"
        return f"{base}/{subresource}" if subresource else base


def _core(plural: str, kind: type[T], *, namespaced: bool = True) -> Kind[T]:
    return Kind("", "v1", plural, kind.__name__, namespaced, kind)


def _grouped(group: str, plural: str, kind: type[T], *, namespaced: bool = True, name: str = "") -> Kind[T]:
    return Kind(group, "v1", plural, name or kind.__name__, namespaced, kind)


PODS: Final = _core("pods", Pod)
NODES: Final = _core("nodes", Node, namespaced=False)
NAMESPACES: Final = _core("namespaces", Namespace, namespaced=False)
CONFIG_MAPS: Final = _core("configmaps", ConfigMap)
SECRETS: Final = _core("secrets", Secret)
PERSISTENT_VOLUMES: Final = _core("persistentvolumes", PersistentVolume, namespaced=False)
PERSISTENT_VOLUME_CLAIMS: Final = _core("persistentvolumeclaims", PersistentVolumeClaim)
STORAGE_CLASSES: Final = _grouped("storage.k8s.io", "storageclasses", StorageClass, namespaced=False)
CSI_NODES: Final = _grouped("storage.k8s.io", "csinodes", CsiNode, namespaced=False, name="CSINode")
CSI_DRIVERS: Final = _grouped("storage.k8s.io", "csidrivers", CsiDriver, namespaced=False, name="CSIDriver")
CSI_STORAGE_CAPACITIES: Final = _grouped(
    "storage.k8s.io", "csistoragecapacities", CsiStorageCapacity, name="CSIStorageCapacity"
)
VOLUME_ATTACHMENTS: Final = _grouped("storage.k8s.io", "volumeattachments", VolumeAttachment, namespaced=False)
DAEMON_SETS: Final = _grouped("apps", "daemonsets", DaemonSet)
JOBS: Final = _grouped("batch", "jobs", Job)
POD_DISRUPTION_BUDGETS: Final = _grouped("policy", "poddisruptionbudgets", PodDisruptionBudget)
PRIORITY_CLASSES: Final = _grouped("scheduling.k8s.io", "priorityclasses", PriorityClass, namespaced=False)
LEASES: Final = _grouped("coordination.k8s.io", "leases", Lease)
EVENTS: Final = _grouped("events.k8s.io", "events", Event)
