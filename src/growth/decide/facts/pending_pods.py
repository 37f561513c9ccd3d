"""Pods of jobs that were just admitted: they will be made in a moment, all of them, and want places together.

The Job controller makes the pods of a large job one after the other, and a scheduler refuses them one after the other.
Who plans for the first ones buys small machines; who knows of all of them buys what fits all.

``queue`` decides first and notes them in the snapshot that all look at (``stand_ins``); where it does not run there are
none.

Pods that lose their machine and will be made anew elsewhere: they want a place before they are gone.

``failover`` decides first and notes them in the snapshot that all look at; where it does not run, or does not act,
there are none. Nobody may touch them, for they are as good as gone: a stand-in wants the place (``stand_ins``). It ends
with its pod. What was bought for it is then room for whoever waits, and that is the pod's successor.

Pods that are not there yet and want a place already; whoever buys machines plans for them.

Two know of such: ``displaced`` (pods that lose their machine and will be made anew) and ``announced`` (pods of a job
that was just admitted). They note them in the snapshot that all look at, before it is decided what to buy. A stand-in
has no object in the cluster, so nothing can be written on it and no key be given to it. When the pod comes that it
stands for, it is gone, and what was bought for it is room for whoever waits: that is this pod.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from growth.api.meta import ObjectMeta
from growth.api.out_of_service import SHUTDOWN, out_of_service_taint
from growth.api.pod import Pod, PodStatus
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.observe.snapshot import Snapshot

_ANNOUNCED: Final = "pods that will be made"
_PREFIX: Final = "announced-"
"""How the uids of stand-ins begin; no object's uid does."""


def note_announced(snapshot: Snapshot, pods: Iterable[Pod]) -> None:
    """These will be made."""
    snapshot.memo[_ANNOUNCED] = {pod.metadata.uid: pod for pod in pods}


def announced_in(snapshot: Snapshot) -> Mapping[str, Pod]:
    """What was noted, by uid."""
    return snapshot.memo.get(_ANNOUNCED, {})


def is_announced(uid: str) -> bool:
    """Whether no pod has this uid, but one was announced with it."""
    return uid.startswith(_PREFIX)


def is_announced_for(uid: str, whose: str) -> bool:
    """Whether this is the uid of a pod that was announced for this one."""
    return uid.startswith(f"{_PREFIX}{whose}-")


def announcements(pod: Pod, whose: str, count: int) -> tuple[Pod, ...]:
    """So many pods like this one; ``whose`` sets them apart from all others that are announced."""
    meta = pod.metadata
    return tuple(
        msgspec.structs.replace(
            pod,
            metadata=ObjectMeta(
                name=f"{meta.name}-{number}",
                namespace=meta.namespace,
                uid=f"{_PREFIX}{whose}-{number}",
                creation_timestamp=meta.creation_timestamp,
                labels=meta.labels,
                owner_references=meta.owner_references,
            ),
        )
        for number in range(count)
    )


_DISPLACED: Final = "pods that lose their machine"
_SUCCESSOR: Final = "successor-of-"
"""How the uids of stand-ins begin; no object's uid does."""


class ReplacementPod(msgspec.Struct, frozen=True):
    """A pod that loses its machine."""

    uid: str
    node: str
    virtual_pod: Pod
    """Its successor, as far as one can know: the same wishes and volumes, and no node yet."""


def note_displaced(snapshot: Snapshot, pods: Iterable[Pod]) -> None:
    """These lose their machines."""
    found = (ReplacementPod(pod.metadata.uid, pod.node_name, _stand_in(pod)) for pod in pods)
    snapshot.memo[_DISPLACED] = {one.virtual_pod.metadata.uid: one for one in found}


def displaced_in(snapshot: Snapshot) -> Mapping[str, ReplacementPod]:
    """What was noted, by the uids of the stand-ins."""
    return snapshot.memo.get(_DISPLACED, {})


def is_successor(uid: str) -> bool:
    """Whether no pod has this uid, but the stand-in of one had or has it."""
    return uid.startswith(_SUCCESSOR)


def clear(simulated: SimulatedCluster, displaced: Iterable[ReplacementPod]) -> None:
    """Take them off their nodes, so that they stand in nobody's way, and keep these closed: they are no room."""
    nodes: dict[str, None] = {}
    for one in displaced:
        simulated.remove(one.uid, one.node)
        nodes[one.node] = None
    for name in nodes:
        node = simulated.nodes[name]
        if out_of_service_taint(node) is None:  # it is written in this moment
            spec = msgspec.structs.replace(node.spec, taints=(*node.spec.taints, SHUTDOWN))
            simulated.change_node(msgspec.structs.replace(node, spec=spec))


def _stand_in(pod: Pod) -> Pod:
    meta = pod.metadata
    known = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=f"{_SUCCESSOR}{meta.uid}",
        creation_timestamp=meta.creation_timestamp,
        labels=meta.labels,
        owner_references=meta.owner_references,
    )
    return Pod(known, pod.spec, status=PodStatus(phase="Pending"))


_STAND_INS: Final = "stand-ins"
_WAITING: Final = "pods that wait, and stand-ins"


def virtual_pods_in(snapshot: Snapshot) -> Mapping[str, Pod]:
    """All of them, by uid."""
    known = snapshot.memo.get(_STAND_INS)
    if known is None:
        successors = {uid: one.virtual_pod for uid, one in displaced_in(snapshot).items()}
        known = snapshot.memo[_STAND_INS] = {**successors, **announced_in(snapshot)}
    return known


def waiting_in(snapshot: Snapshot) -> Mapping[str, Pod]:
    """All who want a place, by uid: pods that wait, and stand-ins."""
    virtual_pods = virtual_pods_in(snapshot)
    if not virtual_pods:
        return snapshot.waiting
    known = snapshot.memo.get(_WAITING)
    if known is None:
        known = snapshot.memo[_WAITING] = {**snapshot.waiting, **virtual_pods}
    return known


def is_stand_in(uid: str) -> bool:
    """Whether no pod has this uid."""
    return is_successor(uid) or is_announced(uid)
