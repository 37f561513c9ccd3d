"""NodeVolumeLimits: how many volumes of a storage driver a node can hold.

The limit is what the driver wrote into the node's CSINode; without one there is no limit. Counted are distinct volumes
(driver and handle), so one that several pods share counts once. A claim without volume counts for the driver that will
provision it. Attachments that no pod of the node explains count on top.

Volumes of drivers that used to be part of Kubernetes (``kubernetes.io/aws-ebs`` and the like, translated by the
scheduler where a node says so) are not counted here.
"""

from collections.abc import Iterable
from typing import Final

from growth.api.kinds import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, VOLUME_ATTACHMENTS
from growth.api.pod import Pod
from growth.api.storage import CsiNode, PersistentVolumeClaim
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.volume_claims import class_of, is_of_pod, named_claims

FILTER: Final = "NodeVolumeLimits"

Attachable = tuple[str, str]
"""Driver and handle."""


def prepare(simulated: SimulatedCluster, pod: Pod) -> Check | None:
    """The check for pods with claims; None for all others, and for those whose volumes no driver holds."""
    new = frozenset(_volumes(simulated, pod))
    if not new:
        return None
    attachments = _attachments(simulated)

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        limits = limits_of(simulated.drivers_on(node_info))
        if not limits:
            return None
        there = _held(simulated, node_info)
        attached = attachments.get(node_info.name, frozenset()) - there
        for driver in sorted({driver for driver, _ in new}):
            limit = limits.get(driver)
            wanted = _count(new - there, driver)
            if limit is None or not wanted:
                continue
            used = _count(there, driver) + _count(attached, driver)
            if used + wanted > limit:
                needs = "a volume" if wanted == 1 else f"{wanted} volumes"
                reason = f"needs {needs} of {driver}; node holds {used} of at most {limit}"
                return FilterRefusal(FILTER, reason, is_permanent=False)
        return None

    return check


def limits_of(csi_node: CsiNode | None) -> dict[str, int]:
    """How many volumes of each driver a node takes; drivers without limit are left out."""
    drivers = csi_node.spec.drivers if csi_node is not None else None
    return {
        driver.name: driver.allocatable.count
        for driver in drivers or ()
        if driver.allocatable is not None and driver.allocatable.count is not None
    }


def _held(simulated: SimulatedCluster, node_info: NodeInfo) -> frozenset[Attachable]:
    """The volumes of all pods of a node, known until one with volumes comes or goes."""
    if node_info.attached is None:
        pods = node_info.pods.values()
        node_info.attached = frozenset(found for pod in pods if pod.spec.volumes for found in _volumes(simulated, pod))
    return node_info.attached


def _volumes(simulated: SimulatedCluster, pod: Pod) -> Iterable[Attachable]:
    for volume, name in named_claims(pod):
        claim = simulated.get(PERSISTENT_VOLUME_CLAIMS, name, pod.metadata.namespace)
        if claim is None or (volume.ephemeral is not None and not is_of_pod(claim, pod)):
            continue
        found = _volume(simulated, claim)
        if found is not None:
            yield found


def _volume(simulated: SimulatedCluster, claim: PersistentVolumeClaim) -> Attachable | None:
    known = simulated.get(PERSISTENT_VOLUMES, claim.spec.volume_name) if claim.spec.volume_name else None
    if known is not None:
        return (known.spec.csi.driver, known.spec.csi.volume_handle) if known.spec.csi is not None else None
    storage = class_of(simulated, claim)
    if storage is None or not storage.provisioner:
        return None
    # A handle that no driver would give out: the volume will be a new one.
    return storage.provisioner, f"unbound {claim.metadata.namespace}/{claim.metadata.name}"


def _attachments(simulated: SimulatedCluster) -> dict[str, frozenset[Attachable]]:
    """What is attached by node, whoever wanted it."""
    found: dict[str, set[Attachable]] = {}
    for attachment in simulated.all(VOLUME_ATTACHMENTS):
        spec = attachment.spec
        volume = simulated.get(PERSISTENT_VOLUMES, spec.source.persistent_volume_name)
        if spec.attacher and volume is not None and volume.spec.csi is not None:
            found.setdefault(spec.node_name, set()).add((spec.attacher, volume.spec.csi.volume_handle))
    return {name: frozenset(volumes) for name, volumes in found.items()}


def _count(volumes: Iterable[Attachable], driver: str) -> int:
    return sum(1 for name, _ in volumes if name == driver)
