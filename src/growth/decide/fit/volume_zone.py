"""VolumeZone: volumes that say by label in which zone and region they are.

Only nodes that have any such label themselves are asked: a cluster of one zone may do without. Ephemeral volumes are
not looked at (their node affinity says the same).
"""

from typing import Final

from growth.api.kinds import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from growth.api.pod import Pod
from growth.api.reasons import formatting
from growth.api.storage import PersistentVolume
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.volume_claims import ZONE_FILTER, named_claims

FILTER: Final = ZONE_FILTER

# The old names of the two labels, and what stands for them on a node that has only the new ones.
_SUCCESSORS: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
_BETWEEN_ZONES: Final = "__"


def prepare(simulated: SimulatedCluster, pod: Pod) -> Check | None:
    """The check for pods with such volumes; None for all others."""
    places = [place for volume in _volumes(simulated, pod) for place in _places(volume)]
    if not places:
        return None

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        labels = node_info.labels
        if not any(key in labels for key in _SUCCESSORS):
            return None
        for volume, key, values in places:
            value = labels.get(key, labels.get(_SUCCESSORS[key]))
            if value is None or value not in values:
                there = formatting.label(labels, key if key in labels else _SUCCESSORS[key])
                reason = f"its volume {volume} is at {key}={' or '.join(sorted(values))}; the node has {there}"
                return FilterRefusal(FILTER, reason, is_permanent=True)
        return None

    return check


def _volumes(simulated: SimulatedCluster, pod: Pod) -> list[PersistentVolume]:
    found: list[PersistentVolume] = []
    for volume, name in named_claims(pod):
        if volume.persistent_volume_claim is None:
            continue
        claim = simulated.get(PERSISTENT_VOLUME_CLAIMS, name, pod.metadata.namespace)
        known = simulated.get(PERSISTENT_VOLUMES, claim.spec.volume_name) if claim is not None else None
        if known is not None:
            found.append(known)
    return found


def _places(volume: PersistentVolume) -> list[tuple[str, str, frozenset[str]]]:
    found: list[tuple[str, str, frozenset[str]]] = []
    for key in _SUCCESSORS:
        text = volume.metadata.labels.get(key)
        if text is None:
            continue
        values = frozenset(value.strip() for value in text.split(_BETWEEN_ZONES))
        if "" not in values:  # a list that makes no sense is no constraint
            found.append((volume.metadata.name, key, values))
    return found
