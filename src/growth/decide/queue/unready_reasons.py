"""Why pods do not start, in words that say what to do: what is asked for that is not there, by name and number.

Two answers. ``complaint`` is what does not change from one moment to the next, and costs nothing: it is said while a
workload waits. ``diagnosis`` also looks at the nodes, and is asked for once, when the workload is put back.
"""

from collections.abc import Iterable

from growth.api.kinds import PERSISTENT_VOLUME_CLAIMS
from growth.api.pod import Pod
from growth.api.reasons import formatting
from growth.api.taints import tolerations_of
from growth.decide.fit import node_affinity, node_resources, taint_toleration
from growth.decide.fit.filter_result import FilterRefusal, verdict_from
from growth.decide.fit.node_info import NodeInfo
from growth.decide.fit.volume_claims import named_claims
from growth.observe.pod_requests import Requests
from growth.observe.snapshot import Snapshot


def complaint(snapshot: Snapshot, pods: Iterable[Pod]) -> str:
    """What is wrong with pods that are not ready, of the first that has something to say; empty if none has."""
    pods = sorted(pods, key=_name)
    for pod in pods:
        if why := _hindrance(snapshot, pod):
            return _said_of(pod, why)
    refused = sum(pod.is_refused for pod in pods)
    if not refused:
        return ""
    return f"no node was found for {refused} pods" if refused > 1 else "no node was found for a pod"


def diagnosis(
    snapshot: Snapshot, pods: Iterable[Pod], no_place: dict[tuple[int, tuple[str, ...]], str] | None = None
) -> str:
    """The same with what the nodes lack. ``no_place`` keeps that for the pods of the same pass that are alike."""
    pods = sorted(pods, key=_name)
    for pod in pods:
        if why := _hindrance(snapshot, pod):
            return _said_of(pod, why)
    for pod in pods:
        if pod.spec.scheduling_gates:
            return _said_of(pod, f"it is held back by the scheduling gate {pod.spec.scheduling_gates[0].name}")
        if not pod.node_name:
            return _said_of(pod, _no_place(snapshot, pod, no_place if no_place is not None else {}))
    return _said_of(pods[0], f"it is on node {pods[0].node_name}, and does not get ready") if pods else ""


def _name(pod: Pod) -> str:
    return pod.metadata.name


def _said_of(pod: Pod, why: str) -> str:
    return f"pod {pod.metadata.name}: {why}"


def _hindrance(snapshot: Snapshot, pod: Pod) -> str:
    """What keeps it from starting wherever it is."""
    if pod.node_name:
        return pod.status.trouble
    claims = snapshot.table(PERSISTENT_VOLUME_CLAIMS)
    for volume, name in named_claims(pod):
        # The claim of an ephemeral volume is made for the pod, in its time.
        if volume.ephemeral is None and (pod.metadata.namespace, name) not in claims:
            return f"PersistentVolumeClaim {name} does not exist"
    return ""


def _no_place(snapshot: Snapshot, pod: Pod, known: dict[tuple[int, tuple[str, ...]], str]) -> str:
    """Why no node takes it: none that it may use, or none with so much free; else what its scheduler said.

    Workloads that are put back together are often alike, so nodes are looked at once for each spec.
    """
    key = (id(pod.spec), tuple(pod.keys))
    if key not in known:
        known[key] = _misfit(snapshot, pod)
    return known[key] or pod.status.trouble or "its scheduler has found no node for it"


def _misfit(snapshot: Snapshot, pod: Pod) -> str:
    may_use, misfits = list[NodeInfo](), dict[str, FilterRefusal]()
    checks = [
        taint_toleration.prepare_unschedulable(pod.spec),
        taint_toleration.prepare(tolerations_of(pod)),
        node_affinity.prepare(pod.spec),
    ]
    for name, node in snapshot.nodes.items():
        node_info = NodeInfo(node, {}, {})
        misfit = next(
            (found for check in checks if check is not None and (found := check(node_info)) is not None), None
        )
        if misfit is None:
            may_use.append(node_info)
        else:
            misfits[name] = misfit
    if not may_use:
        return verdict_from([], misfits).sentence
    asked = snapshot.shapes.of(pod.spec).requests
    frees = [snapshot.room.free(info.name) for info in may_use]
    return _shortage(asked, frees)


def _shortage(asked: Requests, frees: list[dict[str, int]]) -> str:
    """What no node has enough of; empty if one has enough of everything."""
    if any(node_resources.has_room(free, asked) for free in frees):
        return ""
    lacking: list[str] = []
    for resource, amount in sorted(asked.items()):
        largest = max(free.get(resource, 0) for free in frees)
        if amount > largest and node_resources.is_counted(resource):
            had = formatting.amount(resource, max(0, largest))
            lacking.append(f"{_amount(resource, amount)} asked, largest free node has {had}")
    if lacking:
        return "; ".join(lacking)
    whole = ", ".join(_amount(resource, amount) for resource, amount in sorted(asked.items()) if amount)
    return f"{whole} asked, and no node has all of it free"


def _amount(resource: str, amount: int) -> str:
    return f"{formatting.amount(resource, amount)} {formatting.name(resource)}"
