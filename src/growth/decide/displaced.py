"""Pods that lose their machine and will be made anew elsewhere: they want a place before they are gone.

``failover`` decides first and notes them in the snapshot that all look at; where it does not run, or does not act,
there are none. Nobody may touch them, for they are as good as gone: a stand-in wants the place (``stand_ins``). It ends
with its pod. What was bought for it is then room for whoever waits, and that is the pod's successor.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from growth.api.meta import ObjectMeta
from growth.api.out_of_service import SHUTDOWN, out_of_service_taint
from growth.api.pod import Pod, PodStatus
from growth.decide.fit.simulated_cluster import Stage
from growth.observe.snapshot import Snapshot

_DISPLACED: Final = "pods that lose their machine"
_SUCCESSOR: Final = "successor-of-"
"""How the uids of stand-ins begin; no object's uid does."""


class Displaced(msgspec.Struct, frozen=True):
    """A pod that loses its machine."""

    uid: str
    node: str
    stand_in: Pod
    """Its successor, as far as one can know: the same wishes and volumes, and no node yet."""


def note_displaced(snapshot: Snapshot, pods: Iterable[Pod]) -> None:
    """These lose their machines."""
    found = (Displaced(pod.metadata.uid, pod.node_name, _stand_in(pod)) for pod in pods)
    snapshot.memo[_DISPLACED] = {one.stand_in.metadata.uid: one for one in found}


def displaced_in(snapshot: Snapshot) -> Mapping[str, Displaced]:
    """What was noted, by the uids of the stand-ins."""
    return snapshot.memo.get(_DISPLACED, {})


def is_successor(uid: str) -> bool:
    """Whether no pod has this uid, but the stand-in of one had or has it."""
    return uid.startswith(_SUCCESSOR)


def clear(stage: Stage, displaced: Iterable[Displaced]) -> None:
    """Take them off their nodes, so that they stand in nobody's way, and keep these closed: they are no room."""
    nodes: dict[str, None] = {}
    for one in displaced:
        stage.remove(one.uid, one.node)
        nodes[one.node] = None
    for name in nodes:
        node = stage.nodes[name]
        if out_of_service_taint(node) is None:  # it is written in this moment
            spec = msgspec.structs.replace(node.spec, taints=(*node.spec.taints, SHUTDOWN))
            stage.change_node(msgspec.structs.replace(node, spec=spec))


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
