"""The World: everything we know of the cluster, indexed as it arrives.

It is told of changes by the informers, in whatever order their watches deliver, and keeps every index right after each
single one. It never asks, waits or forgets to be told: what it shows is what the informers know.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from growth.api.annotations import BACK_OFF
from growth.api.change import Change, ChangeType, ObjectT
from growth.api.decoding import Unreadable
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import (
    CONFIG_MAPS,
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    DAEMON_SETS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Kind,
)
from growth.api.node import Node
from growth.api.node_memory import MEMORIES, SHARD_LEASES, TRANSACTIONS
from growth.api.node_move import NodeMove
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.out_of_service import has_marks
from growth.api.pod import Pod
from growth.api.pod_classification import is_work
from growth.api.provider_state import ProviderState
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.queue.kueue_installation import (
    KUEUE_DEPLOYMENTS,
    KUEUE_LEASES,
    KUEUE_MUTATING,
    KUEUE_VALIDATING,
    KUEUES_OWN,
)
from growth.api.queue.pod import QUEUED_PODS
from growth.api.queue.pod_defaults import FILLING_KINDS
from growth.api.taints import STARTING, has_traces
from growth.observe.free_capacity import FreeCapacity
from growth.observe.journal import ChangeJournal
from growth.observe.lease_heartbeats import KueueLeases, NodeHeartbeats
from growth.observe.node_history import NodeHistory
from growth.observe.nodes_by_template import NodesByTemplate
from growth.observe.owned_pods import OwnedPodCounts, UnreadyPods
from growth.observe.pod_equivalence import PodFamilies, PodShapes
from growth.observe.pod_requests import Requests, amounts_from, requests_on_node
from growth.observe.snapshot import Snapshot
from growth.observe.table import Table
from growth.observe.table_index import TableIndex, active_moves, attachments_by_node, terminating_nodes

# Kinds that are few enough to be looked up by name alone.
_TABLED: Final[tuple[Kind[Any], ...]] = (
    NAMESPACES,
    PERSISTENT_VOLUMES,
    PERSISTENT_VOLUME_CLAIMS,
    STORAGE_CLASSES,
    CSI_NODES,
    CSI_DRIVERS,
    CSI_STORAGE_CAPACITIES,
    VOLUME_ATTACHMENTS,
    DAEMON_SETS,
    POD_DISRUPTION_BUDGETS,
    PRIORITY_CLASSES,
    NODE_POOLS,
    CONFIG_MAPS,
    SHARD_LEASES,
    QUEUED_JOBS,
    QUEUED_PODS,
    *(own.kind for own in QUEUE_KINDS),
    *FILLING_KINDS,
    KUEUE_DEPLOYMENTS,
    KUEUE_MUTATING,
    KUEUE_VALIDATING,
)
# Only for those who remember: nobody else has anything to read in these places.
_OF_MEMORY: Final[frozenset[Kind[Any]]] = frozenset({MEMORIES, TRANSACTIONS, SHARD_LEASES})
_OF_QUEUE: Final[frozenset[Kind[Any]]] = frozenset(
    {QUEUED_JOBS, QUEUED_PODS, *(own.kind for own in QUEUE_KINDS), *FILLING_KINDS, *KUEUES_OWN}
)
Listener = Callable[[list[Change[Any]]], None]


def _utc_now() -> datetime:
    return datetime.now(UTC)


class ClusterCache:
    """The one picture of the cluster. Change it only through ``listeners``; ``now`` is when it hears of something."""

    def __init__(
        self, now: Callable[[], datetime] = _utc_now, *, remembers: bool = False, queues: bool = False
    ) -> None:
        self.nodes: dict[str, Node] = {}
        self.pods_by_node: dict[str, dict[str, Pod]] = {}
        self.waiting: dict[str, Pod] = {}
        self.shapes = PodShapes()
        self.families = PodFamilies()
        self.room = FreeCapacity()
        self.journal = ChangeJournal()
        self.tables: dict[Kind[Any], Table[Any]] = {
            **{kind: Table() for kind in _TABLED},
            NODE_REQUESTS: Table[NodeRequest](lambda request: self.journal.note(request.metadata.name)),
            NODE_REMOVAL_REQUESTS: Table[NodeRemovalRequest](lambda removal: self.journal.note(removal.node_name)),
            NODE_MOVES: Table[NodeMove](),
        }
        self._removals = TableIndex(self.tables[NODE_REMOVAL_REQUESTS], terminating_nodes)
        self._moves = TableIndex(self.tables[NODE_MOVES], active_moves)
        self._attachments = TableIndex(self.tables[VOLUME_ATTACHMENTS], attachments_by_node)
        self.refused: dict[str, Pod] = {}
        self.untried: dict[str, Pod] = {}
        self.marked: dict[str, Pod] = {}
        self.makes = NodesByTemplate()
        self.closed: dict[str, Node] = {}
        self.to_go: dict[str, Node] = {}
        self.out_of_service: dict[str, Node] = {}
        self.lingering: dict[str, Pod] = {}
        self.unready = UnreadyPods()
        self.offspring = OwnedPodCounts()
        self.heartbeats = NodeHeartbeats(now)
        self.remembers = remembers
        self.queues = queues
        self.past = NodeHistory(now)
        self.kueue_leases = KueueLeases(now)
        self.unreadable: dict[Kind[Any], Mapping[str, Unreadable]] = {}
        self.unread: Callable[[], Mapping[Kind[Any], str]] = dict
        self.work: dict[str, int] = {}
        self.clouds: dict[str, ProviderState] = {}
        self.changes_heard = 0
        self.nodes_heard = 0
        self.arrivals = 0
        # What differs from the shape's requests, for the few pods that are being resized.
        self._resized: dict[str, Requests] = {}
        self._allocatable: dict[str, Requests] = {}

    def listeners(self) -> Mapping[Kind[Any], Listener]:
        """Every kind that the World wants to hear of, and whom to tell."""
        hearers: dict[Kind[Any], Listener] = {kind: table.hear for kind, table in self.tables.items()}
        hearers |= {PODS: self.hear_of_pods, NODES: self.hear_of_nodes, LEASES: self.heartbeats.hear}
        hearers |= {KUEUE_LEASES: self.kueue_leases.hear}
        hearers |= {TRANSACTIONS: self.past.hear_of_transactions, MEMORIES: self.past.hear_of_memories}
        return {
            kind: self._counting(hear)
            for kind, hear in hearers.items()
            if (self.remembers or kind not in _OF_MEMORY) and (self.queues or kind not in _OF_QUEUE)
        }

    def _counting(self, hear: Listener) -> Listener:
        def listen(changes: list[Change[Any]]) -> None:
            self.changes_heard += len(changes)
            hear(changes)

        return listen

    def snapshot(self, now: datetime) -> Snapshot:
        """A view for one synchronous step: it costs nothing and must not be kept across an ``await``."""
        return Snapshot(
            now=now,
            nodes=self.nodes,
            pods_by_node=self.pods_by_node,
            waiting=self.waiting,
            room=self.room,
            shapes=self.shapes,
            families=self.families,
            tables=self.tables,
            refused=self.refused,
            untried=self.untried,
            marked=self.marked,
            makes=self.makes,
            closed=self.closed,
            to_go=self.to_go,
            out_of_service=self.out_of_service,
            lingering=self.lingering,
            unready=self.unready,
            offspring=self.offspring,
            heartbeats=self.heartbeats,
            past=self.past,
            work=self.work,
            clouds=self.clouds,
            journal=self.journal,
            nodes_heard=self.nodes_heard,
            arrivals=self.arrivals,
            kueue_leases=self.kueue_leases,
            unreadable=self.unreadable,
            unread=self.unread(),
            removals=self._removals,
            moves=self._moves,
            attachments=self._attachments,
        )

    def hear_of_cloud(self, cloud: ProviderState) -> None:
        """A provider said something, or fell silent."""
        self.clouds[cloud.provider] = cloud

    def forget_clouds(self) -> None:
        """Nobody asks the providers any more; what they said last is no longer known to be true."""
        self.clouds.clear()

    def hear_of_pods(self, changes: Iterable[Change[Pod]]) -> None:
        """Pods came, changed or went."""
        changes = list(changes)
        if self.queues:
            self.unready.hear(changes)
            self.offspring.hear(changes)
        for change in changes:
            before, now = change.before, change.now
            self._note_marks(now, is_gone=change.happened is ChangeType.DELETED)
            if change.happened is ChangeType.DELETED:
                if before is not None:
                    self._forget_pod(before)
            elif before is None:
                self._remember_pod(now)
            elif _is_same_place(before, now) and before.spec is now.spec and _holds_as_before(before, now):
                self._replace_pod(before, now)
            else:
                self._forget_pod(before)
                self._remember_pod(now)

    def hear_of_nodes(self, changes: Iterable[Change[Node]]) -> None:
        """Nodes came, changed or went."""
        changes = list(changes)
        if self.remembers:
            self.past.hear_of_nodes(changes)
        for change in changes:
            name = change.now.metadata.name
            self.journal.note(name)
            known = self.nodes.get(name)
            if change.happened is ChangeType.DELETED:
                # A node of the same name that came since is another one, and stays.
                if known is not None and known.metadata.uid == change.now.metadata.uid:
                    del self.nodes[name]
                    self.makes.take(known)
                    self.closed.pop(name, None)
                    self.to_go.pop(name, None)
                    self.out_of_service.pop(name, None)
                    self.room.close(name, self._allocatable.pop(name))
                continue
            if known is not None:
                self.makes.take(known)
                self.room.close(name, self._allocatable.pop(name))
            self.makes.put(change.now)
            is_another = known is None or known.metadata.uid != change.now.metadata.uid
            if is_another and ("", name) not in self.tables[NODE_REQUESTS]:
                self.nodes_heard += 1
            is_closed = any(taint.key == STARTING for taint in change.now.spec.taints)
            _keep(self.closed, name, change.now, is_meant=is_closed)
            _keep(self.to_go, name, change.now, is_meant=has_traces(change.now))
            _keep(self.out_of_service, name, change.now, is_meant=has_marks(change.now))
            self.nodes[name] = change.now
            self._allocatable[name] = amounts_from(change.now.status.allocatable)
            self.room.open(name, self._allocatable[name])

    def _note_marks(self, pod: Pod, *, is_gone: bool) -> None:
        uid = pod.metadata.uid
        if not is_gone and not pod.node_name and pod.is_refused and not pod.is_finished:
            self.refused[uid] = pod
        else:
            self.refused.pop(uid, None)
        if not is_gone and pod.node_name and pod.is_finished and pod.metadata.deletion_timestamp is not None:
            self.lingering[uid] = pod
        else:
            self.lingering.pop(uid, None)
        if not is_gone and BACK_OFF in pod.metadata.annotations:
            self.marked[uid] = pod
        else:
            self.marked.pop(uid, None)

    def _remember_pod(self, pod: Pod) -> None:
        shape = self.shapes.add(pod.spec)
        if pod.is_finished:
            return
        uid, node = pod.metadata.uid, pod.node_name
        if not node:
            self.arrivals += 1
            self._wait(uid, pod)
            return
        requests = requests_on_node(pod, shape.requests)
        if requests is not shape.requests:
            self._resized[uid] = requests
        here = self.pods_by_node.get(node)
        if here is None:
            here = self.pods_by_node[node] = {}
        here[uid] = pod
        self._count_work(node, int(is_work(pod)))
        self.families.add(pod)
        self.room.take(node, requests)

    def _forget_pod(self, pod: Pod) -> None:
        shape = self.shapes.of(pod.spec)
        uid, node = pod.metadata.uid, pod.node_name
        if not pod.is_finished:
            if node:
                here = self.pods_by_node[node]
                del here[uid]
                if not here:
                    del self.pods_by_node[node]
                self._count_work(node, -int(is_work(pod)))
                self.families.remove(pod)
                self.room.give_back(node, self._resized.pop(uid, shape.requests))
            else:
                del self.waiting[uid]
                self.untried.pop(uid, None)
        self.shapes.remove(pod.spec)

    def _replace_pod(self, before: Pod, now: Pod) -> None:
        if now.is_finished:
            return
        if not now.node_name:
            self._wait(now.metadata.uid, now)
            return
        self.pods_by_node[now.node_name][now.metadata.uid] = now
        self._count_work(now.node_name, is_work(now) - is_work(before))
        if not _is_same_family(before, now):
            self.families.remove(before)
            self.families.add(now)

    def _wait(self, uid: str, pod: Pod) -> None:
        self.waiting[uid] = pod
        _keep(self.untried, uid, pod, is_meant=pod.is_untried)

    def _count_work(self, node: str, more: int) -> None:
        if not more:
            return
        count = self.work.get(node, 0) + more
        if count:
            self.work[node] = count
        else:
            del self.work[node]


def _keep(index: dict[str, ObjectT], key: str, thing: ObjectT, *, is_meant: bool) -> None:
    if is_meant:
        index[key] = thing
    else:
        index.pop(key, None)


def _is_same_place(before: Pod, now: Pod) -> bool:
    return before.node_name == now.node_name and before.is_finished == now.is_finished


def _is_same_family(before: Pod, now: Pod) -> bool:
    """Whether selectors see the same; the spec is, as is the namespace of one uid."""
    old, new = before.metadata, now.metadata
    return old.labels is new.labels and (old.deletion_timestamp is None) == (new.deletion_timestamp is None)


def _holds_as_before(before: Pod, now: Pod) -> bool:
    """Whether what a pod holds of its node is the same: it changes only while the pod is being resized."""
    old, new = before.status, now.status
    if not (old.container_statuses or new.container_statuses or old.resources or new.resources):
        return True
    return (
        old.container_statuses == new.container_statuses
        and old.resources == new.resources
        and old.allocated_resources == new.allocated_resources
        and before.condition("PodResizePending") == now.condition("PodResizePending")
    )
