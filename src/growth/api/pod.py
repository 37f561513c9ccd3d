"""Pods, as far as placing and judging them needs.

A cluster has many pods and few templates. ``PodSpec`` therefore leaves out the two things in which pods of a template
differ (``node_name`` and ``keys`` stand on the Pod), so that all of them can share one spec: see ``api.interning``.
"""

from datetime import datetime

import msgspec

from growth.api.meta import Condition, FrozenValue, ObjectMeta
from growth.api.selectors import LabelSelector, NodeSelector, NodeSelectorTerm
from growth.api.tolerations import Toleration


class ResourceRequirements(FrozenValue, frozen=True):
    """What a container or a pod asks for. Limits are not read: the API server made requests of them already."""

    requests: dict[str, str] = {}


class ContainerPort(FrozenValue, frozen=True):
    """A port of a container; only those taken on the host matter here."""

    host_port: int = 0
    host_ip: str = msgspec.field(name="hostIP", default="")
    protocol: str = "TCP"


class RestartRule(FrozenValue, frozen=True):
    """What happens when a container ends; some actions need a node that knows them."""

    action: str = ""


class Container(FrozenValue, frozen=True):
    """A container or init container; ``restart_policy`` Always makes an init container a sidecar."""

    name: str
    resources: ResourceRequirements = ResourceRequirements()
    ports: tuple[ContainerPort, ...] = ()
    restart_policy: str = ""
    restart_policy_rules: tuple[RestartRule, ...] = ()


class PodAffinityTerm(FrozenValue, frozen=True):
    """Other pods to be near to or far from. matchLabelKeys are merged into the selector by the API server."""

    topology_key: str
    label_selector: LabelSelector | None = None
    namespaces: tuple[str, ...] = ()
    namespace_selector: LabelSelector | None = None


class WeightedPodAffinityTerm(FrozenValue, frozen=True):
    """A wish about other pods."""

    weight: int
    pod_affinity_term: PodAffinityTerm


class PodAffinity(FrozenValue, frozen=True):
    """Rules about other pods; the same form serves affinity and anti-affinity."""

    required: tuple[PodAffinityTerm, ...] = msgspec.field(
        name="requiredDuringSchedulingIgnoredDuringExecution", default=()
    )
    preferred: tuple[WeightedPodAffinityTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class PreferredSchedulingTerm(FrozenValue, frozen=True):
    """A wish about the node."""

    weight: int
    preference: NodeSelectorTerm


class NodeAffinity(FrozenValue, frozen=True):
    """Rules about the node itself."""

    required: NodeSelector | None = msgspec.field(name="requiredDuringSchedulingIgnoredDuringExecution", default=None)
    preferred: tuple[PreferredSchedulingTerm, ...] = msgspec.field(
        name="preferredDuringSchedulingIgnoredDuringExecution", default=()
    )


class Affinity(FrozenValue, frozen=True):
    """All rules about where a pod may be."""

    node_affinity: NodeAffinity | None = None
    pod_affinity: PodAffinity | None = None
    pod_anti_affinity: PodAffinity | None = None


class TopologySpreadConstraint(FrozenValue, frozen=True):
    """How evenly pods of a kind must lie over the values of a node label."""

    max_skew: int
    topology_key: str
    when_unsatisfiable: str
    label_selector: LabelSelector | None = None
    min_domains: int | None = None
    node_affinity_policy: str = "Honor"
    node_taints_policy: str = "Ignore"
    match_label_keys: tuple[str, ...] = ()


class ClaimVolume(FrozenValue, frozen=True):
    """A volume that is a PersistentVolumeClaim."""

    claim_name: str


class EphemeralVolume(FrozenValue, frozen=True):
    """A volume whose claim is made for the pod and named ``{pod}-{volume}``."""


class GceDisk(FrozenValue, frozen=True):
    """A disk of Google's cloud, named in the pod itself."""

    pd_name: str
    read_only: bool = False


class AwsDisk(FrozenValue, frozen=True):
    """A disk of Amazon's cloud, named in the pod itself."""

    volume_id: str = msgspec.field(name="volumeID")


class IscsiDisk(FrozenValue, frozen=True):
    """An iSCSI disk, named in the pod itself."""

    iqn: str
    read_only: bool = False


class RbdImage(FrozenValue, frozen=True):
    """A Ceph image, named in the pod itself."""

    image: str
    monitors: tuple[str, ...] = ()
    pool: str = "rbd"
    read_only: bool = False


class HostPath(FrozenValue, frozen=True):
    """A piece of the node's own disk."""


class EmptyDir(FrozenValue, frozen=True):
    """Room of the pod's own on its node, gone with the pod; ``medium`` Memory means that it never was on a disk."""

    medium: str = ""


class Volume(FrozenValue, frozen=True):
    """A volume that binds the pod to a place or keeps others from its node. Of local ones only the names are kept
    (``PodSpec.local_volumes``), all other kinds are dropped."""

    name: str
    persistent_volume_claim: ClaimVolume | None = None
    ephemeral: EphemeralVolume | None = None
    gce_persistent_disk: GceDisk | None = None
    aws_elastic_block_store: AwsDisk | None = None
    iscsi: IscsiDisk | None = None
    rbd: RbdImage | None = None
    host_path: HostPath | None = None
    empty_dir: EmptyDir | None = None

    @property
    def is_local(self) -> bool:
        """Whether what is in it is on the disk of the node, and nowhere else."""
        return self.host_path is not None or (self.empty_dir is not None and self.empty_dir.medium != "Memory")

    @property
    def is_claim(self) -> bool:
        """Whether the volume is a PersistentVolumeClaim, be it the pod's own or one that outlives it."""
        return self.persistent_volume_claim is not None or self.ephemeral is not None

    @property
    def is_disk(self) -> bool:
        """Whether the volume is a disk that pods of one node cannot share as they like."""
        return (
            self.gce_persistent_disk is not None
            or self.aws_elastic_block_store is not None
            or self.iscsi is not None
            or self.rbd is not None
        )


class SchedulingGate(FrozenValue, frozen=True):
    """A reason why the scheduler must not look at the pod yet."""

    name: str


class PodResourceClaim(FrozenValue, frozen=True):
    """A device claim (dynamic allocation); we only need to know that there is one."""

    name: str


class PodSpec(FrozenValue, frozen=True, gc=True, weakref=True):
    """What pods of one template have in common, of all that the scheduler reads."""

    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    resources: ResourceRequirements | None = None
    overhead: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    affinity: Affinity | None = None
    tolerations: tuple[Toleration, ...] = ()
    topology_spread_constraints: tuple[TopologySpreadConstraint, ...] = ()
    volumes: tuple[Volume, ...] = ()
    resource_claims: tuple[PodResourceClaim, ...] = ()
    scheduling_gates: tuple[SchedulingGate, ...] = ()
    scheduler_name: str = "default-scheduler"
    priority: int = 0
    preemption_policy: str = "PreemptLowerPriority"
    restart_policy: str = "Always"
    termination_grace_period_seconds: int = 30
    host_network: bool = False
    host_users: bool | None = None
    local_volumes: tuple[str, ...] = ()
    """Names of volumes on the node's disk: no field of the API's, but what is left of ``volumes``. The scheduler does
    not care; who moves pods does."""


class TemplateResources(ResourceRequirements, frozen=True):
    """Requests and limits as they are written: the API server fills in requests only when it makes a pod."""

    limits: dict[str, str] = {}


class TemplatePort(ContainerPort, frozen=True):
    """A port as it is written; on the host's network it takes the host's port of the same number."""

    container_port: int = 0


class TemplateContainer(Container, frozen=True):
    """A container as it is written."""

    resources: TemplateResources = TemplateResources()
    ports: tuple[TemplatePort, ...] = ()


class TemplateSpec(PodSpec, frozen=True):
    """A spec as it is written: not defaulted like a pod's, and it may pin the pod to a node by name."""

    containers: tuple[TemplateContainer, ...] = ()
    init_containers: tuple[TemplateContainer, ...] = ()
    resources: TemplateResources | None = None
    node_name: str = ""
    runtime_class_name: str = ""


class ContainerStatus(FrozenValue, frozen=True):
    """What a running container holds, which differs from its spec while it is resized."""

    name: str
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, str] = {}


class PodStatus(FrozenValue, frozen=True):
    """How a pod is.

    Kept are the conditions named in ``slimming.USED_CONDITIONS`` and the statuses of those containers (sidecars among
    them) that hold something else than their spec asks for.
    """

    phase: str = ""
    nominated_node_name: str = ""
    start_time: datetime | None = None
    conditions: tuple[Condition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()
    resources: ResourceRequirements | None = None
    allocated_resources: dict[str, str] = {}
    trouble: str = ""
    """Why it does not start, as far as kubelet or scheduler have said (``api.pod_decoding``)."""


class Pod(FrozenValue, frozen=True):
    """One pod: its own name, place and state, and the spec it shares with its siblings."""

    metadata: ObjectMeta
    spec: PodSpec
    node_name: str = ""
    status: PodStatus = PodStatus()
    keys: tuple[str, ...] = ()
    """Nodes that let it in while they are closed to others (``api.taints``), oldest first."""

    @property
    def is_finished(self) -> bool:
        """Whether the pod has ended for good and holds nothing of its node any more."""
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def is_refused(self) -> bool:
        """Whether a scheduler tried the pod and found no place for it."""
        condition = self.condition("PodScheduled")
        return condition is not None and condition.status == "False" and condition.reason == "Unschedulable"

    @property
    def is_untried(self) -> bool:
        """Whether no scheduler has said anything about the pod yet."""
        return self.condition("PodScheduled") is None

    @property
    def is_ready(self) -> bool:
        """Whether its kubelet says that it does its work."""
        for condition in self.status.conditions:  # asked for every event of every pod
            if condition.type == "Ready":
                return condition.status == "True"
        return False

    def condition(self, kind: str) -> Condition | None:
        """The condition of this type, if the pod carries it."""
        return next((condition for condition in self.status.conditions if condition.type == kind), None)
