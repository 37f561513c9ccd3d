"""A store with a scheduler, and short words for what tests do to them."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.pod_conditions import condition_of
from growth_lab.simulator.scheduler import Scheduler
from growth_lab.simulator.served_kinds import NODES, PODS
from growth_lab.simulator.store import Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.virtual_loop import run_virtually

Json = dict[str, Any]


class Scene:
    def __init__(self, *, seed: int = 1, timings: Timings | None = None) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a seed
        self.clock = Clock()
        self.store = Store(self.clock, self.chance)
        self.scheduler = Scheduler(self.clock, self.store, timings or Timings(), self.chance)

    def node(
        self,
        name: str,
        *,
        cpu: str = "4",
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Json] = (),
        resources: Mapping[str, str] | None = None,
        unschedulable: bool = False,
    ) -> Json:
        room = {"cpu": cpu, "memory": "16Gi", "pods": "110", **(resources or {})}
        return self.store.create(
            NODES,
            {
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **(labels or {})}},
                "spec": {"taints": list(taints), **({"unschedulable": True} if unschedulable else {})},
                "status": {"capacity": room, "allocatable": room},
            },
        )

    def pod(
        self,
        name: str,
        *,
        cpu: str = "1",
        node: str = "",
        labels: Mapping[str, str] | None = None,
        nominated: str = "",
        **spec: Any,  # noqa: ANN401
    ) -> Json:
        container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}
        return self.store.create(
            PODS,
            {
                "metadata": {"name": name, "namespace": "default", "labels": dict(labels or {})},
                "spec": {
                    "schedulerName": "default-scheduler",
                    "containers": [container],
                    **({"nodeName": node} if node else {}),
                    **spec,
                },
                "status": {"phase": "Pending", **({"nominatedNodeName": nominated} if nominated else {})},
            },
        )

    def change_node(self, name: str, patch: Json) -> None:
        self.store.patch(NODES, name, patch=patch)

    def change_pod(self, name: str, patch: Json) -> None:
        self.store.patch(PODS, name, "default", patch)

    def delete_pod(self, name: str) -> None:
        self.store.delete(PODS, name, "default")

    def get(self, name: str) -> Json:
        pod = self.store.get(PODS, name, "default")
        assert pod is not None, f"pod {name} is gone"
        return pod

    def where(self, name: str) -> str:
        """The node of a pod, or nothing."""
        return self.get(name)["spec"].get("nodeName", "")

    def message(self, name: str) -> str:
        """Why the pod has no node, if the scheduler said so."""
        condition = condition_of(self.get(name), "PodScheduled")
        return "" if condition is None or condition["status"] == "True" else condition["message"]

    def nominated(self, name: str) -> str:
        return self.get(name)["status"].get("nominatedNodeName", "")

    async def pass_by(self, seconds: float = 0.001) -> None:
        """Let time pass; by default just so much that everything that is due happens."""
        await asyncio.sleep(seconds)

    async def seconds_until_bound(self, name: str, at_most: float = 1000.0) -> float:
        """How long it takes, on a grid of tenths of a second."""
        for tenth in range(int(at_most * 10) + 1):
            if self.where(name):
                return tenth / 10
            await asyncio.sleep(0.1)
        raise AssertionError(f"pod {name} has no node after {at_most} s: {self.message(name)}")


def on_a_scene(test: Callable[[Scene], Coroutine[Any, Any, None]], **options: Any) -> None:  # noqa: ANN401
    async def play() -> None:
        await test(Scene(**options))

    run_virtually(play())
