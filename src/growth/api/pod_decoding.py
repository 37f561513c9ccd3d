"""Keys are lifted out of a spec, so that siblings with keys to different nodes still share one.

A key (``api.taints``) is a toleration, and so a part of the pod's spec. Left there it would give the pods of every
new node a spec of their own: memory, families and groups would grow with the nodes, long after the keys were used.

They are taken out of the text before anybody reads it, because siblings are recognised by their text. That works for
keys as the API server writes them, if nothing else in the spec speaks of our taint; all others are lifted once the
spec is read.

Why a pod does not start, as kubelet and scheduler put it: kept in a few words, because nearly no pod has any.

Words that change by themselves (how long a back-off is, whether an image is just being pulled again) are left out, so
that whoever repeats them does not write again and again.

From a pod as it is on the wire to the pod that we keep.

The API server sends what the kubelet, the scheduler and three controllers each need. We keep what we read, drop the
volumes, annotations and conditions that decide nothing, and share the rest with the pod's siblings.

Siblings agree in most of their text, too. So labels, owners and specs are recognised by their text and decoded once for
all pods of a template, not once for every event: that is a third of what an event costs.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from sys import intern
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from growth.api.interning import InternTables
from growth.api.meta import Condition, FrozenValue, ObjectMeta, OwnerReference
from growth.api.pod import ContainerStatus, Pod, PodSpec, PodStatus
from growth.api.taints import STARTING, is_key, key_to

_MARK: Final = STARTING.encode()
# Our struct has its fields in the order in which the API server writes them.
_BEFORE, _AFTER = msgspec.json.encode(key_to("?")).split(b"?")
# Far more nodes than are being started at a time.
_REMEMBERED_KEYS: Final = 8192


def lift_from_text(text: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A spec's text without keys, and the keys, oldest first; the text as it was if they cannot be cut out cleanly."""
    if _MARK not in text:
        return text, ()
    kept, *pieces = text.split(_BEFORE)
    keys: list[str] = []
    for piece in pieces:
        name, _, rest = piece.partition(_AFTER)
        if not name or b'"' in name or b"\\" in name:
            return text, ()  # a toleration that only begins like a key, or one with an odd name
        keys.append(intern(name.decode()))
        # With it goes one comma: the one before it, or the one after it if it was the first of the list.
        kept = kept[:-1] + rest if kept.endswith(b",") else kept + rest.removeprefix(b",")
    # A key in other words may be among what is left, and then only the whole list tells which is older.
    return (text, ()) if _MARK in kept else (kept, _shared(tuple(keys)))


def lift(spec: PodSpec) -> tuple[PodSpec, tuple[str, ...]]:
    """A spec without keys, and the keys, oldest first."""
    keys = tuple(intern(toleration.value) for toleration in spec.tolerations if is_key(toleration))
    if not keys:
        return spec, ()
    others = tuple(toleration for toleration in spec.tolerations if not is_key(toleration))
    return msgspec.structs.replace(spec, tolerations=others), _shared(keys)


@lru_cache(maxsize=_REMEMBERED_KEYS)
def _shared(keys: tuple[str, ...]) -> tuple[str, ...]:
    """One tuple for all pods of a node."""
    return keys


# A scheduler lists what is wrong with which nodes; the first few hundred characters say what matters.
_WORDS_AT_MOST: Final = 400

# Reasons for which a container waits and that do not pass by themselves, with the word under which they are told: a
# kubelet alternates between some of them.
_OF_IMAGES: Final = {
    "ErrImagePull": "ImagePullBackOff",
    "ImagePullBackOff": "ImagePullBackOff",
    "ErrImageNeverPull": "ErrImageNeverPull",
    "InvalidImageName": "InvalidImageName",
    "ImageInspectError": "ImageInspectError",
    "RegistryUnavailable": "ImagePullBackOff",
    "CrashLoopBackOff": "CrashLoopBackOff",
}
# Of these the message names what is missing: a Secret, a ConfigMap, a command.
_OF_SETTINGS: Final = frozenset({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})


class WireWaiting(FrozenValue, frozen=True):
    """What a container waits for."""

    reason: str = ""
    message: str = ""


class ContainerState(FrozenValue, frozen=True):
    """What a container does; only that it waits is read."""

    waiting: WireWaiting | None = None


class WireContainerStatus(ContainerStatus, frozen=True):
    """A container's status as it is sent."""

    image: str = ""
    state: ContainerState = ContainerState()

    @property
    def kept(self) -> ContainerStatus:
        """What we keep of it while the container is resized."""
        return ContainerStatus(self.name, self.resources, self.allocated_resources)


class WireCondition(Condition, frozen=True):
    """A condition as it is sent."""

    message: str = ""


def trouble_of(conditions: Iterable[WireCondition], containers: Iterable[WireContainerStatus]) -> str:
    """What keeps a pod from starting; empty if nothing that anybody has said."""
    for container in containers:
        waiting = container.state.waiting
        if waiting is None:
            continue
        if waiting.reason in _OF_IMAGES:
            return intern(f"container {container.name}: {_OF_IMAGES[waiting.reason]}, image {container.image}")
        if waiting.reason in _OF_SETTINGS:
            return intern(f"container {container.name}: {waiting.reason}, {waiting.message}"[:_WORDS_AT_MOST])
    for condition in conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return intern(condition.message[:_WORDS_AT_MOST])
    return ""


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


class WireMeta(FrozenValue, frozen=True):
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

    conditions: tuple[WireCondition, ...] = ()
    container_statuses: tuple[WireContainerStatus, ...] = ()
    init_container_statuses: tuple[WireContainerStatus, ...] = ()


class WirePod(FrozenValue, frozen=True):
    """A pod as the API server sends it."""

    metadata: WireMeta
    spec: msgspec.Raw = _NOTHING
    status: WireStatus = WireStatus()


class _NodeName(FrozenValue, frozen=True):
    node_name: str = ""


_STRINGS: Final = msgspec.json.Decoder(dict[str, str])
_OWNERS: Final = msgspec.json.Decoder(tuple[OwnerReference, ...])
_SPECS: Final = msgspec.json.Decoder(PodSpec)
_NODE_NAMES: Final = msgspec.json.Decoder(_NodeName)


class KnownSpec(NamedTuple):
    """A spec, what its containers ask for, by name, and the keys that were not lifted out of its text."""

    spec: PodSpec
    asked: dict[str, dict[str, str]]
    keys: tuple[str, ...]


class ParsedTexts(dict[bytes, T], Generic[T]):
    """What texts meant when they were last read. When it is full it starts anew, since it only saves time."""

    def __init__(self, read: Callable[[bytes], T]) -> None:
        super().__init__()
        self._read = read

    def __missing__(self, text: bytes) -> T:
        return self.learn(text, text)

    def learn(self, key: bytes, text: bytes) -> T:
        """Read a text and remember its meaning under a key that only texts of that meaning have."""
        if len(self) >= _REMEMBERED_TEXTS:
            self.clear()
        self[key] = meaning = self._read(text)
        return meaning


class PodDecoder:
    """Makes the pods that we keep of those that are sent."""

    def __init__(self, sharing: InternTables) -> None:
        self._sharing = sharing
        self._labels = ParsedTexts(self._read_labels)
        self._annotations = ParsedTexts(self._read_annotations)
        self._owners = ParsedTexts(self._read_owners)
        self._specs = ParsedTexts(self._read_spec)

    def pod(self, wire: WirePod) -> Pod:
        """The pod that we keep of one that was sent."""
        meta = wire.metadata
        text, keys = lift_from_text(bytes(wire.spec))
        node_name = intern(_NODE_NAMES.decode(text).node_name)
        known = self._spec(text, node_name)
        # Positional arguments, in the order of the structs: this runs for every event of every pod.
        return Pod(
            ObjectMeta(
                meta.name,
                intern(meta.namespace),
                meta.uid,
                meta.resource_version,
                meta.creation_timestamp,
                meta.deletion_timestamp,
                self._labels[bytes(meta.labels)],
                self._annotations[bytes(meta.annotations)],
                meta.finalizers,
                self._owners[bytes(meta.owner_references)],
            ),
            known.spec,
            node_name,
            _status(wire.status, known.asked),
            keys or known.keys,
        )

    def _spec(self, text: bytes, node_name: str) -> KnownSpec:
        """The spec of a text, in which two things are the pod's own: where it is, and its token volume's name."""
        key = text.replace(b'"nodeName":"%s"' % node_name.encode(), b"", 1) if node_name else text
        at = key.find(_TOKEN_VOLUME)
        end = at + _TOKEN_VOLUME_LENGTH
        if at >= 0 and key.startswith(b',"projected"', end):  # and no claim of a person who likes that name
            key = key.replace(key[at:end], b"")
        known = self._specs.get(key)
        return known if known is not None else self._specs.learn(key, text)

    def _read_spec(self, text: bytes) -> KnownSpec:
        spec, keys = lift(_SPECS.decode(text))
        volumes = tuple(volume for volume in spec.volumes if volume.is_claim or volume.is_disk)
        local = tuple(volume.name for volume in spec.volumes if volume.is_local)
        asked = {known.name: known.resources.requests for known in (*spec.containers, *spec.init_containers)}
        kept = msgspec.structs.replace(spec, volumes=volumes, local_volumes=local)
        return KnownSpec(self._sharing.value(kept), asked, keys)

    def _read_labels(self, text: bytes) -> dict[str, str]:
        return self._sharing.mapping(_STRINGS.decode(text))

    def _read_annotations(self, text: bytes) -> dict[str, str]:
        found = _STRINGS.decode(text)
        return self._sharing.mapping({key: value for key, value in found.items() if key.startswith(USED_ANNOTATIONS)})

    def _read_owners(self, text: bytes) -> tuple[OwnerReference, ...]:
        return tuple(map(self._sharing.value, _OWNERS.decode(text)))


def _status(wire: WireStatus, asked: Mapping[str, dict[str, str]]) -> PodStatus:
    conditions = [
        Condition(intern(known.type), intern(known.status), intern(known.reason), known.last_transition_time)
        for known in wire.conditions
        if known.type in USED_CONDITIONS
    ]
    containers = (*wire.container_statuses, *wire.init_container_statuses)
    # Only containers that hold something else than their spec says, because they are being resized: nearly none.
    resizing = [
        status.kept
        for status in containers
        if (status.resources is not None and status.resources.requests != asked.get(status.name))
        or (status.allocated_resources and status.allocated_resources != asked.get(status.name))
    ]
    return PodStatus(
        intern(wire.phase),
        wire.nominated_node_name,
        wire.start_time,
        tuple(conditions),
        tuple(resizing),
        wire.resources,
        wire.allocated_resources,
        trouble_of(wire.conditions, containers),
    )
