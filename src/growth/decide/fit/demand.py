"""Demand: which of the waiting pods ask for room, and why the others do not.

A pod that waits is demand unless something else must happen first: somebody lifts its gates, another scheduler has its
say, a claim appears. A DaemonSet's pod never justifies a node of its own. A pod that is nominated, or for which a
place is kept on a new node, has its place as long as that node exists (or is coming) and still fits it; room for it is
taken on the stage, and it is demand again when that ends.
"""

from typing import Final, Literal

import msgspec

from growth.api.pod import Pod
from growth.api.pod_classification import is_daemon, is_static
from growth.api.taints import kept_for
from growth.decide.fit.predicates import fit, unplaceable
from growth.decide.fit.simulated_cluster import SimulatedCluster

DEFAULT_SCHEDULER: Final = "default-scheduler"

Why = Literal[
    "Terminating",
    "Static",
    "DaemonSet",
    "SchedulingGated",
    "OtherScheduler",
    "ResourceClaims",
    "Unplaceable",
    "Nominated",
    "Kept",
    "Gang",
]


class ExcludedPod(msgspec.Struct, frozen=True):
    """A waiting pod that is not demand, and why, in a word and in a sentence."""

    pod: Pod
    why: Why
    reason: str
    node: str = ""
    """Where it has its place."""


class Demand(msgspec.Struct, frozen=True):
    """The waiting pods, sorted out: most important first, then the oldest."""

    pods: tuple[Pod, ...]
    set_aside: tuple[ExcludedPod, ...]


def demand_of(simulated: SimulatedCluster) -> Demand:
    """Sort out who waits. Pods that have a place already are placed on the stage."""
    pods: list[Pod] = []
    set_aside: list[ExcludedPod] = []
    for pod in sorted(simulated.snapshot.waiting.values(), key=importance):
        aside = why_not(pod) or why_unplaceable(simulated, pod) or has_place(simulated, pod)
        if aside is None:
            pods.append(pod)
        else:
            set_aside.append(aside)
        if aside is not None and aside.node:
            simulated.place(pod, aside.node)
    return Demand(tuple(pods), tuple(set_aside))


def why_not(pod: Pod) -> ExcludedPod | None:
    """Why a waiting pod is not demand, as far as the pod itself tells; None if it may be."""
    meta, spec = pod.metadata, pod.spec
    owner = meta.controller
    if meta.deletion_timestamp is not None:
        return ExcludedPod(pod, "Terminating", "it is being deleted")
    if is_static(pod):
        return ExcludedPod(pod, "Static", "it is a static pod, which its kubelet runs without asking anybody")
    if owner is not None and is_daemon(pod):
        reason = f"it belongs to DaemonSet {owner.name} and waits for room on a node that exists"
        return ExcludedPod(pod, "DaemonSet", reason)
    if spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in spec.scheduling_gates)
        return ExcludedPod(pod, "SchedulingGated", f"it is held by scheduling gates: {gates}")
    if spec.scheduler_name != DEFAULT_SCHEDULER and not pod.is_refused:
        reason = f"it waits for scheduler {spec.scheduler_name}, which has not called it unschedulable"
        return ExcludedPod(pod, "OtherScheduler", reason)
    if spec.resource_claims:
        reason = "it uses resource claims (dynamic allocation), which Growth does not plan for"
        return ExcludedPod(pod, "ResourceClaims", reason)
    return None


def why_unplaceable(simulated: SimulatedCluster, pod: Pod) -> ExcludedPod | None:
    """Why no machine whatever could help a waiting pod; None if one may."""
    misfit = unplaceable(simulated, pod)
    return None if misfit is None else ExcludedPod(pod, "Unplaceable", misfit.reason)


def has_place(simulated: SimulatedCluster, pod: Pod) -> ExcludedPod | None:
    """Where a waiting pod has its place already, if it has one."""
    nominated, kept = pod.status.nominated_node_name, kept_for(pod)
    if nominated and _still_fits(simulated, pod, nominated):
        return ExcludedPod(pod, "Nominated", f"it is nominated to node {nominated}, where it still fits", nominated)
    if kept and _still_fits(simulated, pod, kept):
        return ExcludedPod(pod, "Kept", f"a place is kept for it on node {kept}, where it still fits", kept)
    return None


def _still_fits(simulated: SimulatedCluster, pod: Pod, node: str) -> bool:
    return node in simulated.nodes and fit(simulated, pod, node) is None


def importance(pod: Pod) -> tuple[int, float, str]:
    """Most important first, then the oldest; uids make the order total."""
    created = pod.metadata.creation_timestamp
    return -pod.spec.priority, created.timestamp() if created is not None else 0.0, pod.metadata.uid
