"""How many pods a namespace may have: of ResourceQuotas only ``pods`` is known, and only Jobs ask.

A quota counts from when its status says so, as on a real cluster, where a controller writes that.
"""

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.served_kinds import PODS, RESOURCE_QUOTAS
from growth_lab.simulator.store import Event, Key, Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue
from growth_lab.simulator.workloads.pod_state import state_of


class PodQuotas:
    """The controller, and whom it lets in."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._store = store
        self._queue: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync)
        store.listen(RESOURCE_QUOTAS, self._hear)

    def lets_in(self, namespace: str) -> bool:
        """Whether there may be one more pod."""
        hard = [part(one, "status", "hard") for one in self._store.all(RESOURCE_QUOTAS, namespace)]
        limits = [int(one["pods"]) for one in hard if "pods" in one]
        return not limits or self._count(namespace) < min(limits)

    def _count(self, namespace: str) -> int:
        return sum(state_of(pod).phase not in ("Succeeded", "Failed") for pod in self._store.all(PODS, namespace))

    def _hear(self, event: Event) -> None:
        if event.what != "DELETED":
            self._queue.add(event.key)

    def _sync(self, key: Key) -> None:
        quota = self._store.get(RESOURCE_QUOTAS, key[1], key[0])
        hard = part(quota, "spec", "hard") if quota is not None else {}
        if quota is not None and part(quota, "status", "hard") != hard:
            self._store.patch(RESOURCE_QUOTAS, key[1], key[0], {"status": {"hard": hard}})
