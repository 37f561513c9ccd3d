"""The picture: the cluster as the scheduler knows it, kept up with every write to the store.

The World is fed through the Readers that informers use, and a Stage on it is kept as long as it can follow: pods that
come and go are placed and removed on it, nodes are changed, and everything else begins a new one, which costs little
because a Stage looks at nothing before it is asked.

A pod that was given a node counts there from that instant, whether or not its binding was written yet.
"""

from collections import Counter, deque
from collections.abc import Collection
from itertools import islice
from typing import Any, Final, NamedTuple

import msgspec

from growth.api import kinds
from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import Kind
from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.tolerations import PREFER_NO_SCHEDULE
from growth.decide.fit import SimulatedCluster
from growth.observe.cache import ClusterCache
from growth.observe.pod_requests import Requests, amounts_from
from growth_lab.simulator import served_kinds
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.scheduler.free_columns import Board
from growth_lab.simulator.scheduler.relevant_events import is_all_the_same, is_only_bound, is_same_node
from growth_lab.simulator.served_kinds import Resource
from growth_lab.simulator.store import Event, Store

TABLED: Final[dict[Resource, Kind[Any]]] = {
    served_kinds.NAMESPACES: kinds.NAMESPACES,
    served_kinds.VOLUMES: kinds.PERSISTENT_VOLUMES,
    served_kinds.CLAIMS: kinds.PERSISTENT_VOLUME_CLAIMS,
    served_kinds.STORAGE_CLASSES: kinds.STORAGE_CLASSES,
    served_kinds.CSI_NODES: kinds.CSI_NODES,
    served_kinds.CSI_DRIVERS: kinds.CSI_DRIVERS,
    served_kinds.CSI_STORAGE_CAPACITIES: kinds.CSI_STORAGE_CAPACITIES,
    served_kinds.ATTACHMENTS: kinds.VOLUME_ATTACHMENTS,
}
# A stage remembers how to take back each change; so many are kept before a fresh one is cheaper.
_STAGE_CHANGES: Final = 20_000
# Who was away for more changes than these asks everybody again.
_CHANGES: Final = 10_000
_HAPPENED: Final = {"ADDED": ChangeType.ADDED, "MODIFIED": ChangeType.MODIFIED, "DELETED": ChangeType.DELETED}


class PodChange(NamedTuple):
    """A pod as it was and as it is; None where it is not (or has ended, which is the same to the scheduler)."""

    before: Pod | None
    now: Pod | None


class NodeChange(NamedTuple):
    """A node as it was and as it is."""

    before: Node | None
    now: Node | None


class ThingChange(NamedTuple):
    """Any other object as it was and as it is."""

    before: Any
    now: Any


class Picture:
    """World, Stage and Board of one scheduler."""

    def __init__(self, clock: Clock, store: Store) -> None:
        self._clock, self._store = clock, store
        sharing = InternTables()
        self._pods = Reader(kinds.PODS, sharing)
        self._nodes = Reader(kinds.NODES, sharing)
        self._things = {resource: Reader(kind, sharing) for resource, kind in TABLED.items()}
        self._cache = ClusterCache()
        self._stage: SimulatedCluster | None = None
        self.board = Board()
        self.pods: dict[str, Pod] = {}
        """All pods that have not ended, by uid; those that were given a node show it."""
        self.epoch = 0
        """Counts changes that may concern every node: of pods anywhere, and of volumes."""
        self.changes_heard = 0
        """Counts changes of single nodes and what is on them."""
        self._changes: deque[str] = deque(maxlen=_CHANGES)
        self._softly_tainted: set[str] = set()
        self._priorities: Counter[int] = Counter()

    @property
    def stage(self) -> SimulatedCluster:
        """What Fit asks. Valid until the next change."""
        if self._stage is not None and self._stage.mark() > _STAGE_CHANGES:
            self._stage = None
        if self._stage is None:
            self._stage = SimulatedCluster.of(self._cache.snapshot(self._clock.now()))
        return self._stage

    @property
    def nodes(self) -> dict[str, Node]:
        """All nodes by name."""
        return self._cache.nodes

    @property
    def has_soft_taints(self) -> bool:
        """Whether some node would rather not have pods (PreferNoSchedule)."""
        return bool(self._softly_tainted)

    def changed_since(self, number: int, known: Collection[str]) -> list[str]:
        """Of these nodes, those that changed since so many changes were heard: they are to be asked again."""
        missed = self.changes_heard - number
        if missed > len(self._changes) or missed > 4 * len(self.nodes):
            return list(known)  # too much to look through
        return list(islice(reversed(self._changes), missed))

    def pods_on(self, node: str) -> dict[str, Pod]:
        """The pods of a node by uid."""
        return self._cache.pods_by_node.get(node, {})

    def has_pods_below(self, priority: int) -> bool:
        """Whether any pod that has a node is less important than this."""
        return any(number and known < priority for known, number in self._priorities.items())

    def thing(self, resource: Resource, name: str, namespace: str = "") -> Any:  # noqa: ANN401 - follows from the kind
        """One object of the kinds that are kept in tables, or None."""
        return self._cache.tables[TABLED[resource]].get((namespace, name))

    # Hearing

    def hear_of_pod(self, event: Event) -> PodChange | None:
        """What a write means to the scheduler; None if nothing."""
        thing, before = event.object, event.before
        if event.what == "MODIFIED" and before is not None and is_all_the_same(before, thing):
            return None
        uid = thing["metadata"]["uid"]
        known = self.pods.get(uid)
        if before is not None and known is not None and is_only_bound(before, thing, known.node_name):
            return PodChange(known, known)
        if event.what == "DELETED" or thing.get("status", {}).get("phase") in ("Succeeded", "Failed"):
            if known is None:
                return None
            self._forget(known)
            return PodChange(known, None)
        now = self._pods.object(msgspec.json.encode(thing))
        if known is not None and known.node_name and not now.node_name:
            now = msgspec.structs.replace(now, node_name=known.node_name)  # given a node, not bound yet
        self._replace(known, now)
        return PodChange(known, now)

    def hear_of_node(self, event: Event) -> NodeChange | None:
        """The same for nodes; what a kubelet says of itself is mostly nothing to the scheduler."""
        if event.what == "MODIFIED" and event.before is not None and is_same_node(event.before, event.object):
            return None
        name = event.object["metadata"]["name"]
        known = self._cache.nodes.get(name)
        now = self._nodes.object(msgspec.json.encode(event.object))
        if event.what == "MODIFIED" and known is not None and self._stage is not None:
            self._stage.change_node(now)
        else:
            self._stage = None
        self._cache.hear_of_nodes([Change(_HAPPENED[event.what], now, known)])
        self._softly_tainted.discard(name)
        if known is not None:
            self.board.close(name)
        if event.what != "DELETED":
            self.board.open(name, amounts_from(now.status.allocatable))
            for pod in self.pods_on(name).values():
                self.board.put(name, self._cache.shapes.of(pod.spec).requests)
            if any(taint.effect == PREFER_NO_SCHEDULE for taint in now.spec.taints):
                self._softly_tainted.add(name)
        self._touch(name)
        return NodeChange(known, now if event.what != "DELETED" else None)

    def hear_of_thing(self, event: Event) -> ThingChange:
        """The same for volumes, claims and all that belongs to them."""
        key = (event.object["metadata"].get("namespace", ""), event.object["metadata"]["name"])
        table = self._cache.tables[TABLED[event.resource]]
        known = table.get(key)
        now = self._things[event.resource].object(msgspec.json.encode(event.object))
        table.hear([Change(_HAPPENED[event.what], now, known)])
        self._stage = None
        self.epoch += 1
        return ThingChange(known, now if event.what != "DELETED" else None)

    # Deciding

    def assume(self, pod: Pod, node: str) -> Pod:
        """The pod is on this node from now on."""
        placed = msgspec.structs.replace(pod, node_name=node)
        self._replace(pod, placed)
        return placed

    def give_up(self, pod: Pod) -> Pod:
        """It is not, after all."""
        back = msgspec.structs.replace(pod, node_name="")
        self._replace(pod, back)
        return back

    def requests(self, pod: Pod) -> Requests:
        """What a known pod asks for."""
        return self._cache.shapes.of(pod.spec).requests

    def _replace(self, known: Pod | None, now: Pod) -> None:
        self.pods[now.metadata.uid] = now
        self._leave(known)
        stage = self._stage_with(now.node_name)
        if stage is not None:
            stage.place(now, now.node_name)
        happened = ChangeType.ADDED if known is None else ChangeType.MODIFIED
        self._cache.hear_of_pods([Change(happened, now, known)])
        if now.node_name in self.board.rows:
            self.board.put(now.node_name, self._cache.shapes.of(now.spec).requests)
        if now.node_name:
            self._priorities[now.spec.priority] += 1
            self._touch(now.node_name)
        self._follow_nominations(known, now)

    def _forget(self, known: Pod) -> None:
        del self.pods[known.metadata.uid]
        self._leave(known)
        self._cache.hear_of_pods([Change(ChangeType.DELETED, known, known)])
        self._follow_nominations(known, None)

    def _leave(self, known: Pod | None) -> None:
        if known is None or not known.node_name:
            return
        self._priorities[known.spec.priority] -= 1
        stage = self._stage_with(known.node_name)
        if stage is not None:
            stage.remove(known.metadata.uid, known.node_name)
        if known.node_name in self.board.rows:
            self.board.take(known.node_name, self._cache.shapes.of(known.spec).requests)
        self._touch(known.node_name)

    def _stage_with(self, node: str) -> SimulatedCluster | None:
        """The stage, if there is one that can be told of a pod there. It cannot follow pods on nodes that are gone."""
        if node and node not in self._cache.nodes:
            self._stage = None
        return self._stage if node else None

    def _follow_nominations(self, known: Pod | None, now: Pod | None) -> None:
        """Room that is kept for a pod counts on its node; a stage looks for such pods once."""
        names = [pod.status.nominated_node_name for pod in (known, now) if pod is not None]
        for name in names:
            if name:
                self._stage = None
                self._touch(name)

    def _touch(self, node: str) -> None:
        self._changes.append(node)
        self.changes_heard += 1
        self.epoch += 1
