"""Who looks on while jobs start: how long they wait until all their pods run, and how long machines are in vain."""

import asyncio
from collections import Counter
from collections.abc import Collection
from typing import Any, Final

from bench.days_load import HOUR
from growth.api.queue.kinds import WORKLOADS
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.served_kinds import CONFIG_MAPS, OURS, PODS
from growth_lab.simulator.store import Event, Store

_WORKLOADS: Final = next(one for one in OURS if one.kind == WORKLOADS.name)
_MACHINE: Final = "growth.dev/machine"


class Witness:
    """Follows every write to the virtual cluster. Nodes of ``unpaid`` are not Growth's."""

    def __init__(self, store: Store, clock: Clock, unpaid: Collection[str] = ()) -> None:
        self._clock, self._unpaid = clock, unpaid
        self._came: dict[str, float] = {}
        self._waited: dict[str, float] = {}
        """By workload, until all its pods were ready."""
        self._evictions: dict[str, Counter[str]] = {}
        self.finished: set[str] = set()
        self._has_finished = asyncio.Event()
        self._launched: dict[str, float] = {}
        self._machine_seconds = 0.0
        self._machines = 0
        self._running: dict[str, float] = {}
        """By uid, since when a pod runs."""
        self._work_seconds = 0.0
        store.listen(_WORKLOADS, self._hear_of_workload)
        store.listen(CONFIG_MAPS, self._hear_of_machine)
        store.listen(PODS, self._hear_of_pod)

    async def until_finished(self, jobs: int) -> None:
        """Wait until so many jobs have ended."""
        while len(self.finished) < jobs:
            self._has_finished.clear()
            await self._has_finished.wait()

    def figures(self) -> dict[str, Any]:
        """What came of it; who never ran has waited until now, and machines that are there are paid until now."""
        now = self._clock.seconds()
        waits = sorted(self._waited.get(name, now - came) for name, came in self._came.items())
        paid = self._machine_seconds + sum(now - since for since in self._launched.values())
        evictions = sum(self._evictions.values(), Counter[str]())
        return {
            "jobs": len(self._came),
            "finished": len(self.finished),
            "evictions": dict(sorted(evictions.items())),
            "until_running_mean_s": round(sum(waits) / max(1, len(waits))),
            "until_running_p95_s": round(waits[int(0.95 * (len(waits) - 1))]) if waits else 0,
            "machines": self._machines,
            "machine_hours": round(paid / HOUR, 1),
            "vain_hours": round((paid - self._work_seconds) / HOUR, 1),
        }

    def _hear_of_workload(self, event: Event) -> None:
        name, now = event.object["metadata"]["name"], self._clock.seconds()
        if event.what == "ADDED":
            self._came[name] = now
        status = event.object.get("status", {})
        holds = {one["type"] for one in status.get("conditions", ()) if one["status"] == "True"}
        if "PodsReady" in holds:
            self._waited.setdefault(name, now - self._came[name])
        if "Finished" in holds:
            self.finished.add(name)
            self._has_finished.set()
        counted = status.get("schedulingStats", {}).get("evictions", ())
        self._evictions[name] = Counter({one["reason"]: one["count"] for one in counted})

    def _hear_of_machine(self, event: Event) -> None:
        meta, now = event.object["metadata"], self._clock.seconds()
        if _MACHINE not in meta.get("labels", {}):
            return
        if event.what == "ADDED":
            self._launched[meta["uid"]] = now
            self._machines += 1
        elif event.what == "DELETED":
            self._machine_seconds += now - self._launched.pop(meta["uid"])

    def _hear_of_pod(self, event: Event) -> None:
        uid, now = event.object["metadata"]["uid"], self._clock.seconds()
        phase = event.object.get("status", {}).get("phase", "")
        if event.object["spec"].get("nodeName") in self._unpaid:
            return
        if event.what != "DELETED" and phase == "Running":
            self._running.setdefault(uid, now)
        elif uid in self._running:
            since = self._running.pop(uid)
            # Work that was cut short is done once more: those hours are in vain.
            self._work_seconds += now - since if phase == "Succeeded" else 0.0
