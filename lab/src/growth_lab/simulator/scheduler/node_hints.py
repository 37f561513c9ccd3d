"""Which nodes that come, change or go may help a pod that was refused; see ``hints``."""

from collections.abc import Callable
from typing import Final

from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.taints import tolerations_of
from growth.api.tolerations import untolerated
from growth.decide.fit.inter_pod_affinity import attracting_terms
from growth.decide.fit.node_affinity import matcher
from growth.decide.fit.node_resources import is_counted
from growth.decide.fit.pod_counts import repelling_terms
from growth.decide.fit.topology_spread import hard_constraints
from growth.observe.pod_requests import amounts_from, requests_of
from growth_lab.simulator.scheduler.cache import NodeChange


def node_hint(filter_name: str, pod: Pod, change: NodeChange) -> bool:
    """Whether a node that came, changed or went may help a pod that this filter refused."""
    hint = _NODE_HINTS.get(filter_name)
    return hint is not None and hint(pod, change)


def _after_taints(pod: Pod, change: NodeChange) -> bool:
    before, now = change
    if now is None or (before is not None and before.spec == now.spec):
        return False
    tolerations = tolerations_of(pod)
    was_kept_away = before is None or untolerated(before.spec.taints, tolerations) is not None
    return was_kept_away and untolerated(now.spec.taints, tolerations) is None


def _after_cordon(_: Pod, change: NodeChange) -> bool:
    before, now = change
    return now is not None and not now.spec.unschedulable and (before is None or before.spec.unschedulable)


def _after_labels(pod: Pod, change: NodeChange) -> bool:
    before, now = change
    matches = matcher(pod.spec)
    if now is None or matches is None or not matches(now.metadata.labels, now.metadata.name):
        return False
    return before is None or not matches(before.metadata.labels, before.metadata.name)


def _after_node(_: Pod, change: NodeChange) -> bool:
    return change.before is None and change.now is not None


def _after_node_or_labels(_: Pod, change: NodeChange) -> bool:
    before, now = change
    return now is not None and (before is None or before.metadata.labels != now.metadata.labels)


def _after_room(pod: Pod, change: NodeChange) -> bool:
    """Only if the node fits the pod while it is empty."""
    before, now = change
    if now is None:
        return False
    wanted = {name: amount for name, amount in requests_of(pod.spec).items() if is_counted(name)}
    has = amounts_from(now.status.allocatable)
    if any(amount > has.get(name, 0) for name, amount in wanted.items()):
        return False
    if before is None:
        return True
    had = amounts_from(before.status.allocatable)
    return any(has.get(name, 0) > had.get(name, 0) for name in wanted)


def _after_topology(pod: Pod, change: NodeChange) -> bool:
    """For the pod's own terms; that others stay away from it has no hint."""
    before, now = change
    if now is None:
        return False
    labels = now.metadata.labels
    near, far = attracting_terms(pod), repelling_terms(pod.spec)
    if before is None:
        return bool(far) or any(term.topology_key in labels for term in near)
    old = before.metadata.labels
    moved = any(
        term.topology_key in labels and labels[term.topology_key] != old.get(term.topology_key) for term in near
    )
    return moved or any(
        term.topology_key in old and labels.get(term.topology_key) != old[term.topology_key] for term in far
    )


def _after_domains(pod: Pod, change: NodeChange) -> bool:
    before, now = change
    keys = [constraint.topology_key for constraint in hard_constraints(pod)]
    was = before is not None and all(key in before.metadata.labels for key in keys)
    is_now = now is not None and all(key in now.metadata.labels for key in keys)
    if before is None or now is None:
        return was or is_now
    return was != is_now or (is_now and (_values(before, keys) != _values(now, keys) or before.spec != now.spec))


def _values(node: Node, keys: list[str]) -> list[str | None]:
    return [node.metadata.labels.get(key) for key in keys]


def _after_features(_: Pod, change: NodeChange) -> bool:
    before, now = change
    return now is not None and (before is None or before.status.declared_features != now.status.declared_features)


_NodeHint = Callable[[Pod, NodeChange], bool]
_NODE_HINTS: Final[dict[str, _NodeHint]] = {
    "NodeUnschedulable": _after_cordon,
    "NodeName": _after_node,
    "TaintToleration": _after_taints,
    "NodeAffinity": _after_labels,
    "NodePorts": _after_node,
    "NodeResourcesFit": _after_room,
    "VolumeRestrictions": _after_node,
    "VolumeBinding": _after_node_or_labels,
    "VolumeZone": _after_node_or_labels,
    "PodTopologySpread": _after_domains,
    "InterPodAffinity": _after_topology,
    "NodeDeclaredFeatures": _after_features,
}
