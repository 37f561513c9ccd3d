"""What is remembered of a node, and the marks by which nodes, people and replicas know how far that is.

A ``NodeContents`` is what a node carried at one version of it. The name is the identity (a node of that name that comes
back is the node that left), and the uid tells one life of it from the next.

The objects that memory is kept in: ConfigMaps and Leases of our own, each of them a kind to us.

| object | name | what it holds |
|---|---|---|
| transaction | sha256 of the node's name, a dot, a version of the node | that it came, or what it was when it went |
| memory | the node's name | ``memory``: what it was when it went; or ``checkpoint``: what it is, as far as we know |
| lease of a shard | ``growth-memory-7-of-64`` | which replica works on the nodes of this shard |

A transaction's name follows from what happened, so all replicas make the same one; a memory has one of its two keys.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, Literal

import msgspec

from growth.api.core import Lease
from growth.api.kinds import Kind
from growth.api.kwok import KWOK_LABEL
from growth.api.labels import is_label_key, is_label_value
from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.node import Node
from growth.api.tolerations import EFFECTS, NO_SCHEDULE, Taint

MARKER: Final = "growth.dev/labels-restored"
"""A label of every node whose memory was given back, or that had none: from now on it may be edited."""

RESTORED_TO: Final = "growth.dev/labels-restored-to"
"""An annotation beside the marker: the node's uid. Who deletes a node and makes it again from what it looked like
brings the marker along, and was given nothing."""

FINALIZER: Final = "growth.dev/memory"
"""Keeps a Node object until its last labels are written down (``memory.finalizer``)."""

REMEMBERING: Final = "growth.dev/remembering"
"""A taint that foreign nodes may register with: it goes in the write that gives them back what they were."""

NOTHING: Final = "0"
"""The marker's value on a node for which there was nothing to give back."""

IMPORTED: Final = "imported"
"""The marker's value on a node that was given back what came from elsewhere, and has no version of this cluster."""

_OF_CLOUDS: Final = ("instance.hetzner.cloud/*",)
"""A cloud controller sets these once, when a node is new."""
_OF_CSI_DRIVERS: Final = (
    *("csi.hetzner.cloud/*", "topology.ebs.csi.aws.com/*", "topology.disk.csi.azure.com/*", "topology.gke.io/*"),
    "topology.cinder.csi.openstack.org/*",
)
"""A kubelet refuses a driver if the node's label says another place than the driver does ("topology value collision"),
and then the node has no volumes."""
_OF_DISCOVERY: Final = (
    "feature.node.kubernetes.io/*",
    *("nvidia.com/cuda.*", "nvidia.com/gfd.*", "nvidia.com/gpu.compute.*", "nvidia.com/gpu.count"),
    *("nvidia.com/gpu.family", "nvidia.com/gpu.machine", "nvidia.com/gpu.memory", "nvidia.com/gpu.mode"),
    *("nvidia.com/gpu.present", "nvidia.com/gpu.product", "nvidia.com/gpu.replicas"),
    *("nvidia.com/gpu.sharing-strategy", "nvidia.com/mig-*", "nvidia.com/mig.capable", "nvidia.com/mig.strategy"),
)
"""Node feature discovery and NVIDIA's GPU feature discovery measure these, and take away only what they set themselves.
What people set for NVIDIA's operator (``nvidia.com/mig.config``, ``nvidia.com/gpu.deploy.*``) is remembered."""

OWNED_KEYS: Final = (
    *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/*"),
    *("node.kubernetes.io/instance-type", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"),
    *("failure-domain.beta.kubernetes.io/*", "growth.dev/*", KWOK_LABEL),
    *_OF_CLOUDS,
    *_OF_CSI_DRIVERS,
    *_OF_DISCOVERY,
)
"""What a machine knows better than a memory of it; kwok's label says whether anybody plays its kubelet."""

OF_NOW: Final = ("growth.dev/", "node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""How the keys of taints begin that say how a machine is now, which no memory knows: a node that comes back healthy
must not be out of service because it once was."""

REMOVED_AT_MOST: Final = 256
"""Keys that are remembered as removed, the newest. More would mean that somebody makes up keys as they go."""


class NodeContents(FrozenValue, frozen=True):
    """A node as it was at one version of it."""

    uid: str
    version: int
    provider_id: str = msgspec.field(name="providerID", default="")
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()
    removed: tuple[str, ...] = ()
    """Keys of labels that it once had and that were taken away: a new node that brings one loses it again."""
    at: datetime | None = None
    """When it was written down; for people, and for forgetting."""

    @property
    def is_marked(self) -> bool:
        """Whether the node had been given back what it was, so that this may take the place of it."""
        return MARKER in self.labels

    @property
    def marker(self) -> str:
        """The marker's value on a node that was given this back. Never that of one that was given nothing."""
        return str(self.version) if self.version else IMPORTED

    def says_the_same_as(self, other: "NodeContents") -> bool:
        """Whether a node would be given back the same by both."""
        return (
            self.labels == other.labels
            and self.annotations == other.annotations
            and set(self.taints) == set(other.taints)
            and set(self.removed) == set(other.removed)
        )


def memento_of(
    node: Node, at: datetime, *, annotations: Iterable[str] = (), taints: Iterable[str] = ()
) -> NodeContents:
    """What is remembered of a node as it is; annotations and taints as far as their keys begin with these."""
    meta = node.metadata
    is_meant = is_marked(node) or MARKER not in meta.labels
    return NodeContents(
        uid=meta.uid,
        version=meta.resource_version,
        provider_id=node.spec.provider_id,
        labels=meta.labels if is_meant else {key: meta.labels[key] for key in meta.labels if key != MARKER},
        annotations=rememberable_annotations(meta.annotations, annotations),
        taints=rememberable_taints(node.spec.taints, taints),
        at=at,
    )


def rememberable_annotations(found: Mapping[str, str], beginnings: Iterable[str]) -> dict[str, str]:
    """Those that are to be remembered, and that an API server takes."""
    meant = tuple(beginnings)
    return {
        key: value
        for key, value in found.items()
        if meant and key.startswith(meant) and key != RESTORED_TO and is_label_key(key.lower())
    }


def rememberable_taints(found: Iterable[Taint], beginnings: Iterable[str]) -> tuple[Taint, ...]:
    """Those that are to be remembered, and that an API server takes: one for each key and effect."""
    meant = tuple(beginnings)
    if not meant:
        return ()
    taints = {(one.key, one.effect): one for one in found if one.key.startswith(meant) and _is_lasting(one)}
    return tuple(taints.values())


def _is_lasting(taint: Taint) -> bool:
    is_legal = is_label_key(taint.key) and is_label_value(taint.value) and taint.effect in EFFECTS
    return is_legal and not taint.key.startswith(OF_NOW)


def with_removed(
    memento: NodeContents, earlier: Iterable[NodeContents | None], also: Iterable[str] = ()
) -> NodeContents:
    """The same, and which keys are gone that ``earlier`` ones had, or that were ``also`` seen to go, the newest last.

    Saying it again of what it says comes to the same, however many they are: else it would be written down for ever.
    """
    lately = dict.fromkeys(key for key in also if key not in memento.labels)
    before = dict.fromkeys(key for one in earlier if one is not None for key in (*one.removed, *one.labels))
    keys = (*(key for key in before if key not in memento.labels and key not in lately), *lately)
    return msgspec.structs.replace(memento, removed=keys[-REMOVED_AT_MOST:])


def is_marked(node: Node) -> bool:
    """Whether this node was given back what it was, or had nothing coming."""
    meta = node.metadata
    return MARKER in meta.labels and meta.annotations.get(RESTORED_TO, meta.uid) == meta.uid


def is_remembering(taint: Taint) -> bool:
    """Whether this taint keeps pods off until the node has its memory back."""
    return taint.key == REMEMBERING and taint.effect == NO_SCHEDULE


def legal(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels that an API server takes; a memory that somebody edited may hold others."""
    return {key: value for key, value in labels.items() if is_label_key(key) and is_label_value(value)}


SHARD_LABEL: Final = "growth.dev/shard-of"
SHARD_OF: Final = "memory"

# What Kubernetes takes in one ConfigMap, less room for what stands beside a memento in it.
_LARGEST: Final = 1024 * 1024 - 4096
_MEMENTOS: Final = msgspec.json.Decoder(NodeContents)


class MemoryData(msgspec.Struct, frozen=True, rename="camel"):
    """The texts of a memory: one of the first two is there."""

    memory: str = ""
    checkpoint: str = ""
    claimed_by: str = ""
    """``NAME/UID`` of the node that took it over in this one's place."""


class MemoryObject(FrozenValue, frozen=True):
    """What is remembered of one node."""

    metadata: ObjectMeta
    data: MemoryData = MemoryData()


class TransactionData(msgspec.Struct, frozen=True, rename="camel"):
    """The texts of a transaction. What lacks ``type`` or ``node`` is somebody else's."""

    type: str = ""
    node: str = ""
    memento: str = ""


class TransactionObject(FrozenValue, frozen=True):
    """Something that happened to a node and is not dealt with yet."""

    metadata: ObjectMeta
    data: TransactionData = TransactionData()


class ShardLease(Lease, frozen=True):
    """Who works on a shard."""


MEMORIES: Final = Kind("", "v1", "configmaps", "ConfigMap", True, MemoryObject)  # noqa: FBT003 - it is namespaced
TRANSACTIONS: Final = Kind("", "v1", "configmaps", "ConfigMap", True, TransactionObject)  # noqa: FBT003
SHARD_LEASES: Final = Kind("coordination.k8s.io", "v1", "leases", "Lease", True, ShardLease)  # noqa: FBT003


class Transaction(msgspec.Struct, frozen=True):
    """One that can be read. Of an ``added`` one the memento says only who it was."""

    metadata: ObjectMeta
    type: Literal["added", "deleted"]
    node: str
    memento: NodeContents

    @property
    def version(self) -> int:
        """Its place among the others of the same node."""
        return self.memento.version


class NodeRecord(msgspec.Struct, frozen=True):
    """A memory that can be read."""

    metadata: ObjectMeta
    memento: NodeContents
    is_final: bool
    """Whether the node had gone, and not just been looked at."""
    claimed_by: str = ""


class UnreadableRecord(ValueError):
    """A memory that somebody else wrote, or changed, so that it says nothing to us."""


def digest_of(node: str) -> str:
    """The node's name at a fixed length, because a name may be as long as a ConfigMap's name can be."""
    return sha256(node.encode()).hexdigest()


def transaction_name(node: str, version: int) -> str:
    """By which all replicas know that it is the same."""
    return f"{digest_of(node)}.{version}"


def shard_of(node: str, shards: int) -> int:
    """Which shard a node belongs to."""
    return int(digest_of(node)[:8], 16) % shards


def shard_name(shard: int, shards: int) -> str:
    """The name of its Lease. Replicas that divide differently share none; both are right, and one may be in vain."""
    return f"growth-memory-{shard}-of-{shards}"


def read_transaction(found: TransactionObject) -> Transaction | None:
    """What a transaction says; None for a ConfigMap that is none."""
    data, meta = found.data, found.metadata
    if data.type not in ("added", "deleted"):
        return None
    try:
        memento = _MEMENTOS.decode(data.memento)
    except msgspec.DecodeError:
        return None
    if meta.name != transaction_name(data.node, memento.version):
        return None
    return Transaction(meta, "added" if data.type == "added" else "deleted", data.node, memento)


def read_memory(found: MemoryObject) -> NodeRecord:
    """What a memory says; raises Unreadable."""
    data = found.data
    text = data.memory or data.checkpoint
    try:
        memento = _MEMENTOS.decode(text)
    except msgspec.DecodeError as error:
        key = "memory" if data.memory else "checkpoint"
        raise UnreadableRecord(
            f"ConfigMap {found.metadata.namespace}/{found.metadata.name} cannot be read: its {key} is {text[:60]!r}, "
            f"expected a JSON object ({error})"
        ) from error
    return NodeRecord(found.metadata, memento, bool(data.memory), data.claimed_by)


def text_of(memento: NodeContents) -> str:
    """A memento as it stands in an object."""
    return msgspec.json.encode(memento, order="sorted").decode()


def transaction_body(kind: Literal["added", "deleted"], node: str, memento: NodeContents) -> dict[str, Any]:
    """What to make a transaction of."""
    return {"data": {"type": kind, "node": node, "memento": text_of(memento)}}


def memory_data(memento: NodeContents, *, is_final: bool, keeps_claim: bool = False) -> dict[str, str | None]:
    """What to set in a memory; the other key goes, and so does the claim on what was there before.

    Not if that was the same life of the node: its successor may have come before it left, and stays the only one.
    """
    text, claim = text_of(memento), dict[str, str | None]() if keeps_claim else {"claimedBy": None}
    return {"memory": text if is_final else None, "checkpoint": None if is_final else text, **claim}


def is_too_large(memento: NodeContents) -> bool:
    """Whether no ConfigMap can hold it."""
    return len(msgspec.json.encode(memento)) > _LARGEST
