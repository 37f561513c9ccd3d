"""The pods of living nodes: they start, finish their work, and end when they are asked to.

On a silent node nothing of that happens, and what was under way begins anew when it returns.
"""

import asyncio
from collections.abc import Callable
from typing import Literal, NamedTuple

from growth.api.duration import DurationError, parse_duration
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.nodes import pod_status
from growth_lab.simulator.nodes.machine import Machine
from growth_lab.simulator.nodes.volumes_in_use import VolumesInUse
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.pods_by_node import PodsByNode
from growth_lab.simulator.served_kinds import PODS
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue

Step = Literal["start", "finish", "end"]


class _Pending(NamedTuple):
    step: Step
    node: str
    timer: asyncio.TimerHandle


class RunningPods:
    """What kubelets do with pods. ``machine_of`` gives the machine of a living node, None for all others."""

    def __init__(
        self,
        clock: Clock,
        store: Store,
        timings: Timings,
        pods: PodsByNode,
        machine_of: Callable[[str], Machine | None],
    ) -> None:
        self._clock, self._store, self._pods, self._machine_of = clock, store, pods, machine_of
        self._volumes = VolumesInUse(store, pods)
        self._queue: WorkQueue[Key] = WorkQueue(clock, timings.kubelet_delay, self._look_at)
        self._pending: dict[Key, _Pending] = {}
        store.listen(PODS, self._hear)

    def resume(self, node: str) -> None:
        """The node lives, or lives again."""
        for pod in self._pods.on(node):
            self._queue.add(key_of(pod))

    def freeze(self, node: str) -> None:
        """The node fell silent."""
        for pod in self._pods.on(node):
            self._drop(key_of(pod))

    def _hear(self, event: Event) -> None:
        pod = event.object
        node = part(pod, "spec").get("nodeName", "")
        if not node:
            return
        if event.what == "DELETED":
            self._drop(key_of(pod))
            machine = self._machine_of(node)
            if machine is not None and machine.mounts_volumes:
                self._volumes.report(node)
        elif _next_step(pod) is not None and self._machine_of(node) is not None:
            self._queue.add(key_of(pod))

    def _look_at(self, key: Key) -> None:
        pod = self._store.get(PODS, key[1], key[0])
        if pod is None:
            return
        node = part(pod, "spec").get("nodeName", "")
        machine, step = self._machine_of(node), _next_step(pod)
        if machine is None or step is None:
            return
        pending = self._pending.get(key)
        if pending is not None:
            if pending.step == step:
                return
            self._drop(key)
        if machine.mounts_volumes:
            self._volumes.report(node)
            if step == "start" and not self._volumes.are_attached(pod):
                return  # looked at again when the node shows that they are
        pause = _pause(pod, step, machine)
        if pause <= 0:
            self._take(pod, step)
        else:
            timer = self._clock.after(pause, lambda: self._is_due(key))
            self._pending[key] = _Pending(step, node, timer)

    def _is_due(self, key: Key) -> None:
        pending = self._pending.pop(key)
        pod = self._store.get(PODS, key[1], key[0])
        if pod is not None and _next_step(pod) == pending.step:
            self._take(pod, pending.step)

    def _take(self, pod: Json, step: Step) -> None:
        meta, stamp = pod["metadata"], self._clock.stamp()
        if step == "end":
            delete_pod(self._store, pod, 0)
            return
        status = pod_status.running(pod, stamp) if step == "start" else pod_status.succeeded(pod, stamp)
        self._store.patch(PODS, meta["name"], meta["namespace"], {"status": status})

    def _drop(self, key: Key) -> None:
        pending = self._pending.pop(key, None)
        if pending is not None:
            pending.timer.cancel()


def _next_step(pod: Json) -> Step | None:
    meta, phase = pod["metadata"], part(pod, "status").get("phase", "Pending")
    if "deletionTimestamp" in meta:
        # One that only finalizers keep was ended before.
        return "end" if meta.get("deletionGracePeriodSeconds") else None
    if phase == "Pending":
        return "start"
    if phase == "Running" and pod_status.FINISH_AFTER in part(meta, "annotations"):
        return "finish"
    return None


def _pause(pod: Json, step: Step, machine: Machine) -> float:
    meta = pod["metadata"]
    if step == "end":
        return min(machine.pods_end_in, meta.get("deletionGracePeriodSeconds", 0))
    name = pod_status.READY_AFTER if step == "start" else pod_status.FINISH_AFTER
    text = part(meta, "annotations").get(name)
    try:
        return machine.pods_start_in if text is None else parse_duration(text).total_seconds()
    except DurationError:
        return 0.0  # as kwok does it
