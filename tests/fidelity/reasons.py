"""The scheduler's refusal in detail: how many nodes each filter refused, and on how many eviction might have helped.

It tells both in the message of the pod's condition, so for every pod that fits nowhere all nodes of the case can be
compared, filter by filter, not only the verdict. The cluster's other nodes refuse by cordon or taint and are left out
of the comparison, so those two filters (and, for a pod that tolerates everything, NodeAffinity) can only be compared
from one side. Which of several missing resources a node lacks counts as one refusal with us.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from growth.api.pod import Pod
from growth.decide.fit import FilterRefusal, SimulatedCluster, fit, unplaceable

# What each filter says, in the words of kube-scheduler 1.36.
SAYINGS: dict[str, str] = {
    "node(s) were unschedulable": "NodeUnschedulable",
    "node(s) didn't match the requested node name": "NodeName",
    "node(s) had untolerated taint(s)": "TaintToleration",
    "node(s) didn't match Pod's node affinity/selector": "NodeAffinity",
    "node(s) didn't have free ports for the requested pod ports": "NodePorts",
    "node(s) had no available disk": "VolumeRestrictions",
    "node(s) exceed max volume count": "NodeVolumeLimits",
    "node(s) didn't match PersistentVolume's node affinity": "VolumeBinding",
    "node(s) didn't find available persistent volumes to bind": "VolumeBinding",
    "node(s) did not have enough free storage": "VolumeBinding",
    "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)": "VolumeBinding",
    "node(s) had no available volume zone": "VolumeZone",
    "node(s) didn't match pod topology spread constraints": "PodTopologySpread",
    "node(s) didn't match pod topology spread constraints (missing required label)": "PodTopologySpread",
    "node(s) didn't match pod affinity rules": "InterPodAffinity",
    "node(s) didn't match pod anti-affinity rules": "InterPodAffinity",
    "node(s) didn't satisfy existing pods anti-affinity rules": "InterPodAffinity",
    "node(s) didn't match Pod's required features": "NodeDeclaredFeatures",
}
RESOURCES = "NodeResourcesFit"
_SHARED = frozenset({"NodeUnschedulable", "TaintToleration"})
_COUNTED = re.compile(r"(?:^|, )(\d+) (.*?)(?=, \d+ |$)")
_VICTIMS = re.compile(r"(\d+) No preemption victims found for incoming pod")
_RESOURCE = re.compile(r"(Insufficient \S+|Too many pods)")


def difference(message: str, stage: SimulatedCluster, pod: Pod, nodes: Iterable[str]) -> str:
    """What the scheduler's message and our misfits do not agree in; empty if they agree."""
    told, _, rest = message.partition(" nodes are available: ")
    body = rest.partition(". no new claims")[0].partition(". preemption:")[0].rstrip(".")
    counts = _counts(body)
    hindrance = unplaceable(stage, pod)
    if hindrance is not None or not counts:
        is_for_one_pod = hindrance is not None and "ReadWriteOncePod" in hindrance.reason
        agrees = hindrance is not None and (not counts or is_for_one_pod)
        return "" if agrees else f"it says {told} {body!r}, we say {hindrance}"
    if "didn't satisfy plugin" in body:
        return ""  # it looked only at nodes that the pod names
    ours = {name: misfit for name in nodes if (misfit := fit(stage, pod, name)) is not None}
    return _filters(body, counts, ours, pod) or _permanence(message, ours)


def _counts(body: str) -> Counter[str]:
    return Counter({saying: int(number) for number, saying in _COUNTED.findall(body)})


def _filters(body: str, counts: Mapping[str, int], ours: Mapping[str, FilterRefusal], pod: Pod) -> str:
    by_filter = Counter(misfit.filter for misfit in ours.values())
    theirs: Counter[str] = Counter()
    lacking = [number for saying, number in counts.items() if _RESOURCE.fullmatch(saying)]
    for saying, number in counts.items():
        if not _RESOURCE.fullmatch(saying):
            known = SAYINGS.get(saying)
            if known is None:
                return f"unknown saying {saying!r}"
            theirs[known] += number
    shared = {*_SHARED, *(("NodeAffinity",) if any(not known.key for known in pod.spec.tolerations) else ())}
    for name in {*theirs, *by_filter} - {RESOURCES}:
        differs = by_filter[name] > theirs[name] if name in shared else by_filter[name] != theirs[name]
        if differs:
            return f"{name}: it refuses {theirs[name]} nodes, we {by_filter[name]} ({body})"
    if not max(lacking, default=0) <= by_filter[RESOURCES] <= sum(lacking):
        return f"{RESOURCES}: it refuses {lacking} nodes, we {by_filter[RESOURCES]} ({body})"
    return ""


def _permanence(message: str, ours: Mapping[str, FilterRefusal]) -> str:
    """Whether we agree for how many nodes evicting pods was worth a thought."""
    if "preemption:" not in message:
        return ""
    found = _VICTIMS.search(message)
    theirs = int(found.group(1)) if found else 0
    passing = sum(not misfit.is_permanent for misfit in ours.values())
    return "" if theirs == passing else f"eviction was tried on {theirs} nodes, we think on {passing} ({message})"
