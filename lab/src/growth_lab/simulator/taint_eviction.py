"""Taint eviction: pods that do not tolerate a NoExecute taint of their node go, at once or when their time is over.

It asks no budget, keeps the pod's grace period, and takes an order back when the taint goes in time.
"""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from growth.api.tolerations import Taint, Toleration, tolerates
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.node_taints import NO_EXECUTE
from growth_lab.simulator.pod_conditions import with_condition
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.pods_by_node import PodsByNode
from growth_lab.simulator.served_kinds import NODES, PODS
from growth_lab.simulator.store import Event, Key, Store, key_of


class _Order(NamedTuple):
    given: float
    timer: asyncio.TimerHandle


class TaintEviction:
    """One controller for all nodes."""

    def __init__(self, clock: Clock, store: Store, pods: PodsByNode) -> None:
        self._clock, self._store, self._pods = clock, store, pods
        self._taints: dict[str, list[Json]] = {}  # by node, only those with the effect
        self._orders: dict[Key, _Order] = {}
        for node in list(store.all(NODES)):
            self._hear_of_node(Event(store.version, "ADDED", NODES, node, None))
        store.listen(NODES, self._hear_of_node)
        store.listen(PODS, self._hear_of_pod)

    def _hear_of_node(self, event: Event) -> None:
        name = event.object["metadata"]["name"]
        taints = [known for known in parts(event.object, "spec", "taints") if known["effect"] == NO_EXECUTE]
        if event.what == "DELETED":
            self._taints.pop(name, None)
            return
        if taints == self._taints.get(name, []):
            return
        if taints:
            self._taints[name] = taints
        else:
            del self._taints[name]
        for pod in self._pods.on(name):
            self._judge(pod, taints)

    def _hear_of_pod(self, event: Event) -> None:
        pod, before = event.object, event.before
        if event.what == "DELETED":
            self._take_back(key_of(pod))
            return
        node = part(pod, "spec").get("nodeName", "")
        if node not in self._taints:
            return
        is_same = before is not None and _place(before) == _place(pod)
        if not is_same:
            self._judge(pod, self._taints[node])

    def _judge(self, pod: Json, taints: Sequence[Json]) -> None:
        key = key_of(pod)
        if not taints:
            self._take_back(key)
            return
        patience = _patience(pod, taints)
        if patience is None:
            self._take_back(key)
            return
        now = self._clock.seconds()
        order = self._orders.get(key)
        if order is not None and patience and order.given < now:
            return  # an order that was given before stays as it is, even if the taints are others now
        self._take_back(key)
        uid = pod["metadata"]["uid"]
        timer = self._clock.after(patience, lambda: self._evict(key, uid))
        self._orders[key] = _Order(now, timer)

    def _evict(self, key: Key, uid: str) -> None:
        self._orders.pop(key, None)
        pod = self._store.get(PODS, key[1], key[0])
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByTaintManager",
            "message": "Taint manager: deleting due to NoExecute taint",
        }
        delete_pod(self._store, self._store.replace(PODS, with_condition(pod, condition, self._clock.stamp())))

    def _take_back(self, key: Key) -> None:
        order = self._orders.pop(key, None)
        if order is not None:
            order.timer.cancel()


def _place(pod: Json) -> tuple[str, list[Json]]:
    return part(pod, "spec").get("nodeName", ""), parts(pod, "spec", "tolerations")


def _patience(pod: Json, taints: Sequence[Json]) -> float | None:
    """How long the pod bears these taints: None for ever, zero not at all, else the shortest of its times."""
    seconds: list[float] = []
    for known in taints:
        taint = Taint(known["key"], known.get("value", ""), known["effect"])
        bearing = next((each for each in parts(pod, "spec", "tolerations") if tolerates(_read(each), taint)), None)
        if bearing is None:
            return 0.0
        if bearing.get("tolerationSeconds") is not None:
            seconds.append(max(0.0, bearing["tolerationSeconds"]))
    return min(seconds) if seconds else None


def _read(toleration: Json) -> Toleration:
    return Toleration(
        toleration.get("key", ""),
        toleration.get("operator", ""),
        toleration.get("value", ""),
        toleration.get("effect", ""),
    )
