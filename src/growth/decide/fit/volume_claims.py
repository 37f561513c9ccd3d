"""The claims of a pod: which they are, whether they can be had at all, and where a volume is already.

What stops a pod here stops it on every node, so no machine that we could buy would help. We say so instead of buying.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from growth.api.kinds import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, STORAGE_CLASSES
from growth.api.pod import Pod, Volume
from growth.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from growth.decide.fit.filter_result import FilterRefusal

if TYPE_CHECKING:
    from growth.decide.fit.simulated_cluster import SimulatedCluster

RESTRICTIONS_FILTER: Final = "VolumeRestrictions"
BINDING_FILTER: Final = "VolumeBinding"
ZONE_FILTER: Final = "VolumeZone"

WAIT: Final = "WaitForFirstConsumer"
ONE_POD: Final = "ReadWriteOncePod"

_BIND_COMPLETED: Final = "pv.kubernetes.io/bind-completed"
_BETA_CLASS: Final = "volume.beta.kubernetes.io/storage-class"


class PodClaims(msgspec.Struct, frozen=True):
    """A pod's claims: those that have their volume, and those that get one where the pod goes."""

    bound: tuple[PersistentVolumeClaim, ...]
    unbound: tuple[PersistentVolumeClaim, ...]


def claim_name(pod: Pod, volume: Volume) -> str:
    """The name of the claim behind a volume; empty if there is none."""
    if volume.persistent_volume_claim is not None:
        return volume.persistent_volume_claim.claim_name
    return f"{pod.metadata.name}-{volume.name}" if volume.ephemeral is not None else ""


def named_claims(pod: Pod) -> Iterator[tuple[Volume, str]]:
    """The pod's volumes that are claims, with the claims' names."""
    for volume in pod.spec.volumes:
        if volume.is_claim:
            yield volume, claim_name(pod, volume)


def is_of_pod(claim: PersistentVolumeClaim, pod: Pod) -> bool:
    """Whether a claim was made for this pod and for no other."""
    owner = claim.metadata.controller
    return owner is not None and owner.uid == pod.metadata.uid


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim has its volume for good: a name alone may be a wish."""
    return bool(claim.spec.volume_name) and _BIND_COMPLETED in claim.metadata.annotations


def class_name(thing: PersistentVolumeClaim | PersistentVolume) -> str:
    """The class of a claim or a volume, by the old annotation first; empty means none."""
    return thing.metadata.annotations.get(_BETA_CLASS, thing.spec.storage_class_name or "")


def class_of(simulated: "SimulatedCluster", claim: PersistentVolumeClaim) -> StorageClass | None:
    """The claim's class, if it has one and it exists."""
    name = class_name(claim)
    return simulated.get(STORAGE_CLASSES, name) if name else None


def sort_claims(simulated: "SimulatedCluster", pod: Pod) -> "PodClaims | FilterRefusal":
    """The claims of a pod, or what is wrong with one of them, in the order in which the scheduler would notice."""
    found = [(volume, name, _get(simulated, pod, name)) for volume, name in named_claims(pod)]
    for volume, name, claim in found:
        if claim is None and volume.ephemeral is None:
            return FilterRefusal(RESTRICTIONS_FILTER, f"its claim {name} does not exist", is_permanent=True)
    bound: list[PersistentVolumeClaim] = []
    unbound: list[PersistentVolumeClaim] = []
    for volume, name, claim in found:
        if claim is None:
            return _no(f"its ephemeral claim {name} was not made yet")
        trouble = _trouble(pod, volume, claim)
        if trouble:
            return _no(trouble)
        (bound if is_bound(claim) else unbound).append(claim)
    for claim in unbound:
        trouble = _why_not_by_us(simulated, claim)
        if trouble:
            return _no(trouble)
    for volume, _, claim in found:
        gone = claim is not None and volume.ephemeral is None and claim.spec.volume_name
        if gone and simulated.get(PERSISTENT_VOLUMES, gone) is None:
            return FilterRefusal(ZONE_FILTER, f"the volume {gone} of its claim does not exist", is_permanent=True)
    return PodClaims(tuple(bound), tuple(unbound))


def unbound_claims(simulated: "SimulatedCluster", pod: Pod) -> tuple[PersistentVolumeClaim, ...]:
    """The claims that get their volume by placing this pod."""
    claims = sort_claims(simulated, pod)
    return () if isinstance(claims, FilterRefusal) else claims.unbound


def single_pod_claims(simulated: "SimulatedCluster", pod: Pod) -> tuple[tuple[str, str], ...]:
    """The pod's claims that only one pod may use at a time; ephemeral ones have no second user."""
    found: list[tuple[str, str]] = []
    for volume, name in named_claims(pod):
        claim = _get(simulated, pod, name) if volume.persistent_volume_claim is not None else None
        if claim is not None and ONE_POD in claim.spec.access_modes:
            found.append((pod.metadata.namespace, name))
    return tuple(found)


def _get(simulated: "SimulatedCluster", pod: Pod, name: str) -> PersistentVolumeClaim | None:
    return simulated.get(PERSISTENT_VOLUME_CLAIMS, name, pod.metadata.namespace)


def _trouble(pod: Pod, volume: Volume, claim: PersistentVolumeClaim) -> str:
    name = claim.metadata.name
    if claim.status.phase == "Lost":
        return f"the volume of its claim {name} is lost"
    if claim.metadata.deletion_timestamp is not None:
        return f"its claim {name} is being deleted"
    if volume.ephemeral is not None and not is_of_pod(claim, pod):
        return f"the claim {name} belongs to somebody else, so its ephemeral volume cannot be made"
    return ""


def _why_not_by_us(simulated: "SimulatedCluster", claim: PersistentVolumeClaim) -> str:
    """Why a claim without volume does not get one by placing the pod; empty if it does."""
    name, wanted = claim.metadata.name, class_name(claim)
    if claim.spec.volume_name:
        return f"its claim {name} asks for the volume {claim.spec.volume_name} and is not bound to it yet"
    if not wanted:
        return f"its claim {name} has no storage class and is not bound"
    storage = class_of(simulated, claim)
    if storage is None:
        return f"the storage class {wanted} of its claim {name} does not exist"
    if storage.volume_binding_mode != WAIT:
        return f"its claim {name} is not bound (class {wanted} binds at once, wherever the pod would go)"
    return ""


def _no(reason: str) -> FilterRefusal:
    return FilterRefusal(BINDING_FILTER, reason, is_permanent=True)
