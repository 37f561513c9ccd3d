"""Which changes of volumes, claims and what belongs to them may help a pod that was refused; see ``hints``."""

from collections.abc import Callable
from typing import Any, Final

from growth.api.pod import Pod
from growth.api.quantity import value
from growth.api.storage import CsiNode, CsiStorageCapacity, PersistentVolume, PersistentVolumeClaim, StorageClass
from growth.decide.fit.node_volume_limits import limits_of
from growth.decide.fit.volume_claims import WAIT, named_claims
from growth_lab.simulator import served_kinds
from growth_lab.simulator.scheduler.cache import ThingChange
from growth_lab.simulator.served_kinds import Resource

_ZONES: Final = (
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
)


def thing_hint(filter_name: str, pod: Pod, resource: Resource, change: ThingChange) -> bool:
    """Whether a change of such an object may help a pod that this filter refused."""
    hint = _THING_HINTS.get((filter_name, resource))
    return hint is not None and hint(pod, change)


def _after_own_claim(pod: Pod, change: ThingChange) -> bool:
    claim: PersistentVolumeClaim | None = change.now
    return (
        claim is not None
        and claim.metadata.namespace == pod.metadata.namespace
        and any(name == claim.metadata.name for _, name in named_claims(pod))
    )


def _after_new_claim(pod: Pod, change: ThingChange) -> bool:
    return change.before is None and _after_own_claim(pod, change)


def _after_volume(_: Pod, change: ThingChange) -> bool:
    return change.now is not None


def _after_volume_zone(_: Pod, change: ThingChange) -> bool:
    before: PersistentVolume | None = change.before
    now: PersistentVolume | None = change.now
    if now is None or before is None:
        return now is not None
    return any(before.metadata.labels.get(key) != now.metadata.labels.get(key) for key in _ZONES)


def _after_class(_: Pod, change: ThingChange) -> bool:
    before: StorageClass | None = change.before
    now: StorageClass | None = change.now
    return now is not None and (before is None or before.allowed_topologies != now.allowed_topologies)


def _after_waiting_class(_: Pod, change: ThingChange) -> bool:
    now: StorageClass | None = change.now
    return now is not None and change.before is None and now.volume_binding_mode == WAIT


def _after_driver_node(_: Pod, change: ThingChange) -> bool:
    return change.before is None and change.now is not None


def _after_limits(_: Pod, change: ThingChange) -> bool:
    before: CsiNode | None = change.before
    now: CsiNode | None = change.now
    if now is None or before is None:
        return now is not None
    old = limits_of(before)
    return any(limit > old.get(driver, 0) for driver, limit in limits_of(now).items())


def _after_detaching(pod: Pod, change: ThingChange) -> bool:
    return change.now is None and any(known.persistent_volume_claim is not None for known in pod.spec.volumes)


def _after_capacity(_: Pod, change: ThingChange) -> bool:
    now: CsiStorageCapacity | None = change.now
    if now is None or change.before is None:
        return now is not None
    old, new = _limit(change.before), _limit(now)
    return new is not None and (old is None or new > old)


def _limit(capacity: CsiStorageCapacity) -> int | None:
    text = capacity.maximum_volume_size or capacity.capacity
    return None if text is None else value(text)


_ThingHint = Callable[[Pod, Any], bool]
_THING_HINTS: Final[dict[tuple[str, Resource], _ThingHint]] = {
    ("VolumeRestrictions", served_kinds.CLAIMS): _after_new_claim,
    ("NodeVolumeLimits", served_kinds.CSI_NODES): _after_limits,
    ("NodeVolumeLimits", served_kinds.CLAIMS): _after_new_claim,
    ("NodeVolumeLimits", served_kinds.ATTACHMENTS): _after_detaching,
    ("VolumeBinding", served_kinds.STORAGE_CLASSES): _after_class,
    ("VolumeBinding", served_kinds.CLAIMS): _after_own_claim,
    ("VolumeBinding", served_kinds.VOLUMES): _after_volume,
    ("VolumeBinding", served_kinds.CSI_NODES): _after_driver_node,
    ("VolumeBinding", served_kinds.CSI_STORAGE_CAPACITIES): _after_capacity,
    ("VolumeZone", served_kinds.STORAGE_CLASSES): _after_waiting_class,
    ("VolumeZone", served_kinds.CLAIMS): _after_own_claim,
    ("VolumeZone", served_kinds.VOLUMES): _after_volume_zone,
}
