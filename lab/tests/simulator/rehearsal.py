"""A store with a clock for tests of single controllers, and hands that do what scheduler and kubelets would."""

import asyncio
import random
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import NODES, PODS, Resource
from growth_lab.simulator.store import Event, Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.virtual_loop import run_virtually
from growth_lab.simulator.workloads.daemon_pods import node_of


class Rehearsal:
    """The scene of one test."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.store = Store(self.clock, random.Random(1))  # noqa: S311 - a seed
        self.timings = Timings()

    async def wait(self, seconds: float = 1.0) -> None:
        """Let virtual time pass; a second is enough for every controller to come to rest."""
        await asyncio.sleep(seconds)

    def pods(self, **labels: str) -> list[Json]:
        """All pods with these labels, in the order of their creation."""
        return [
            pod
            for pod in self.store.all(PODS)
            if all(pod["metadata"]["labels"].get(key) == value for key, value in labels.items())
        ]

    def names(self) -> list[str]:
        return [pod["metadata"]["name"] for pod in self.store.all(PODS)]

    def pod(self, name: str) -> Json:
        found = self.store.get(PODS, name, "default")
        assert found is not None, f"no pod {name}, only {self.names()}"
        return found

    def status(self, resource: Resource, name: str) -> Json:
        found = self.store.get(resource, name, "default")
        assert found is not None
        return part(found, "status")

    def set_phase(self, pod: Json, phase: str, *, ready: bool = False) -> Json:
        """What a kubelet says of a pod."""
        condition = {
            "type": "Ready",
            "status": "True" if ready else "False",
            "lastTransitionTime": self.clock.stamp(),
        }
        state = "running" if phase == "Running" else "terminated"
        containers: list[Json] = (
            [{"name": "app", "restartCount": 0, "state": {state: {}}}] if phase != "Pending" else []
        )
        status: Json = {"phase": phase, "conditions": [condition], "containerStatuses": containers}
        return self.store.patch(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"], {"status": status})

    def run(self, pod: Json, node: str = "node-1") -> Json:
        """Bind a pod and let it be ready at once."""
        meta = pod["metadata"]
        self.store.patch(PODS, meta["name"], meta["namespace"], {"spec": {"nodeName": node}})
        return self.set_phase(pod, "Running", ready=True)

    def run_all(self, node: str = "node-1") -> None:
        for pod in list(self.store.all(PODS)):
            if not pod["spec"].get("nodeName"):
                self.run(pod, node)

    def delete(self, pod: Json, grace_seconds: int | None = None) -> Json:
        return delete_pod(self.store, pod, grace_seconds)

    def add_node(self, name: str = "node-1", **fields: Any) -> Json:  # noqa: ANN401
        return self.store.create(NODES, {"metadata": {"name": name, **fields.pop("metadata", {})}, **fields})


class Hands:
    """Binds every new pod after a moment, to one node unless it is pinned, runs it, and lets deleted ones go."""

    def __init__(self, scene: Rehearsal, node: str = "node-1") -> None:
        self._scene, self._node = scene, node
        scene.store.listen(PODS, self._hear)

    def _hear(self, event: Event) -> None:
        pod = event.object
        if event.what == "ADDED":
            self._scene.clock.after(0.1, lambda: self._start(pod))
        elif event.what == "MODIFIED" and "deletionTimestamp" in pod["metadata"]:
            before = event.before
            if before is not None and "deletionTimestamp" not in before["metadata"]:
                self._scene.clock.after(1.0, lambda: self._stop(pod))

    def _start(self, pod: Json) -> None:
        known = self._scene.store.get(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])
        if known is not None and known["metadata"]["uid"] == pod["metadata"]["uid"]:
            self._scene.run(known, node_of(known) or self._node)

    def _stop(self, pod: Json) -> None:
        delete_pod(self._scene.store, pod, 0)


def rehearse(test: Callable[[Rehearsal], Coroutine[Any, Any, None]]) -> None:
    """Play a test on a scene of its own, on virtual time."""

    async def play() -> None:
        await test(Rehearsal())

    run_virtually(play())


def a_template(app: str = "web", **spec: Any) -> Json:  # noqa: ANN401
    return {
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "app", "image": "shop/app:1"}], **spec},
    }


def a_workload(name: str = "web", template: Mapping[str, Any] | None = None, **spec: Any) -> Json:  # noqa: ANN401
    """Any of the kinds that have a selector and a template."""
    return {
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": name}}, "template": template or a_template(name), **spec},
    }
