"""Which kinds the virtual API server serves, and where. More than Growth reads: the workloads of stories, too."""

from typing import Any, Final

import msgspec

from growth.api.growth_kinds import OWN_KINDS
from growth.api.queue.kinds import QUEUE_KINDS


class Resource(msgspec.Struct, frozen=True, eq=False):
    """One kind of object on the server. There is one of each, equal to itself only: so it is quickest to look up."""

    group: str
    version: str
    plural: str
    kind: str
    is_namespaced: bool = True
    has_status: bool = True
    """Whether status is a subresource: writes to the object leave it alone, and the other way round."""

    @property
    def api_version(self) -> str:
        """What stands in ``apiVersion``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def root(self) -> str:
        """The path above the plural, and above ``namespaces/...`` if there is one."""
        return f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


PODS: Final = Resource("", "v1", "pods", "Pod")
NODES: Final = Resource("", "v1", "nodes", "Node", is_namespaced=False)
NAMESPACES: Final = Resource("", "v1", "namespaces", "Namespace", is_namespaced=False)
CONFIG_MAPS: Final = Resource("", "v1", "configmaps", "ConfigMap", has_status=False)
SECRETS: Final = Resource("", "v1", "secrets", "Secret", has_status=False)
CLAIMS: Final = Resource("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
VOLUMES: Final = Resource("", "v1", "persistentvolumes", "PersistentVolume", is_namespaced=False)
EVENTS: Final = Resource("events.k8s.io", "v1", "events", "Event", has_status=False)
DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS: Final = Resource("apps", "v1", "replicasets", "ReplicaSet")
STATEFUL_SETS: Final = Resource("apps", "v1", "statefulsets", "StatefulSet")
DAEMON_SETS: Final = Resource("apps", "v1", "daemonsets", "DaemonSet")
JOBS: Final = Resource("batch", "v1", "jobs", "Job")
BUDGETS: Final = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
PRIORITY_CLASSES: Final = Resource(
    "scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", is_namespaced=False, has_status=False
)
LIMIT_RANGES: Final = Resource("", "v1", "limitranges", "LimitRange", has_status=False)
RESOURCE_QUOTAS: Final = Resource("", "v1", "resourcequotas", "ResourceQuota")
RUNTIME_CLASSES: Final = Resource(
    "node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", is_namespaced=False, has_status=False
)
LEASES: Final = Resource("coordination.k8s.io", "v1", "leases", "Lease", has_status=False)
_STORAGE: Final[dict[str, Any]] = {"group": "storage.k8s.io", "version": "v1"}
STORAGE_CLASSES: Final = Resource(
    **_STORAGE, plural="storageclasses", kind="StorageClass", is_namespaced=False, has_status=False
)
CSI_NODES: Final = Resource(**_STORAGE, plural="csinodes", kind="CSINode", is_namespaced=False, has_status=False)
CSI_DRIVERS: Final = Resource(**_STORAGE, plural="csidrivers", kind="CSIDriver", is_namespaced=False, has_status=False)
CSI_STORAGE_CAPACITIES: Final = Resource(
    **_STORAGE, plural="csistoragecapacities", kind="CSIStorageCapacity", has_status=False
)
ATTACHMENTS: Final = Resource(**_STORAGE, plural="volumeattachments", kind="VolumeAttachment", is_namespaced=False)
_ADMISSION: Final[dict[str, Any]] = {"group": "admissionregistration.k8s.io", "version": "v1", "is_namespaced": False}
POLICIES: Final = Resource(
    **_ADMISSION, plural="mutatingadmissionpolicies", kind="MutatingAdmissionPolicy", has_status=False
)
POLICY_BINDINGS: Final = Resource(
    **_ADMISSION, plural="mutatingadmissionpolicybindings", kind="MutatingAdmissionPolicyBinding", has_status=False
)
MUTATING_WEBHOOKS: Final = Resource(
    **_ADMISSION, plural="mutatingwebhookconfigurations", kind="MutatingWebhookConfiguration", has_status=False
)
VALIDATING_WEBHOOKS: Final = Resource(
    **_ADMISSION, plural="validatingwebhookconfigurations", kind="ValidatingWebhookConfiguration", has_status=False
)
OURS: Final = tuple(
    Resource(
        own.kind.group,
        own.kind.version,
        own.kind.plural,
        own.kind.name,
        is_namespaced=own.kind.namespaced,
        has_status=own.has_status,
    )
    for own in (*OWN_KINDS, *QUEUE_KINDS)
)

ALL: Final = (
    PODS,
    NODES,
    NAMESPACES,
    CONFIG_MAPS,
    SECRETS,
    CLAIMS,
    VOLUMES,
    EVENTS,
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    DAEMON_SETS,
    JOBS,
    BUDGETS,
    PRIORITY_CLASSES,
    LIMIT_RANGES,
    RESOURCE_QUOTAS,
    RUNTIME_CLASSES,
    LEASES,
    STORAGE_CLASSES,
    CSI_NODES,
    CSI_DRIVERS,
    CSI_STORAGE_CAPACITIES,
    ATTACHMENTS,
    POLICIES,
    POLICY_BINDINGS,
    MUTATING_WEBHOOKS,
    VALIDATING_WEBHOOKS,
    *OURS,
)
