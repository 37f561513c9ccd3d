"""Claims that are made for one pod and go with it (generic ephemeral volumes)."""

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CLAIMS, PODS
from growth_lab.simulator.store import Event, Key, Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.volumes.protection import CLAIM_PROTECTION
from growth_lab.simulator.work_queue import WorkQueue
from growth_lab.simulator.workloads.pod_from_template import controller_reference


class EphemeralClaims:
    """The controller."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._store = store
        self._queue: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync)
        store.listen(PODS, self._hear)
        for pod in store.all(PODS):
            self._hear(Event(0, "ADDED", PODS, pod, None))

    def _hear(self, event: Event) -> None:
        if event.what == "ADDED" and any("ephemeral" in volume for volume in parts(event.object, "spec", "volumes")):
            self._queue.add(event.key)

    def _sync(self, key: Key) -> None:
        pod = self._store.get(PODS, key[1], key[0])
        if pod is None or "deletionTimestamp" in pod["metadata"]:
            return
        for volume in parts(pod, "spec", "volumes"):
            if "ephemeral" in volume:
                self._make(pod, volume["name"], volume["ephemeral"]["volumeClaimTemplate"])

    def _make(self, pod: Json, volume: str, template: Json) -> None:
        name, namespace = f"{pod['metadata']['name']}-{volume}", pod["metadata"]["namespace"]
        if self._store.get(CLAIMS, name, namespace) is not None:
            return  # ours, or a stranger's, with which the pod will not start
        meta = {
            **part(template, "metadata"),
            "name": name,
            "namespace": namespace,
            "ownerReferences": [controller_reference(pod, PODS)],
            "finalizers": [CLAIM_PROTECTION],
        }
        spec = {"volumeMode": "Filesystem", **template["spec"]}
        self._store.create(CLAIMS, {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}})
