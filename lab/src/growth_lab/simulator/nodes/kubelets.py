"""All kubelets of a cluster: which nodes live, and what they say about themselves.

- A Node that carries the label ``kwok.x-k8s.io/node=fake``, whoever made it, lives as under kwok: ready and renewing
  its Lease at once, silent when the label goes, alive again when it returns.
- A Machine that is booted here registers its Node itself, becomes ready and gets late resources when it says so.

A Node that somebody deletes stays deleted while its kubelet lives: a kubelet registers when it starts, not later, and
kwok never does. A machine that is booted again registers again.
"""

from collections.abc import Callable
from typing import Final

from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.nodes import node_status, pod_status
from growth_lab.simulator.nodes.heartbeats import Heartbeats
from growth_lab.simulator.nodes.machine import Machine
from growth_lab.simulator.nodes.running_pods import RunningPods
from growth_lab.simulator.pods_by_node import PodsByNode
from growth_lab.simulator.served_kinds import NODES, PODS
from growth_lab.simulator.store import Event, Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue

_KWOK: Final = Machine(node={"metadata": {"name": "any"}})


class UnknownMachine(LookupError):
    """No machine of this name was booted, and no node of it is played."""


class Kubelets:
    """The machines of a cluster. Works for Nodes that were there before it."""

    def __init__(self, clock: Clock, store: Store, timings: Timings, heartbeats: Heartbeats, pods: PodsByNode) -> None:
        self._clock, self._store, self._heartbeats, self._pods = clock, store, heartbeats, pods
        self._machines: dict[str, Machine] = {}
        self._lives: dict[str, int] = {}  # by machine, so that steps of an earlier life are recognised
        self._ready: dict[str, str] = {}  # by booted machine that has come so far, its boot id
        self._silent: dict[str, None] = {}
        self._alive: dict[str, Machine] = {}
        self._running = RunningPods(clock, store, timings, pods, self._alive.get)
        self._queue: WorkQueue[str] = WorkQueue(clock, timings.kubelet_delay, self._say_ready)
        for node in list(store.all(NODES)):
            self._consider(node["metadata"]["name"])
        store.listen(NODES, self._hear)

    # What happens to machines

    def boot(self, machine: Machine) -> None:
        """Switch a machine on: it registers, and becomes ready."""
        name = machine.name
        self._machines[name] = machine
        self._silent.pop(name, None)
        self._ready.pop(name, None)
        life = self._lives[name] = self._lives.get(name, 0) + 1
        self._consider(name)
        self._later(machine.register_after, name, life, lambda: self._register(machine, life))

    def silence(self, name: str) -> None:
        """The machine, booted or played as under kwok, stops to answer: no heartbeat, and its pods freeze."""
        self._check(name)
        self._silent[name] = None
        self._consider(name)

    def revive(self, name: str) -> None:
        """It answers again, as if nothing had been."""
        self._check(name)
        self._silent.pop(name, None)
        self._consider(name)

    def reboot(self, name: str, down_seconds: float = 10.0) -> None:
        """It is silent for a while and returns with a new boot id. Its pods go on."""
        self.silence(name)
        self._clock.after(down_seconds, lambda: self._return_from_reboot(name))

    def power_off(self, name: str) -> None:
        """It loses its power: silent until it is switched on, by ``power_on``."""
        self.silence(name)
        self._lives[name] = self._lives.get(name, 0) + 1  # steps that were under way will not be taken

    def power_on(self, name: str) -> None:
        """It boots again: new boot id, and its Node is registered again if somebody deleted it."""
        self._check(name)
        machine = self._machines.get(name)
        if machine is not None:
            self.boot(machine)
        else:
            self._return_from_reboot(name)

    def destroy(self, name: str) -> None:
        """The machine is gone for ever. Its Node stays, until somebody deletes it."""
        self.power_off(name)
        self._machines.pop(name, None)
        self._ready.pop(name, None)

    def is_alive(self, name: str) -> bool:
        """Whether the node of this name has a kubelet that answers."""
        return name in self._alive

    # The steps of booting

    def _later(self, seconds: float, name: str, life: int, step: Callable[[], None]) -> None:
        def take() -> None:
            if self._lives.get(name) == life:
                step()

        self._clock.after(seconds, take)

    def _register(self, machine: Machine, life: int) -> None:
        name, stamp = machine.name, self._clock.stamp()
        node = self._store.get(NODES, name)
        if node is None:
            status = {**part(machine.node, "status"), **node_status.starting(machine.node, stamp)}
            node = self._store.create(NODES, {**machine.node, "status": status})
        elif not node_status.is_ready(node):
            self._store.patch(NODES, name, patch={"status": node_status.starting(node, stamp)})
        self._heartbeats.begin(name, node["metadata"]["uid"])
        if machine.ready_after is not None:
            self._later(machine.ready_after, name, life, lambda: self._become_ready(machine, life))

    def _become_ready(self, machine: Machine, life: int) -> None:
        name = machine.name
        self._ready[name] = self._store.new_uid()
        self._consider(name)
        if machine.late_resources:
            self._later(machine.late_after, name, life, lambda: self._bring(machine))

    def _bring(self, machine: Machine) -> None:
        """A device plugin registers its devices."""
        more = dict(machine.late_resources)
        if self._store.get(NODES, machine.name) is not None:
            self._store.patch(NODES, machine.name, patch={"status": {"capacity": more, "allocatable": more}})

    def _return_from_reboot(self, name: str) -> None:
        node = self._store.get(NODES, name)
        boot_id = self._store.new_uid()
        if name in self._ready:
            self._ready[name] = boot_id
        if node is not None:
            self._store.patch(NODES, name, patch={"status": {"nodeInfo": {"bootID": boot_id}}})
        self.revive(name)

    def _check(self, name: str) -> None:
        if name not in self._machines and self._store.get(NODES, name) is None:
            known = ", ".join(sorted(self._machines)) or "none"
            raise UnknownMachine(f"no machine or node is named {name!r}; booted machines are: {known}")

    # Living

    def _hear(self, event: Event) -> None:
        name = event.object["metadata"]["name"]
        if event.what == "DELETED" and name not in self._machines:
            self._silent.pop(name, None)  # the next node of this name is another one
        self._consider(name)
        machine = self._alive.get(name)
        if machine is None or event.what == "DELETED":
            return
        if not node_status.is_ready(event.object):
            self._queue.add(name)  # nobody else has a say in that while the kubelet lives
        if machine.mounts_volumes and event.before is not None and _attached(event.before) != _attached(event.object):
            self._running.resume(name)

    def _consider(self, name: str) -> None:
        """Whether the node lives, after anything that may have changed that."""
        node = self._store.get(NODES, name)
        machine = self._living_machine(name, node)
        known = self._alive.get(name)
        if machine is None:
            if known is not None:
                del self._alive[name]
                self._running.freeze(name)
            if name not in self._machines or node is None or name in self._silent:
                self._heartbeats.end(name)
        elif known is None and node is not None:
            self._alive[name] = machine
            self._heartbeats.begin(name, node["metadata"]["uid"])
            self._queue.add(name)
            self._running.resume(name)

    def _living_machine(self, name: str, node: Json | None) -> Machine | None:
        if node is None or name in self._silent:
            return None
        if name in self._ready:
            return self._machines[name]
        is_played = part(node, "metadata", "labels").get(KWOK_LABEL) == KWOK_VALUE
        return _KWOK if is_played and name not in self._machines else None

    def _say_ready(self, name: str) -> None:
        node = self._store.get(NODES, name)
        if node is None or name not in self._alive:
            return
        boot_id = self._ready.get(name, "")
        if not node_status.is_ready(node) or (boot_id and part(node, "status", "nodeInfo").get("bootID") != boot_id):
            status = node_status.ready(node, self._clock.stamp(), boot_id)
            self._store.patch(NODES, name, patch={"status": status})
        if name in self._ready:
            self._correct_pods(name)

    def _correct_pods(self, name: str) -> None:
        """A real kubelet says again of its pods how they are; kwok leaves them unready as they were called."""
        for pod in self._pods.on(name):
            meta = pod["metadata"]
            is_running = part(pod, "status").get("phase") == "Running" and "deletionTimestamp" not in meta
            status = pod_status.ready_again(pod, self._clock.stamp()) if is_running else None
            if status is not None:
                self._store.patch(PODS, meta["name"], meta["namespace"], {"status": status})


def _attached(node: Json) -> list[Json]:
    return parts(node, "status", "volumesAttached")
