"""Wishes: what a pod would rather have, for choosing among places that cost the same. They never block a pod.

Preferred node affinity, preferred affinity and anti-affinity to other pods, ScheduleAnyway and PreferNoSchedule become
one number, the grief of a pod at a node: the weights of all wishes that are not met there. It is not the scheduler's
score (which also likes balanced nodes, near images and much else); a plan only has to prefer what pods asked for.
"""

from collections.abc import Callable
from typing import Final

from growth.api.pod import Pod, WeightedPodAffinityTerm
from growth.api.selectors import NodeSelectorTerm
from growth.api.tolerations import PREFER_NO_SCHEDULE, tolerates
from growth.decide.fit import inter_pod_affinity, topology_spread
from growth.decide.fit.node_info import NodeInfo
from growth.decide.fit.simulated_cluster import SimulatedCluster

# As much as the strongest wish that somebody can write down.
FULL_WEIGHT: Final = 100

Grief = Callable[[NodeInfo], int]
"""The weight of what is not met at a node."""


def grief(simulated: SimulatedCluster, pod: Pod, node_name: str) -> int:
    """The weights of all wishes of the pod that this node does not meet; 0 if it meets all, or there are none."""
    node_info = simulated.node_info(node_name)
    return sum(each(node_info) for each in prepare(simulated, pod))


def prepare(simulated: SimulatedCluster, pod: Pod) -> tuple[Grief, ...]:
    """What to ask of each node, for pods of these labels, namespace, spec and keys."""
    key = (id(pod.spec), id(pod.metadata.labels), pod.metadata.namespace, pod.keys)
    known = simulated.preferences.get(key)
    if known is None:
        known = simulated.preferences[key] = (pod, tuple(_griefs(simulated, pod)))
    return known[1]


def _griefs(simulated: SimulatedCluster, pod: Pod) -> list[Grief]:
    found: list[Grief] = [_taints(pod)]
    affinity = pod.spec.affinity
    if affinity is not None and affinity.node_affinity is not None:
        found += [_label(preference.preference, preference.weight) for preference in affinity.node_affinity.preferred]
    if affinity is not None and affinity.pod_affinity is not None:
        found += [_neighbour(simulated, pod, wish, wanted=True) for wish in affinity.pod_affinity.preferred]
    if affinity is not None and affinity.pod_anti_affinity is not None:
        found += [_neighbour(simulated, pod, wish, wanted=False) for wish in affinity.pod_anti_affinity.preferred]
    if pod.spec.topology_spread_constraints:
        found += [_evenness(excess) for excess in topology_spread.prepare_wishes(simulated.counts, pod)]
    return found


def _label(term: NodeSelectorTerm, weight: int) -> Grief:
    return lambda node_info: 0 if term.matches(node_info.labels, node_info.name) else weight


def _neighbour(simulated: SimulatedCluster, pod: Pod, preference: WeightedPodAffinityTerm, *, wanted: bool) -> Grief:
    is_present = inter_pod_affinity.presence(simulated, pod, preference.pod_affinity_term)
    return lambda node_info: 0 if is_present(node_info) is wanted else preference.weight


def _evenness(excess: Callable[[NodeInfo], int]) -> Grief:
    return lambda node_info: FULL_WEIGHT * excess(node_info)


def _taints(pod: Pod) -> Grief:
    tolerations = pod.spec.tolerations

    def unwelcome(node_info: NodeInfo) -> int:
        return FULL_WEIGHT * sum(
            taint.effect == PREFER_NO_SCHEDULE and not any(tolerates(each, taint) for each in tolerations)
            for taint in node_info.node.spec.taints
        )

    return unwelcome
