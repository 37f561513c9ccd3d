"""From a pod as it is on the wire to the pod that we keep.

The API server sends what the kubelet, the scheduler and three controllers each need. We keep what we read, drop the
volumes, annotations and conditions that decide nothing, and share the rest with the pod's siblings.

Siblings agree in most of their text, too. So labels, owners and specs are recognised by their text and decoded once for
all pods of a template, not once for every event: that is a third of what an event costs.
"""

import sys
from collections.abc import Callable
from datetime import datetime
from typing import Final, Generic, TypeVar

import msgspec

from growth.api.meta import Condition, ObjectMeta, OwnerReference
from growth.api.pod import ContainerStatus, Pod, PodSpec, PodStatus
from growth.api.sharing import Sharing
from growth.api.slim import Slim

T = TypeVar("T")

# Scheduled and ready are what we judge pods by; the others change what a pod holds or why it goes.
USED_CONDITIONS: Final = frozenset({"PodScheduled", "Ready", "DisruptionTarget", "PodResizePending"})
# Ours, the two autoscalers' whose wishes we honour, and the mark of a static pod.
USED_ANNOTATIONS: Final = (
    "growth.dev/",
    "karpenter.sh/",
    "cluster-autoscaler.kubernetes.io/",
    "kubernetes.io/config.mirror",
)
# Admission gives every pod a token volume with a name of its own: this, five characters and a quote.
_TOKEN_VOLUME: Final = b'"name":"kube-api-access-'
_TOKEN_VOLUME_LENGTH: Final = len(_TOKEN_VOLUME) + 6
# Texts of about a kilobyte each: ten megabytes at most, and far more templates than most clusters have.
_REMEMBERED_TEXTS: Final = 8192
_NOTHING: Final = msgspec.Raw(b"{}")
_NOBODY: Final = msgspec.Raw(b"[]")


class WireMeta(Slim, frozen=True):
    """Metadata as it is sent; what siblings have in common is still text."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: msgspec.Raw = _NOTHING
    annotations: msgspec.Raw = _NOTHING
    finalizers: tuple[str, ...] = ()
    owner_references: msgspec.Raw = _NOBODY


class WireStatus(PodStatus, frozen=True):
    """A status as it is sent, with the init containers (some of them sidecars) in a list of their own."""

    init_container_statuses: tuple[ContainerStatus, ...] = ()


class WirePod(Slim, frozen=True):
    """A pod as the API server sends it."""

    metadata: WireMeta
    spec: msgspec.Raw = _NOTHING
    status: WireStatus = WireStatus()


class _NodeName(Slim, frozen=True):
    node_name: str = ""


_STRINGS: Final = msgspec.json.Decoder(dict[str, str])
_OWNERS: Final = msgspec.json.Decoder(tuple[OwnerReference, ...])
_SPECS: Final = msgspec.json.Decoder(PodSpec)
_NODE_NAMES: Final = msgspec.json.Decoder(_NodeName)


class Remembered(Generic[T]):
    """What texts meant when they were last read. When it is full it starts anew, since it only saves time."""

    def __init__(self, read: Callable[[bytes], T]) -> None:
        self._read = read
        self._known: dict[bytes, T] = {}

    def meaning(self, text: bytes, key: bytes | None = None) -> T:
        """What this text means; texts of one key mean the same."""
        key = text if key is None else key
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= _REMEMBERED_TEXTS:
                self._known.clear()
            known = self._known[key] = self._read(text)
        return known


class Slimmer:
    """Makes the pods that we keep of those that are sent."""

    def __init__(self, sharing: Sharing) -> None:
        self._sharing = sharing
        self._labels = Remembered(self._read_labels)
        self._annotations = Remembered(self._read_annotations)
        self._owners = Remembered(self._read_owners)
        self._specs = Remembered(self._read_spec)

    def pod(self, wire: WirePod) -> Pod:
        """The pod that we keep of one that was sent."""
        meta, text = wire.metadata, bytes(wire.spec)
        node_name = sys.intern(_NODE_NAMES.decode(text).node_name)
        spec = self._spec(text, node_name)
        return Pod(
            metadata=ObjectMeta(
                name=meta.name,
                namespace=sys.intern(meta.namespace),
                uid=meta.uid,
                resource_version=meta.resource_version,
                creation_timestamp=meta.creation_timestamp,
                deletion_timestamp=meta.deletion_timestamp,
                labels=self._labels.meaning(bytes(meta.labels)),
                annotations=self._annotations.meaning(bytes(meta.annotations)),
                finalizers=meta.finalizers,
                owner_references=self._owners.meaning(bytes(meta.owner_references)),
            ),
            spec=spec,
            node_name=node_name,
            status=_status(wire.status, spec),
        )

    def _spec(self, text: bytes, node_name: str) -> PodSpec:
        """The spec of a text, in which two things are the pod's own: where it is, and its token volume's name."""
        key = text.replace(b'"nodeName":"%s"' % node_name.encode(), b"", 1) if node_name else text
        at = key.find(_TOKEN_VOLUME)
        end = at + _TOKEN_VOLUME_LENGTH
        if at >= 0 and key.startswith(b',"projected"', end):  # and no claim of a person who likes that name
            key = key.replace(key[at:end], b"")
        return self._specs.meaning(text, key)

    def _read_spec(self, text: bytes) -> PodSpec:
        spec = _SPECS.decode(text)
        volumes = tuple(volume for volume in spec.volumes if volume.is_claim or volume.is_disk)
        return self._sharing.value(msgspec.structs.replace(spec, volumes=volumes))

    def _read_labels(self, text: bytes) -> dict[str, str]:
        return self._sharing.mapping(_STRINGS.decode(text))

    def _read_annotations(self, text: bytes) -> dict[str, str]:
        found = _STRINGS.decode(text)
        return self._sharing.mapping({key: value for key, value in found.items() if key.startswith(USED_ANNOTATIONS)})

    def _read_owners(self, text: bytes) -> tuple[OwnerReference, ...]:
        return tuple(map(self._sharing.value, _OWNERS.decode(text)))


def _status(wire: WireStatus, spec: PodSpec) -> PodStatus:
    return PodStatus(
        phase=sys.intern(wire.phase),
        nominated_node_name=wire.nominated_node_name,
        start_time=wire.start_time,
        conditions=tuple([_condition(known) for known in wire.conditions if known.type in USED_CONDITIONS]),
        container_statuses=_unlike_spec(wire, spec),
        resources=wire.resources,
        allocated_resources=wire.allocated_resources,
    )


def _unlike_spec(wire: WireStatus, spec: PodSpec) -> tuple[ContainerStatus, ...]:
    """The containers that hold something else than their spec says, because they are being resized: nearly none."""
    written = {known.name: known.resources.requests for known in (*spec.containers, *spec.init_containers)}
    return tuple(
        [
            status
            for status in (*wire.container_statuses, *wire.init_container_statuses)
            if (status.resources is not None and status.resources.requests != written.get(status.name))
            or (status.allocated_resources and status.allocated_resources != written.get(status.name))
        ]
    )


def _condition(wire: Condition) -> Condition:
    return Condition(
        type=sys.intern(wire.type),
        status=sys.intern(wire.status),
        reason=sys.intern(wire.reason),
        last_transition_time=wire.last_transition_time,
    )
