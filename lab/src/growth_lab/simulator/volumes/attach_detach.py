"""The attach/detach controller: brings volumes to the nodes whose pods want them, and takes them from the others.

A volume is taken away only if no live pod wants it there and one of these holds: the node does not list it as in use;
the node carries the out-of-service taint (nobody then asks whether it is Ready); or the node is not Ready, or gone, and
the volume was unwanted for six minutes. A volume for one node is never on two.
"""

from dataclasses import dataclass
from functools import partial
from typing import Literal

from growth.api.out_of_service import OUT_OF_SERVICE
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_conditions import condition_of
from growth_lab.simulator.served_kinds import ATTACHMENTS, EVENTS, NODES, PODS, VOLUMES
from growth_lab.simulator.store import Event, Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.volumes.attachment_names import attachment, attachment_name, seconds_until_noticed
from growth_lab.simulator.volumes.desired_attachments import Disk, Wishes, disk_of
from growth_lab.simulator.volumes.multi_attach import multi_attach
from growth_lab.simulator.work_queue import WorkQueue


@dataclass(slots=True)
class _Held:
    """A disk on a node, as this controller remembers it."""

    disk: Disk
    # Until the node says what it uses, the worst is assumed.
    is_mounted: bool = True
    unwanted_since: float | None = None
    is_reported: bool = True


@dataclass(frozen=True, slots=True)
class _Operation:
    """Something that the storage driver was asked for."""

    kind: Literal["attach", "detach"]
    disk: Disk
    node: str
    began: float


class AttachDetach:
    """The controller. Its memory is what the real one has in memory, too: six minutes begin again when it restarts."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._clock, self._store, self._timings = clock, store, timings
        self._queue: WorkQueue[str] = WorkQueue(clock, timings.attach_detach_delay, self._look_at)
        self._held: dict[str, dict[str, _Held]] = {}
        self._on_node: dict[str, dict[str, None]] = {}
        self._operations: dict[str, _Operation] = {}
        self._busy: dict[tuple[str, str], None] = {}
        self._complained: dict[tuple[str, str], None] = {}
        self._wishes = Wishes(store, self._queue.add)
        for known in store.all(ATTACHMENTS):
            self._remember(known)
        store.listen(ATTACHMENTS, self._hear_attachment)
        store.listen(NODES, self._hear_node)

    def _remember(self, known: Json) -> None:
        volume = self._store.get(VOLUMES, known["spec"]["source"].get("persistentVolumeName") or "")
        disk = disk_of(volume) if volume is not None else None
        if disk is not None:
            node = known["spec"]["nodeName"]
            self._wishes.disks[disk.unique_name] = disk
            self._hold(disk, node)
            self._note_use(node, self._store.get(NODES, node))

    # Hearing

    def _hear_node(self, event: Event) -> None:
        self._note_use(event.key[1], event.object if event.what != "DELETED" else None)
        if event.what == "ADDED" and event.key[1] in self._on_node:
            self._report(event.key[1])  # a Node that was made anew knows nothing

    def _note_use(self, name: str, node: Json | None) -> None:
        disks = self._on_node.get(name)
        if not disks:
            return
        in_use = part(node, "status").get("volumesInUse") or () if node is not None else None
        for unique_name in disks:
            if in_use is not None:
                self._held[unique_name][name].is_mounted = unique_name in in_use
            if name not in self._wishes.nodes_for(unique_name):
                self._queue.add(unique_name)

    def _hear_attachment(self, event: Event) -> None:
        name = event.key[1]
        operation = self._operations.get(name)
        is_gone = event.what == "DELETED"
        if operation is None:
            if is_gone:
                self._miss_later(event.object)
        elif is_gone or (operation.kind == "attach" and part(event.object, "status").get("attached")):
            pause = seconds_until_noticed(self._clock.seconds() - operation.began)
            self._clock.after(pause, lambda: self._finish(name, operation))

    def _miss_later(self, known: Json) -> None:
        """Somebody else removed an attachment; that is noticed at the next inspection."""
        node = known["spec"]["nodeName"]
        volume = known["spec"]["source"].get("persistentVolumeName")
        for unique_name in self._on_node.get(node, {}):
            disk = self._held[unique_name][node].disk
            if disk.volume == volume:
                self._clock.after(self._timings.attach_detach_sync, partial(self._inspect, disk, node))

    def _inspect(self, disk: Disk, node: str) -> None:
        if self._store.get(ATTACHMENTS, attachment_name(disk, node)) is None:
            self._let_go(disk, node)
            self._queue.add(disk.unique_name)

    # Looking

    def _look_at(self, unique_name: str) -> None:
        wanted = self._wishes.nodes_for(unique_name)
        held = self._held.get(unique_name, {})
        for node in list(held):
            if node in wanted:
                held[node].unwanted_since = None
            else:
                self._consider_detaching(held[node], node)
        for node in list(wanted):
            if node not in self._held.get(unique_name, {}):
                self._consider_attaching(self._wishes.disks[unique_name], node)

    def _consider_detaching(self, held: _Held, node_name: str) -> None:
        disk, now = held.disk, self._clock.seconds()
        if _lane(disk, node_name) in self._busy:
            return
        if held.unwanted_since is None:
            held.unwanted_since = now
        left = held.unwanted_since + self._timings.force_detach - now
        node = self._store.get(NODES, node_name)
        is_forced = left <= 0 and not _is_ready(node)
        if held.is_mounted and not is_forced and not _is_out_of_service(node):
            if left > 0:
                self._queue.add_after(disk.unique_name, left)
            return
        held.is_reported = False
        self._report(node_name)
        name = attachment_name(disk, node_name)
        operation = self._begin("detach", disk, node_name)
        if self._store.get(ATTACHMENTS, name) is None:
            self._finish(name, operation)
        else:
            self._store.delete(ATTACHMENTS, name)

    def _consider_attaching(self, disk: Disk, node: str) -> None:
        if _lane(disk, node) in self._busy:
            return
        if disk.is_exclusive and self._held.get(disk.unique_name):
            self._complain(disk, node)
            return
        name = attachment_name(disk, node)
        known = self._store.get(ATTACHMENTS, name)
        if known is not None and "deletionTimestamp" in known["metadata"]:
            self._queue.add_after(disk.unique_name, self._timings.attach_retry)
            return
        operation = self._begin("attach", disk, node)
        if known is None:
            self._store.create(ATTACHMENTS, attachment(disk, node))
        elif part(known, "status").get("attached"):
            self._finish(name, operation)

    # Doing

    def _begin(self, kind: Literal["attach", "detach"], disk: Disk, node: str) -> _Operation:
        operation = _Operation(kind, disk, node, self._clock.seconds())
        self._operations[attachment_name(disk, node)] = operation
        self._busy[_lane(disk, node)] = None
        return operation

    def _finish(self, name: str, operation: _Operation) -> None:
        if self._operations.get(name) is not operation:
            return
        disk, node = operation.disk, operation.node
        del self._operations[name]
        del self._busy[_lane(disk, node)]
        known = self._store.get(ATTACHMENTS, name)
        if operation.kind == "detach":
            self._let_go(disk, node)
        elif known is not None and part(known, "status").get("attached"):
            self._hold(disk, node)
            self._report(node)
            self._note_use(node, self._store.get(NODES, node))
        self._queue.add(disk.unique_name)

    def _hold(self, disk: Disk, node: str) -> None:
        self._held.setdefault(disk.unique_name, {})[node] = _Held(disk)
        self._on_node.setdefault(node, {})[disk.unique_name] = None

    def _let_go(self, disk: Disk, node: str) -> None:
        holders = self._held.get(disk.unique_name, {})
        if holders.pop(node, None) is None:
            return
        if not holders:
            del self._held[disk.unique_name]
        del self._on_node[node][disk.unique_name]
        for lane in [lane for lane in self._complained if lane[0] == disk.unique_name]:
            del self._complained[lane]

    def _report(self, name: str) -> None:
        """Tell the node what is attached; a kubelet mounts nothing before it reads so."""
        if self._store.get(NODES, name) is None:
            return
        attached = [
            {"name": unique_name, "devicePath": attachment_name(self._held[unique_name][name].disk, name)}
            for unique_name in self._on_node.get(name, {})
            if self._held[unique_name][name].is_reported
        ]
        self._store.patch(NODES, name, patch={"status": {"volumesAttached": attached or None}})

    def _complain(self, disk: Disk, node: str) -> None:
        """Say once to every waiting pod that the volume is still elsewhere."""
        if (disk.unique_name, node) in self._complained:
            return
        self._complained[disk.unique_name, node] = None
        nodes = self._wishes.nodes_for(disk.unique_name)
        others = [name for other, pods in nodes.items() if other != node for _, name in pods]
        for namespace, name in list(nodes[node]):
            pod = self._store.get(PODS, name, namespace)
            if pod is not None:
                self._store.create(EVENTS, multi_attach(pod, disk, others, self._clock.now(), self._store.version))


def _lane(disk: Disk, node: str) -> tuple[str, str]:
    """What can go on only once at a time."""
    return disk.unique_name, "" if disk.is_exclusive else node


def _is_ready(node: Json | None) -> bool:
    ready = condition_of(node, "Ready") if node is not None else None
    return ready is not None and ready["status"] == "True"


def _is_out_of_service(node: Json | None) -> bool:
    return node is not None and any(taint["key"] == OUT_OF_SERVICE for taint in parts(node, "spec", "taints"))
