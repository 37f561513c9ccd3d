"""VolumeBinding: whether the volumes of a pod can be reached from a node, or made there.

- A claim with its volume: the volume's node affinity must match the node (labels only).
- A claim that waits for its first consumer: pinned to a node if the scheduler chose one before; else the smallest free
  volume of its class that suits the claim and the node, each volume once; else a new one, if the class can provision
  in the node's topology and its driver has room there (asked only of drivers that publish their room).

On a stage, placing a pod takes the free volumes that it would take, and pins a new volume that one node at a time can
use to that node.
"""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Final

import msgspec

from growth.api.kinds import CSI_DRIVERS, CSI_STORAGE_CAPACITIES, PERSISTENT_VOLUMES
from growth.api.pod import Pod
from growth.api.quantity import nano_value, value
from growth.api.reasons import formatting
from growth.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo
from growth.decide.fit.volume_claims import BINDING_FILTER, class_name, class_of, sort_claims
from growth.observe.table import Key

if TYPE_CHECKING:
    from growth.decide.fit.simulated_cluster import SimulatedCluster

FILTER: Final = BINDING_FILTER

_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"


# Volumes of these modes are used on one node at a time, so all pods of a claim go where the first one went.
_ONE_NODE: Final = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})


class Binding(msgspec.Struct, frozen=True):
    """What placing a pod means for one of its claims: an existing volume for it, or a new one made for this node."""

    claim: PersistentVolumeClaim
    volume: PersistentVolume | None
    node: str

    @property
    def key(self) -> Key:
        """The claim's namespace and name."""
        return _key(self.claim)

    def misfit(self, node_info: NodeInfo) -> FilterRefusal | None:
        """Whether another pod with the same claim can go to this node."""
        if self.volume is not None:
            is_near = is_reachable(self.volume, node_info)
        else:
            is_near = node_info.name == self.node or not set(self.claim.spec.access_modes) <= _ONE_NODE
        return None if is_near else _no(f"another pod takes the claim {self.claim.metadata.name} to {self.node}")


def prepare(simulated: "SimulatedCluster", pod: Pod) -> Check | None:
    """The check for pods with claims; None for all others."""
    claims = sort_claims(simulated, pod)
    if isinstance(claims, FilterRefusal) or not (claims.bound or claims.unbound):
        return None  # the pod has none, or is refused before any node is looked at
    volumes = [simulated.get(PERSISTENT_VOLUMES, claim.spec.volume_name) for claim in claims.bound]
    waiting = claims.unbound

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        for volume, claim in zip(volumes, claims.bound, strict=True):
            if volume is None:
                return _no(f"the volume {claim.spec.volume_name} of its claim does not exist")
            if not is_reachable(volume, node_info):
                return _no(f"its volume {volume.metadata.name} cannot be reached from the node")
        if not waiting:
            return None
        found = bind(simulated, waiting, node_info)
        return found if isinstance(found, FilterRefusal) else None

    return check


def is_reachable(volume: PersistentVolume, node_info: NodeInfo) -> bool:
    """Whether a volume's node affinity matches the node, by labels."""
    affinity = volume.spec.node_affinity
    return affinity is None or affinity.required is None or affinity.required.matches(node_info.labels)


def bind(
    simulated: "SimulatedCluster", claims: Iterable[PersistentVolumeClaim], node_info: NodeInfo
) -> "list[Binding] | FilterRefusal":
    """A volume for each claim on this node, or why there is none for one of them."""
    to_match: list[PersistentVolumeClaim] = []
    to_provision: list[PersistentVolumeClaim] = []
    bindings: list[Binding] = []
    for claim in claims:
        planned = simulated.volumes.binding_of(_key(claim))
        selected = claim.metadata.annotations.get(_SELECTED_NODE, node_info.name)
        if planned is not None:
            misfit = planned.misfit(node_info)
            if misfit is not None:
                return misfit
            bindings.append(planned)
        elif selected != node_info.name:
            return _no(f"the volume of its claim {claim.metadata.name} is being made for the node {selected}")
        else:
            (to_provision if _SELECTED_NODE in claim.metadata.annotations else to_match).append(claim)
    taken: set[str] = set()
    for claim in sorted(to_match, key=_requested):
        volume = _smallest(simulated, claim, node_info, taken)
        if volume is None:
            to_provision.append(claim)
        else:
            taken.add(volume.metadata.name)
            bindings.append(Binding(claim, volume, node_info.name))
    for claim in to_provision:
        misfit = _why_not_provisioned(simulated, claim, node_info)
        if misfit is not None:
            return misfit
        bindings.append(Binding(claim, None, node_info.name))
    return bindings


def _smallest(
    simulated: "SimulatedCluster", claim: PersistentVolumeClaim, node_info: NodeInfo, taken: Collection[str]
) -> PersistentVolume | None:
    """The volume that the scheduler would take for a claim, as it chooses it."""
    best: PersistentVolume | None = None
    wanted_class, requested = class_name(claim), _requested(claim)
    for volume in simulated.volumes.volumes_of(wanted_class):
        spec, name = volume.spec, volume.metadata.name
        if name in taken or simulated.volumes.is_taken(name):
            continue
        is_reserved = _is_reserved_for(volume, claim)
        if spec.claim_ref is not None and not is_reserved:
            continue
        if (
            _capacity(volume) < requested
            or spec.volume_mode != claim.spec.volume_mode
            or spec.volume_attributes_class_name != claim.spec.volume_attributes_class_name
            or volume.metadata.deletion_timestamp is not None
        ):
            continue
        if is_reserved:
            return volume if is_reachable(volume, node_info) else None
        if (
            volume.status.phase != "Available"
            or (claim.spec.selector is not None and not claim.spec.selector.matches(volume.metadata.labels))
            or not is_reachable(volume, node_info)
            or not set(claim.spec.access_modes) <= set(spec.access_modes)
        ):
            continue
        if best is None or _capacity(volume) < _capacity(best):
            best = volume
    return best


def _why_not_provisioned(
    simulated: "SimulatedCluster", claim: PersistentVolumeClaim, node_info: NodeInfo
) -> FilterRefusal | None:
    name, storage = claim.metadata.name, class_of(simulated, claim)
    if storage is None or storage.provisioner in ("", _NO_PROVISIONER):
        return _no(f"no free volume suits its claim {name} here, and class {class_name(claim)} makes none")
    if not _is_allowed(storage, node_info):
        return _no(f"class {storage.metadata.name} of its claim {name} makes no volumes in the node's topology")
    if not _has_room(simulated, claim, storage, node_info):
        size = formatting.size(value(claim.spec.resources.requests["storage"]))
        return _no(f"{storage.provisioner} has no room of {size} for its claim {name} here")
    return None


def _is_allowed(storage: StorageClass, node_info: NodeInfo) -> bool:
    if not storage.allowed_topologies:
        return True
    return any(
        term.match_label_expressions
        and all(node_info.labels.get(wanted.key) in wanted.values for wanted in term.match_label_expressions)
        for term in storage.allowed_topologies
    )


def _has_room(
    simulated: "SimulatedCluster", claim: PersistentVolumeClaim, storage: StorageClass, node_info: NodeInfo
) -> bool:
    text = claim.spec.resources.requests.get("storage")
    driver = simulated.get(CSI_DRIVERS, storage.provisioner)
    if text is None or driver is None or not driver.spec.storage_capacity:
        return True
    if node_info.is_planned:
        return True  # its driver says how much room there is only when the node exists
    for known in simulated.all(CSI_STORAGE_CAPACITIES):
        limit = known.maximum_volume_size or known.capacity
        if (
            known.storage_class_name == storage.metadata.name
            and limit is not None
            and value(limit) >= value(text)
            and known.node_topology is not None
            and known.node_topology.matches(node_info.labels)
        ):
            return True
    return False


def _is_reserved_for(volume: PersistentVolume, claim: PersistentVolumeClaim) -> bool:
    reference = volume.spec.claim_ref
    return (
        reference is not None
        and (reference.namespace, reference.name) == _key(claim)
        and reference.uid in ("", claim.metadata.uid)
    )


def _requested(claim: PersistentVolumeClaim) -> int:
    text = claim.spec.resources.requests.get("storage")
    return 0 if text is None else nano_value(text)


def _capacity(volume: PersistentVolume) -> int:
    text = volume.spec.capacity.get("storage")
    return 0 if text is None else nano_value(text)


def _key(claim: PersistentVolumeClaim) -> Key:
    return claim.metadata.namespace, claim.metadata.name


def _no(reason: str) -> FilterRefusal:
    return FilterRefusal(FILTER, reason, is_permanent=True)
