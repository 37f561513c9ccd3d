"""The node lifecycle controller: calls silent nodes unknown, and keeps the taints that say how a node is.

The real one looks at every node every five seconds. This one looks at the same instants, but only at nodes of which it
heard something, and only when there are any: a silent node's hour is worked out when its heart stops.
"""

import asyncio
import math
from typing import Final

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.node_taints import NO_SCHEDULE, NOT_READY, UNREACHABLE, UNSCHEDULABLE, Mark, marks, swapped
from growth_lab.simulator.nodes.heartbeats import NAMESPACE, Heartbeats
from growth_lab.simulator.pod_conditions import condition_of, with_condition
from growth_lab.simulator.pods_by_node import PodsByNode
from growth_lab.simulator.served_kinds import LEASES, NODES, PODS
from growth_lab.simulator.store import Event, Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.zone_evictions import ZoneEvictions

_BY_CONDITION: Final = {
    ("Ready", "False"): NOT_READY,
    ("Ready", "Unknown"): UNREACHABLE,
    ("MemoryPressure", "True"): "node.kubernetes.io/memory-pressure",
    ("DiskPressure", "True"): "node.kubernetes.io/disk-pressure",
    ("PIDPressure", "True"): "node.kubernetes.io/pid-pressure",
    ("NetworkUnavailable", "True"): "node.kubernetes.io/network-unavailable",
}
_OURS: Final = frozenset({*_BY_CONDITION.values(), UNSCHEDULABLE})
_OWED_BY_KUBELET: Final = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")
_OLD_LABELS: Final = {
    "kubernetes.io/os": "beta.kubernetes.io/os",
    "kubernetes.io/arch": "beta.kubernetes.io/arch",
}


class NodeLifecycle:
    """One controller for all nodes."""

    def __init__(self, clock: Clock, store: Store, timings: Timings, heartbeats: Heartbeats, pods: PodsByNode) -> None:
        self._clock, self._store, self._timings = clock, store, timings
        self._heartbeats, self._pods = heartbeats, pods
        self._began = clock.seconds()
        self._seen: dict[str, float] = {}  # by node, the last sign of life other than a heartbeat
        self._leases: dict[str, str] = {}  # by node, the last renewal that was written
        self._due: dict[str, asyncio.TimerHandle] = {}
        self._changed: dict[str, None] = {}
        self._is_looking = False
        self._evictions = ZoneEvictions(clock, store, timings)
        for node in list(store.all(NODES)):
            self._hear_of_node(Event(store.version, "ADDED", NODES, node, None))
        heartbeats.listen(self._hear_of_heart)
        store.listen(NODES, self._hear_of_node)
        store.listen(LEASES, self._hear_of_lease)
        store.listen(PODS, self._hear_of_pod)

    # Hearing

    def _hear_of_node(self, event: Event) -> None:
        name = event.object["metadata"]["name"]
        if event.what == "DELETED":
            self._forget(name)
        else:
            if event.before is None or _heartbeat(event.before) != _heartbeat(event.object):
                self._seen[name] = self._clock.seconds()
                self._wait_for_silence(name)
            self._keep_taints(event.object)
        self._look_at(name)

    def _hear_of_heart(self, name: str) -> None:
        last = self._heartbeats.last_renewal(name)
        if last is not None and self._store.get(NODES, name) is not None:
            self._seen[name] = max(last, self._seen.get(name, 0.0))
            self._wait_for_silence(name)

    def _hear_of_lease(self, event: Event) -> None:
        """Renewals that nobody here plays count as well."""
        meta = event.object["metadata"]
        name, renewal = meta["name"], part(event.object, "spec").get("renewTime", "")
        if meta.get("namespace") != NAMESPACE or event.what == "DELETED" or self._heartbeats.is_beating(name):
            return
        if renewal > self._leases.get(name, "") and name in self._seen:
            self._leases[name] = renewal
            self._seen[name] = self._clock.seconds()
            self._wait_for_silence(name)

    def _hear_of_pod(self, event: Event) -> None:
        """A pod that comes to an unready node is not ready either."""
        name = part(event.object, "spec").get("nodeName", "")
        is_new = event.before is None or not part(event.before, "spec").get("nodeName")
        if name and is_new and event.what != "DELETED":
            node = self._store.get(NODES, name)
            ready = condition_of(node, "Ready") if node is not None else None
            if ready is not None and ready["status"] != "True":
                self._call_unready(event.object)

    def _forget(self, name: str) -> None:
        self._seen.pop(name, None)
        self._leases.pop(name, None)
        timer = self._due.pop(name, None)
        if timer is not None:
            timer.cancel()

    # Silence

    def _wait_for_silence(self, name: str) -> None:
        timer = self._due.pop(name, None)
        if timer is not None:
            timer.cancel()
        if self._heartbeats.is_beating(name):
            return
        due = self._tick_at(self._tick_at(self._seen[name]) + self._patience(name))
        self._due[name] = self._clock.after(due - self._clock.seconds(), lambda: self._is_silent(name))

    def _patience(self, name: str) -> float:
        node = self._store.get(NODES, name)
        has_spoken = node is not None and condition_of(node, "Ready") is not None
        return self._timings.node_monitor_grace if has_spoken else self._timings.node_startup_grace

    def _is_silent(self, name: str) -> None:
        self._due.pop(name, None)
        node = self._store.get(NODES, name)
        if node is None or self._heartbeats.is_beating(name):
            return
        was_ready = _is_ready(node)
        conditions = _unknown(node, self._clock.stamp())
        if conditions is not None:
            self._store.patch(NODES, name, patch={"status": {"conditions": conditions}})
        if was_ready:
            for pod in self._pods.on(name):
                self._call_unready(pod)

    def _call_unready(self, pod: Json) -> None:
        ready, meta = condition_of(pod, "Ready"), pod["metadata"]
        if ready is None or ready["status"] != "True":
            return
        changed = with_condition(pod, {**ready, "status": "False"}, self._clock.stamp(), is_observed=False)
        status = {"conditions": changed["status"]["conditions"]}
        self._store.patch(PODS, meta["name"], meta["namespace"], {"status": status})

    # Taints and labels

    def _keep_taints(self, node: Json) -> None:
        """NoSchedule taints follow the conditions at once; a node without Ready condition has none of them."""
        found = ((known["type"], known["status"]) for known in parts(node, "status", "conditions"))
        wanted: list[Mark] = [(_BY_CONDITION[each], NO_SCHEDULE) for each in found if each in _BY_CONDITION]
        if part(node, "spec").get("unschedulable"):
            wanted.append((UNSCHEDULABLE, NO_SCHEDULE))
        stale = [mark for mark in marks(node) if mark[1] == NO_SCHEDULE and mark[0] in _OURS and mark not in wanted]
        patch: Json = {}
        taints = swapped(node, wanted, stale, self._clock.stamp())
        if taints is not None:
            patch["spec"] = {"taints": taints or None}
        labels = part(node, "metadata", "labels")
        old = {old: labels[new] for new, old in _OLD_LABELS.items() if new in labels}
        if any(labels.get(key) != value for key, value in old.items()):
            patch["metadata"] = {"labels": old}
        if patch and self._store.get(NODES, node["metadata"]["name"]) is node:
            self._store.patch(NODES, node["metadata"]["name"], patch=patch)

    # Looking, every five seconds

    def _tick_at(self, seconds: float) -> float:
        """The first look at or after this instant."""
        period = self._timings.node_monitor_period
        return self._began + math.ceil((seconds - self._began) / period - 1e-9) * period

    def _look_at(self, name: str) -> None:
        self._changed[name] = None
        if not self._is_looking:
            self._is_looking = True
            pause = self._tick_at(self._clock.seconds()) - self._clock.seconds()
            self._clock.after(pause, self._look)

    def _look(self) -> None:
        self._is_looking = False
        names, self._changed = self._changed, {}
        for name in names:
            self._evictions.consider(name)
        self._evictions.judge_zones()


def _is_ready(node: Json) -> bool:
    ready = condition_of(node, "Ready")
    return ready is not None and ready["status"] == "True"


def _heartbeat(node: Json) -> str:
    ready = condition_of(node, "Ready")
    return "" if ready is None else ready.get("lastHeartbeatTime", "")


def _unknown(node: Json, stamp: str) -> list[Json] | None:
    """The conditions of a node of which nothing is known; None if they say so already."""
    conditions = {known["type"]: known for known in parts(node, "status", "conditions")}
    before = dict(conditions)
    for kind in _OWED_BY_KUBELET:
        known = conditions.get(kind)
        if known is None:
            conditions[kind] = {
                "type": kind,
                "status": "Unknown",
                "reason": "NodeStatusNeverUpdated",
                "message": "Kubelet never posted node status.",
                "lastHeartbeatTime": node["metadata"]["creationTimestamp"],
                "lastTransitionTime": stamp,
            }
        elif known["status"] != "Unknown":
            conditions[kind] = {
                **known,
                "status": "Unknown",
                "reason": "NodeStatusUnknown",
                "message": "Kubelet stopped posting node status.",
                "lastTransitionTime": stamp,
            }
    return None if conditions == before else list(conditions.values())
