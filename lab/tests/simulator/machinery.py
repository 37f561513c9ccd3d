"""A store with kubelets and the controllers of nodes, and short words for what tests do to them."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.node_lifecycle import NodeLifecycle
from growth_lab.simulator.node_taints import marks
from growth_lab.simulator.nodes import Heartbeats, Kubelets
from growth_lab.simulator.pod_conditions import condition_of
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.pod_garbage import PodCollector
from growth_lab.simulator.pods_by_node import PodsByNode
from growth_lab.simulator.served_kinds import NODES, PODS
from growth_lab.simulator.store import Store
from growth_lab.simulator.taint_eviction import TaintEviction
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.virtual_loop import run_virtually

Json = dict[str, Any]
KWOK = {KWOK_LABEL: KWOK_VALUE}


class Machinery:
    def __init__(self, *, timings: Timings | None = None, ended_pods_kept: int = 12_500) -> None:
        timings = timings or Timings()
        self.clock = Clock()
        self.store = Store(self.clock, random.Random(1))  # noqa: S311 - a seed
        self.pods = PodsByNode(self.store)
        self.heartbeats = Heartbeats(self.clock, self.store, timings)
        self.kubelets = Kubelets(self.clock, self.store, timings, self.heartbeats, self.pods)
        self.lifecycle = NodeLifecycle(self.clock, self.store, timings, self.heartbeats, self.pods)
        self.eviction = TaintEviction(self.clock, self.store, self.pods)
        self.collector = PodCollector(self.clock, self.store, timings, self.pods, ended_pods_kept=ended_pods_kept)

    def node(
        self,
        name: str,
        *,
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Json] = (),
        zone: str = "",
        status: Json | None = None,
    ) -> Json:
        """A Node as under kwok, unless other labels are given; tainted by admission."""
        found = dict(KWOK if labels is None else labels)
        if zone:
            found["topology.kubernetes.io/zone"] = zone
        new = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        room = {"cpu": "4", "memory": "16Gi", "pods": "110"}
        body = {
            "metadata": {"name": name, "labels": found},
            "spec": {"taints": [*taints, new]},
            "status": {"capacity": room, "allocatable": room, **(status or {})},
        }
        return self.store.create(NODES, body)

    def pod(
        self,
        name: str,
        node: str,
        *,
        annotations: Mapping[str, str] | None = None,
        tolerations: Sequence[Json] = (),
        finalizers: Sequence[str] = (),
        **spec: Any,  # noqa: ANN401
    ) -> Json:
        """A pod that was bound to a node, with the time that admission gives it on lost ones."""
        bears = [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for key in ("not-ready", "unreachable")
        ]
        meta: Json = {"name": name, "namespace": "default", "annotations": dict(annotations or {})}
        if finalizers:
            meta["finalizers"] = list(finalizers)
        body = {
            "metadata": meta,
            "spec": {
                **({"nodeName": node} if node else {}),
                "containers": [{"name": "main", "image": "main"}],
                "tolerations": [*tolerations, *bears],
                **spec,
            },
            "status": {"phase": "Pending"},
        }
        return self.store.create(PODS, body)

    def has_pod(self, name: str) -> bool:
        return self.store.get(PODS, name, "default") is not None

    def get(self, name: str) -> Json:
        pod = self.store.get(PODS, name, "default")
        assert pod is not None, f"pod {name} is gone"
        return pod

    def phase(self, name: str) -> str:
        return self.get(name)["status"]["phase"]

    def is_leaving(self, name: str) -> bool:
        return "deletionTimestamp" in self.get(name)["metadata"]

    def delete(self, name: str, grace_seconds: int | None = None) -> None:
        delete_pod(self.store, self.get(name), grace_seconds)

    def get_node(self, name: str) -> Json:
        node = self.store.get(NODES, name)
        assert node is not None, f"node {name} is gone"
        return node

    def ready(self, name: str) -> str:
        """What is known about the readiness of a node."""
        condition = condition_of(self.get_node(name), "Ready")
        return "" if condition is None else condition["status"]

    def pod_ready(self, name: str) -> str:
        condition = condition_of(self.get(name), "Ready")
        return "" if condition is None else condition["status"]

    def taints(self, name: str) -> list[str]:
        """The taints of a node without the usual prefix of their keys, as key:effect."""
        return [f"{key.removeprefix('node.kubernetes.io/')}:{effect}" for key, effect in marks(self.get_node(name))]

    def label(self, name: str, key: str, value: str | None) -> None:
        self.store.patch(NODES, name, patch={"metadata": {"labels": {key: value}}})

    def taint(self, name: str, *taints: Json) -> None:
        known = self.get_node(name)["spec"].get("taints", [])
        self.store.patch(NODES, name, patch={"spec": {"taints": [*known, *taints]}})

    async def pass_by(self, seconds: float = 0.1) -> None:
        await asyncio.sleep(seconds)

    async def until(self, condition: Callable[[], bool], at_most: float = 1000.0) -> float:
        """How long it takes until a condition holds, on a grid of tenths of a second."""
        for tenth in range(int(at_most * 10) + 1):
            if condition():
                return tenth / 10
            await asyncio.sleep(0.1)
        raise AssertionError(f"it did not happen within {at_most} s")


def on_machinery(test: Callable[[Machinery], Coroutine[Any, Any, None]], **options: Any) -> None:  # noqa: ANN401
    async def play() -> None:
        await test(Machinery(**options))

    run_virtually(play())
