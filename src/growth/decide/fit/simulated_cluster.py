"""A stage: a what-if cluster on which pods are placed, taken away and put back without anybody noticing.

It begins as what a Snapshot shows and looks at a node only when it is asked about it, so making one costs next to
nothing. Like the Snapshot it is a view, valid for one synchronous step; ``SimulatedCluster.copy_of`` makes one that may
be taken to a thread.

Every change can be taken back: ``mark = stage.mark()`` ... ``stage.back_to(mark)``.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import msgspec

from growth.api.change import Change, ChangeType, ObjectT
from growth.api.kinds import (
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    DAEMON_SETS,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Kind,
)
from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.storage import CsiNode
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo
from growth.decide.fit.pod_counts import PodCounts, repelling_terms
from growth.decide.fit.volume_binding import bind
from growth.decide.fit.volume_claims import unbound_claims
from growth.decide.fit.volume_state import VolumeState
from growth.observe.pod_equivalence import Family, FamilyKey
from growth.observe.pod_requests import Requests, amounts_from, requests_on_node
from growth.observe.snapshot import Snapshot
from growth.observe.table import Table

PLACEMENT_KINDS: Final[tuple[Kind[Any], ...]] = (
    *(PODS, NODES, NAMESPACES, PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES, CSI_NODES, CSI_DRIVERS),
    *(CSI_STORAGE_CAPACITIES, VOLUME_ATTACHMENTS, DAEMON_SETS),
)
"""What one must see to know where a pod can go."""
PreparedKey = tuple[int, int, str, str, tuple[str, ...], str]


class SimulatedCluster:
    """Nodes and pods as they might be. Read with ``fit``; change with the methods below."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.prepared: dict[PreparedKey, tuple[Pod, tuple[Check, ...]]] = {}
        self.preferences: dict[
            tuple[int, int, str, tuple[str, ...]], tuple[Pod, tuple[Callable[[NodeInfo], int], ...]]
        ] = {}
        self._nodes: dict[str, Node] | None = None  # a dict of our own once a node was added or removed
        self._sites: dict[str, NodeInfo] = {}
        self._where: dict[str, str] = {}  # by uid, of pods that were placed here; "" for those that were removed
        self._held: dict[str, Requests] = {}  # by uid, of pods that were placed here
        self._is_indexed = False  # whether _where knows the snapshot's pods, too
        self._requests: dict[int, tuple[Pod, Requests]] = {}  # by the spec's identity, of specs new to the snapshot
        self._counts: PodCounts | None = None
        self._touched: set[str] = set()  # nodes whose pods changed before there was a crowd to tell
        self._has_repellents: bool | None = None
        self._shelf: VolumeState | None = None
        self._nominated: dict[str, list[Pod]] | None = None
        self._journal: list[Callable[[], None]] = []

    @staticmethod
    def of(snapshot: Snapshot) -> "SimulatedCluster":
        """The cluster as the snapshot shows it, valid as long as the snapshot is."""
        return SimulatedCluster(snapshot)

    @staticmethod
    def copy_of(snapshot: Snapshot) -> "SimulatedCluster":
        """The same on a copy of its own, which outlives the step: for work on a thread."""
        simulated = SimulatedCluster(
            msgspec.structs.replace(
                snapshot,
                nodes=dict(snapshot.nodes),
                pods_by_node={name: dict(pods) for name, pods in snapshot.pods_by_node.items()},
                waiting=dict(snapshot.waiting),
                refused=dict(snapshot.refused),
                marked=dict(snapshot.marked),
                closed=dict(snapshot.closed),
                work=dict(snapshot.work),
                clouds=dict(snapshot.clouds),
                room=snapshot.room.copy(),
                families=snapshot.families.copy(),
                tables={kind: _copy_of(table) for kind, table in snapshot.tables.items()},
            )
        )
        simulated._has_repellents = _has_repellents(snapshot)
        return simulated

    # Looking

    @property
    def nodes(self) -> Mapping[str, Node]:
        """All nodes, those that were added included, by name."""
        return self.snapshot.nodes if self._nodes is None else self._nodes

    def node_info(self, name: str) -> NodeInfo:
        """One node with its pods; raises KeyError for a node that is not on the stage."""
        info = self._sites.get(name)
        if info is None:
            pods = self.snapshot.pods_by_node.get(name, {})
            info = self._sites[name] = NodeInfo(self.nodes[name], self.snapshot.room.free(name), pods)
        return info

    def sites(self) -> Iterable[NodeInfo]:
        """Every node with its pods."""
        return map(self.node_info, self.nodes)

    @property
    def known_sites(self) -> Mapping[str, NodeInfo]:
        """By name, the nodes that were looked at or changed here; all others are still as the snapshot shows them."""
        return self._sites

    def pods_by_node(self) -> Iterable[tuple[str, Mapping[str, Pod]]]:
        """The pods of every node that has any, without looking at the nodes."""
        here, nobody = self._sites, dict[str, Pod]()
        for name in self.nodes:
            node_info = here.get(name)
            pods = self.snapshot.pods_by_node.get(name, nobody) if node_info is None else node_info.pods
            if pods:
                yield name, pods

    def families(self) -> Iterable[tuple[FamilyKey, Family]]:
        """All families, as the snapshot shows them."""
        return self.snapshot.families.items()

    def departures(self) -> Iterable[tuple[str, Iterable[Pod], Iterable[Pod]]]:
        """Each node that has other pods than the snapshot's families say: those they count, and those it has.

        Families also count pods whose node is not known (any more), and nobody is near to those.
        """
        counted, nobody = self.snapshot.pods_by_node, dict[str, Pod]()
        for name in sorted(self._touched | (counted.keys() - self.snapshot.nodes.keys())):
            here = self.node_info(name).pods if name in self.nodes else nobody
            yield name, counted.get(name, nobody).values(), here.values()

    def drivers_on(self, node_info: NodeInfo) -> CsiNode | None:
        """What storage drivers say of a node, or what its siblings' drivers make us expect of one that is coming."""
        return node_info.planned_drivers if node_info.is_planned else self.get(CSI_NODES, node_info.name)

    def node_of(self, uid: str) -> str | None:
        """Where a pod is on this stage."""
        name = self._where.get(uid)
        if name is None and not self._is_indexed:
            self._is_indexed = True
            for where, pods in self.pods_by_node():
                for known in pods:
                    self._where.setdefault(known, where)
            name = self._where.get(uid)
        return name or None

    def is_placed(self, uid: str) -> bool:
        """Whether this pod was placed on this stage (not: whether it ran there before)."""
        return uid in self._held

    def requests(self, pod: Pod) -> Requests:
        """What a pod asks for; worked out once for all pods of its spec."""
        known = self._requests.get(id(pod.spec))
        if known is None:
            known = self._requests[id(pod.spec)] = (pod, self.snapshot.shapes.requests_of(pod.spec))
        return known[1]

    def get(self, kind: Kind[ObjectT], name: str, namespace: str = "") -> ObjectT | None:
        """An object of a kind that the World keeps in a table."""
        table = self.snapshot.tables.get(kind)
        return None if table is None else table.get((namespace, name))

    def all(self, kind: Kind[ObjectT]) -> Iterable[ObjectT]:
        """All objects of a kind that the World keeps in a table."""
        table: Table[Any] | None = self.snapshot.tables.get(kind)
        return () if table is None else table.values()

    @property
    def counts(self) -> PodCounts:
        """The pods as selectors see them; made when first needed."""
        if self._counts is None:
            self._counts = PodCounts(self)
        return self._counts

    @property
    def has_repellents(self) -> bool:
        """Whether any pod may keep others away by anti-affinity: if none does, most pods have nothing to ask."""
        if self._has_repellents is None:
            self._has_repellents = _has_repellents(self.snapshot)
        return self._has_repellents

    @property
    def volumes(self) -> VolumeState:
        """The volumes, and which claims are in use; gathered when first needed."""
        if self._shelf is None:
            self._shelf = VolumeState(self.all(PERSISTENT_VOLUMES), self.pods_by_node())
        return self._shelf

    def nominated_to(self, node_name: str, pod: Pod) -> list[Pod]:
        """Other waiting pods, at least as important, for which the scheduler keeps room on this node."""
        if self._nominated is None:
            self._nominated = {}
            for waiting in self.snapshot.waiting.values():
                if waiting.status.nominated_node_name:
                    self._nominated.setdefault(waiting.status.nominated_node_name, []).append(waiting)
        if not self._nominated or node_name not in self._nominated:
            return []
        uid, priority = pod.metadata.uid, pod.spec.priority
        return [
            other
            for other in self._nominated[node_name]
            if other.metadata.uid != uid and other.spec.priority >= priority and not self.is_placed(other.metadata.uid)
        ]

    # Changing

    def add_node(self, node: Node, daemon_pods: Sequence[Pod] = (), *, csi_node: CsiNode | None = None) -> None:
        """A node that is coming, with the DaemonSet pods that will be on it and, if known, its drivers' limits."""
        name = node.metadata.name
        if name in self.nodes:
            raise ValueError(f"node {name} is on the stage already")
        node_info = NodeInfo(
            node, dict(amounts_from(node.status.allocatable)), {}, is_planned=True, planned_drivers=csi_node
        )
        self._open(node_info)
        self._journal.append(lambda: self._close(node_info))
        for pod in daemon_pods:
            self.place(pod, name)

    def remove_node(self, name: str) -> None:
        """A node goes, and its pods with it."""
        node_info = self.node_info(name)
        if self._counts is None and not any(pod.spec.volumes for pod in node_info.pods.values()):
            self._remove_whole(node_info)
            return
        for uid in list(node_info.pods):
            self.remove(uid, name)
        self._close(node_info)
        self._journal.append(lambda: self._open(node_info))

    def _remove_whole(self, node_info: NodeInfo) -> None:
        """A node goes whose pods nobody counts: it stays as it is, out of sight, and comes back as it was.

        Whoever asks what all nodes would cost today takes thousands of them away, and puts them back.
        """
        uids, here = node_info.pods.keys(), self._held
        held = {uid: here.pop(uid) for uid in uids if uid in here}
        self._where.update(dict.fromkeys(uids, ""))
        self._touched.add(node_info.name)
        self._close(node_info)
        self._journal.append(partial(self._bring_back, node_info, held))

    def _bring_back(self, node_info: NodeInfo, held: dict[str, Requests]) -> None:
        self._open(node_info)
        self._where.update(dict.fromkeys(node_info.pods, node_info.name))
        self._held.update(held)
        self._touched.add(node_info.name)
        if self._counts is not None:  # somebody began to count meanwhile
            for pod in node_info.pods.values():
                self._counts.change(pod, node_info, +1)

    def change_node(self, node: Node) -> None:
        """A node is (or will be) different from what the snapshot shows; its pods stay on it."""
        old = self.node_info(node.metadata.name)
        pods = list(old.pods.values())
        self.remove_node(old.name)
        free = dict(amounts_from(node.status.allocatable))
        node_info = NodeInfo(node, free, {}, is_planned=old.is_planned, planned_drivers=old.planned_drivers)
        self._open(node_info)
        self._journal.append(lambda: self._close(node_info))
        for pod in pods:
            requests = requests_on_node(pod, self.requests(pod))
            self._put(pod, node_info, requests)
            self._journal.append(partial(self._take, pod, node_info, requests))

    def place(self, pod: Pod, node_name: str) -> None:
        """The pod goes to this node, whether it fits or not."""
        node_info, requests = self.node_info(node_name), self.requests(pod)
        if pod.metadata.uid in node_info.pods:
            raise ValueError(f"pod {pod.metadata.namespace}/{pod.metadata.name} is on node {node_name} already")
        self._put(pod, node_info, requests)
        self._journal.append(lambda: self._take(pod, node_info, requests))

    def remove(self, uid: str, node_name: str = "") -> None:
        """The pod leaves its node; naming the node spares a search among all pods."""
        name = node_name or self.node_of(uid)
        if name is None:
            raise KeyError(uid)
        node_info = self.node_info(name)
        pod = node_info.pods[uid]
        requests = self._held.get(uid) or requests_on_node(pod, self.requests(pod))
        self._take(pod, node_info, requests)
        self._journal.append(lambda: self._put(pod, node_info, requests))

    def mark(self) -> int:
        """The present state, to come back to."""
        return len(self._journal)

    def back_to(self, mark: int) -> None:
        """Take back everything since the mark."""
        while len(self._journal) > mark:
            self._journal.pop()()

    def _open(self, node_info: NodeInfo) -> None:
        if self._nodes is None:
            self._nodes = dict(self.snapshot.nodes)
        self._nodes[node_info.name] = node_info.node
        self._sites[node_info.name] = node_info
        if self._counts is not None:
            self._counts.open(node_info)

    def _close(self, node_info: NodeInfo) -> None:
        if self._counts is not None:
            self._counts.close(node_info)
        if self._nodes is None:
            self._nodes = dict(self.snapshot.nodes)
        del self._nodes[node_info.name], self._sites[node_info.name]

    def _put(self, pod: Pod, node_info: NodeInfo, requests: Requests) -> None:
        if pod.spec.volumes:
            bindings = bind(self, unbound_claims(self, pod), node_info)
            self.volumes.put(pod, [] if isinstance(bindings, FilterRefusal) else bindings)
        node_info.put(pod, requests)
        self._where[pod.metadata.uid] = node_info.name
        self._held[pod.metadata.uid] = requests
        if self._counts is not None:
            self._counts.change(pod, node_info, +1)
        else:
            self._touched.add(node_info.name)
        if not self._has_repellents and repelling_terms(pod.spec):
            self._has_repellents = True
            self.prepared.clear()

    def _take(self, pod: Pod, node_info: NodeInfo, requests: Requests) -> None:
        if pod.spec.volumes:
            self.volumes.take(pod)
        node_info.take(pod, requests)
        self._where[pod.metadata.uid] = ""
        self._held.pop(pod.metadata.uid, None)
        if self._counts is not None:
            self._counts.change(pod, node_info, -1)
        else:
            self._touched.add(node_info.name)


def _has_repellents(snapshot: Snapshot) -> bool:
    return any(repelling_terms(shape.spec) for shape in snapshot.shapes)


def _copy_of(table: Table[Any]) -> Table[Any]:
    fresh: Table[Any] = Table()
    fresh.hear([Change(ChangeType.ADDED, known, None) for known in table.values()])
    return fresh
