"""The pod collector (PodGC): ends pods that nobody else will end.

Every twenty seconds the real one looks at all pods; this one looks at the same instants, and only if it heard of a pod
that may be due: on a node that does not exist (after a quarantine), terminating on a node that is out of service and
not ready, terminating without a node, or one of too many that have ended.
"""

import math
from typing import Final

from growth.api.out_of_service import OUT_OF_SERVICE
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_conditions import condition_of, with_condition
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.pods_by_node import PodsByNode
from growth_lab.simulator.served_kinds import NODES, PODS
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings

_ENDED: Final = ("Succeeded", "Failed")
_ORPHANED: Final = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByPodGC",
    "message": "PodGC: node no longer exists",
}


class PodCollector:
    """One collector for all pods."""

    def __init__(
        self, clock: Clock, store: Store, timings: Timings, pods: PodsByNode, *, ended_pods_kept: int = 12_500
    ) -> None:
        self._clock, self._store, self._timings, self._pods = clock, store, timings, pods
        self._kept = ended_pods_kept
        self._began = clock.seconds()
        self._is_called = False
        self._suspects: dict[str, None] = {}  # nodes that pods name and that may not exist
        self._quarantine: dict[str, float] = {}  # by such a node, when it is over
        self._broken: dict[str, None] = {}  # nodes out of service that are not ready
        self._stray: dict[Key, None] = {}  # terminating pods without a node
        self._ended: dict[Key, None] = {}
        for node in store.all(NODES):
            self._hear_of_node(Event(store.version, "ADDED", NODES, node, None))
        for pod in store.all(PODS):
            self._hear_of_pod(Event(store.version, "ADDED", PODS, pod, None))
        store.listen(NODES, self._hear_of_node)
        store.listen(PODS, self._hear_of_pod)

    # Hearing

    def _hear_of_node(self, event: Event) -> None:
        name = event.object["metadata"]["name"]
        if event.what == "DELETED":
            self._broken.pop(name, None)
            if self._pods.is_used(name):
                self._suspects[name] = None
                self._call()
            return
        ready = condition_of(event.object, "Ready")
        is_ready = ready is not None and ready["status"] == "True"
        if is_ready or all(known["key"] != OUT_OF_SERVICE for known in parts(event.object, "spec", "taints")):
            self._broken.pop(name, None)
        elif name not in self._broken:
            self._broken[name] = None
            self._call()

    def _hear_of_pod(self, event: Event) -> None:
        pod, key = event.object, key_of(event.object)
        if event.what == "DELETED":
            self._ended.pop(key, None)
            self._stray.pop(key, None)
            return
        node = part(pod, "spec").get("nodeName", "")
        if "deletionTimestamp" in pod["metadata"]:
            if not node:
                self._stray[key] = None
                self._call()
            elif node in self._broken:
                self._call()
        is_new = event.before is None or node != part(event.before, "spec").get("nodeName", "")
        if node and is_new and self._store.get(NODES, node) is None:
            self._suspects[node] = None
            self._call()
        if part(pod, "status").get("phase") in _ENDED and key not in self._ended:
            self._ended[key] = None
            if len(self._ended) > self._kept:
                self._call()

    # Looking

    def _call(self) -> None:
        """Look at the next of the instants at which the real one looks."""
        if self._is_called:
            return
        self._is_called = True
        period, passed = self._timings.pod_collector_period, self._clock.seconds() - self._began
        due = (math.floor(passed / period + 1e-9) + 1) * period
        self._clock.after(due - passed, self._look)

    def _look(self) -> None:
        self._is_called = False
        self._collect_ended()
        self._collect_from_broken_nodes()
        self._collect_orphans()
        for namespace, name in list(self._stray):
            pod = self._store.get(PODS, name, namespace)
            if pod is not None:
                self._end(pod)

    def _collect_ended(self) -> None:
        too_many = len(self._ended) - self._kept
        if too_many <= 0:
            return
        found = [self._store.get(PODS, name, namespace) for namespace, name in self._ended]
        pods = sorted((pod for pod in found if pod is not None), key=_eviction_then_age)
        for pod in pods[:too_many]:
            self._end(pod)

    def _collect_from_broken_nodes(self) -> None:
        for node in list(self._broken):
            for pod in self._pods.on(node):
                if "deletionTimestamp" in pod["metadata"]:
                    self._end(pod)

    def _collect_orphans(self) -> None:
        now = self._clock.seconds()
        suspects, self._suspects = self._suspects, {}
        for node in suspects:
            if self._store.get(NODES, node) is None and self._pods.is_used(node):
                self._quarantine.setdefault(node, now + self._timings.pod_collector_quarantine)
        for node, until in list(self._quarantine.items()):
            if until > now + 1e-6:
                continue
            del self._quarantine[node]
            if self._store.get(NODES, node) is None:
                for pod in self._pods.on(node):
                    self._end(pod, _ORPHANED)
        if self._quarantine:
            self._call()

    def _end(self, pod: Json, condition: Json | None = None) -> None:
        """Failed, unless it has ended by itself, and gone."""
        if part(pod, "status").get("phase") not in _ENDED:
            changed = {**pod, "status": {**part(pod, "status"), "phase": "Failed"}}
            if condition is not None:
                changed = with_condition(changed, condition, self._clock.stamp())
            pod = self._store.replace(PODS, changed)
        delete_pod(self._store, pod, 0)


def _eviction_then_age(pod: Json) -> tuple[bool, str, str]:
    status, meta = part(pod, "status"), pod["metadata"]
    return status.get("reason") != "Evicted", meta["creationTimestamp"], meta["name"]
