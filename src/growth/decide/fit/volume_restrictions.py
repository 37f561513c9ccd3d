"""VolumeRestrictions: disks that pods of one node cannot share, and claims that only one pod may use at a time.

The disks are those named in the pod itself: of Google's and Amazon's clouds, iSCSI, Ceph. Amazon's are never shared,
the others only if every pod reads. A ReadWriteOncePod claim in use by any pod blocks every node.
"""

from typing import Final

from growth.api.pod import Pod, Volume
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.volume_claims import RESTRICTIONS_FILTER, single_pod_claims

FILTER: Final = RESTRICTIONS_FILTER


def prepare(simulated: SimulatedCluster, pod: Pod) -> Check | None:
    """The check for pods with such disks or claims; None for all others."""
    disks = tuple(volume for volume in pod.spec.volumes if volume.is_disk)
    alone = single_pod_claims(simulated, pod)
    if not disks and not alone:
        return None

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        for disk in disks:
            if any(is_conflict(disk, other) for there in node_info.pods.values() for other in there.spec.volumes):
                reason = f"its disk {disk.name} is in use by another pod of the node"
                return FilterRefusal(FILTER, reason, is_permanent=False)
        return in_use(simulated, alone)

    return check


def in_use(simulated: SimulatedCluster, alone: tuple[tuple[str, str], ...]) -> FilterRefusal | None:
    """The first of these claims, for one pod only, that another pod uses."""
    for namespace, name in alone:
        if simulated.volumes.is_in_use((namespace, name)):
            reason = f"its claim {name} is for one pod only (ReadWriteOncePod) and another pod uses it"
            return FilterRefusal(FILTER, reason, is_permanent=False)
    return None


def is_conflict(one: Volume, other: Volume) -> bool:
    """Whether two volumes are the same disk and not both only read."""
    if one.gce_persistent_disk is not None and other.gce_persistent_disk is not None:
        a, b = one.gce_persistent_disk, other.gce_persistent_disk
        if a.pd_name == b.pd_name and not (a.read_only and b.read_only):
            return True
    if one.aws_elastic_block_store is not None and one.aws_elastic_block_store == other.aws_elastic_block_store:
        return True
    if one.iscsi is not None and other.iscsi is not None:
        c, d = one.iscsi, other.iscsi
        if c.iqn == d.iqn and not (c.read_only and d.read_only):
            return True
    if one.rbd is None or other.rbd is None:
        return False
    e, f = one.rbd, other.rbd
    is_same = e.pool == f.pool and e.image == f.image and not set(e.monitors).isdisjoint(f.monitors)
    return is_same and not (e.read_only and f.read_only)
