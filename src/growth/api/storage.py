"""Volumes and what ties them to places: claims, classes, drivers' limits and attachments."""

import msgspec

from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.selectors import LabelSelector, NodeSelector


class ClaimReference(FrozenValue, frozen=True):
    """The claim that a volume belongs to."""

    namespace: str = ""
    name: str = ""
    uid: str = ""


class CsiVolume(FrozenValue, frozen=True):
    """The driver's name for a volume; attach limits count distinct pairs."""

    driver: str
    volume_handle: str


class VolumeNodeAffinity(FrozenValue, frozen=True):
    """Where a volume can be reached from."""

    required: NodeSelector | None = None


class PersistentVolumeSpec(FrozenValue, frozen=True):
    """What a volume is and whom it serves."""

    capacity: dict[str, str] = {}
    access_modes: tuple[str, ...] = ()
    storage_class_name: str = ""
    volume_mode: str = "Filesystem"
    claim_ref: ClaimReference | None = None
    node_affinity: VolumeNodeAffinity | None = None
    volume_attributes_class_name: str = ""
    csi: CsiVolume | None = None


class VolumePhase(FrozenValue, frozen=True):
    """How far a volume or a claim has come: Available, Pending, Bound, Released, Lost, Failed."""

    phase: str = ""


class PersistentVolume(FrozenValue, frozen=True):
    """One volume."""

    metadata: ObjectMeta
    spec: PersistentVolumeSpec = PersistentVolumeSpec()
    status: VolumePhase = VolumePhase()


class VolumeResources(FrozenValue, frozen=True):
    """How much room a claim asks for."""

    requests: dict[str, str] = {}


class PersistentVolumeClaimSpec(FrozenValue, frozen=True):
    """What a claim asks for, and the volume it got. A class of None means the cluster's default one."""

    access_modes: tuple[str, ...] = ()
    resources: VolumeResources = VolumeResources()
    storage_class_name: str | None = None
    volume_mode: str = "Filesystem"
    volume_name: str = ""
    volume_attributes_class_name: str = ""
    selector: LabelSelector | None = None


class PersistentVolumeClaim(FrozenValue, frozen=True):
    """One claim."""

    metadata: ObjectMeta
    spec: PersistentVolumeClaimSpec = PersistentVolumeClaimSpec()
    status: VolumePhase = VolumePhase()


class TopologyLabels(FrozenValue, frozen=True):
    """One label and the values of it that a class may provision in."""

    key: str
    values: tuple[str, ...] = ()


class TopologyTerm(FrozenValue, frozen=True):
    """A place: all of these labels together."""

    match_label_expressions: tuple[TopologyLabels, ...] = ()


class StorageClass(FrozenValue, frozen=True):
    """How volumes of a class come to be."""

    metadata: ObjectMeta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    allowed_topologies: tuple[TopologyTerm, ...] = ()


class DriverAllocatable(FrozenValue, frozen=True):
    """How many volumes of a driver a node takes; None is no limit."""

    count: int | None = None


class CsiDriverOnNode(FrozenValue, frozen=True):
    """A storage driver that runs on a node."""

    name: str
    node_id: str = msgspec.field(name="nodeID", default="")
    allocatable: DriverAllocatable | None = None
    topology_keys: tuple[str, ...] | None = None


class CsiNodeSpec(FrozenValue, frozen=True):
    """All storage drivers of a node; the API server says null where there are none."""

    drivers: tuple[CsiDriverOnNode, ...] | None = None


class CsiNode(FrozenValue, frozen=True):
    """One node, as its storage drivers see it."""

    metadata: ObjectMeta
    spec: CsiNodeSpec = CsiNodeSpec()


class CsiDriverSpec(FrozenValue, frozen=True):
    """What a storage driver wants the scheduler to do."""

    storage_capacity: bool = False


class CsiDriver(FrozenValue, frozen=True):
    """One storage driver; only if it publishes its free room does the scheduler ask for it."""

    metadata: ObjectMeta
    spec: CsiDriverSpec = CsiDriverSpec()


class CsiStorageCapacity(FrozenValue, frozen=True):
    """How much room a driver has for volumes of a class, reachable from the nodes that ``node_topology`` selects."""

    metadata: ObjectMeta
    storage_class_name: str = ""
    node_topology: LabelSelector | None = None
    capacity: str | None = None
    maximum_volume_size: str | None = None


class AttachmentSource(FrozenValue, frozen=True):
    """Which volume is attached."""

    persistent_volume_name: str = ""


class VolumeAttachmentSpec(FrozenValue, frozen=True):
    """Which volume hangs on which node, by which driver."""

    attacher: str = ""
    node_name: str = ""
    source: AttachmentSource = AttachmentSource()


class VolumeAttachmentStatus(FrozenValue, frozen=True):
    """Whether the attachment is done."""

    attached: bool = False


class VolumeAttachment(FrozenValue, frozen=True):
    """One attachment."""

    metadata: ObjectMeta
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
    status: VolumeAttachmentStatus = VolumeAttachmentStatus()
