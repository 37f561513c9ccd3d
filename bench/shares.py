"""Who used the processor: each component of a cluster, Growth, the driver, and whoever else is on the machine."""

import os
import time
from collections.abc import Mapping

from bench.meter import busy_seconds, cpu_seconds_of
from growth_lab.local_cluster import state
from growth_lab.local_cluster.cluster import LocalCluster


class Shares:
    """CPU seconds of each since the start. ``processes`` are pids by name, beside the cluster's components."""

    def __init__(self, cluster: LocalCluster, processes: Mapping[str, int] | None = None) -> None:
        _, record = state.load(cluster.name, os.environ)
        components = {name: one.pid for name, one in record.processes.items()} if record else {}
        self._pids = {**components, **(processes or {}), "driver": os.getpid()}
        self._before = self._now()

    def read(self) -> dict[str, float]:
        """Until now; ``others`` are those who have nothing to do with us."""
        now = self._now()
        spent = {name: now[name] - before for name, before in self._before.items()}
        seconds, busy = spent.pop("seconds"), spent.pop("busy")
        spent["others"] = max(0.0, busy - sum(spent.values()))
        spent["idle"] = max(0.0, seconds * (os.cpu_count() or 1) - busy)
        return {name: round(value, 2) for name, value in spent.items()}

    def _now(self) -> dict[str, float]:
        used = {name: cpu_seconds_of(pid) for name, pid in self._pids.items()}
        return {**used, "busy": busy_seconds(), "seconds": time.monotonic()}
