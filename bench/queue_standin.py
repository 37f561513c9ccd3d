"""Plays those who run: an admitted workload is finished after its run time. One that is sent back before has run in
vain, and begins anew when it is admitted again."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from bench.queue_load import Json, Planned
from growth.api.change import Change, ChangeType
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import ADMITTED, EVICTED, FINISHED, Workload
from growth.api.status import StatusCondition, with_condition
from growth.kube.client import Client
from growth.kube.errors import Conflict, NotFound
from growth.kube.patches import MergePatch


class StandIn:
    """Told of workloads by whoever watches them."""

    def __init__(self, client: Client, load: Mapping[str, Planned], working: asyncio.TaskGroup) -> None:
        self.refused = 0
        """How often a workload had changed in the very instant in which it was to be finished."""
        self._client, self._load, self._working = client, load, working
        self._seen: dict[str, Workload] = {}
        self._runs: dict[str, asyncio.TimerHandle] = {}
        self._due: set[str] = set()
        """Who has run long enough, and could not be finished as it was seen then."""

    def hear(self, changes: Sequence[Change[Workload]]) -> None:
        """Something became of workloads."""
        for change in changes:
            workload, name = change.now, change.now.metadata.name
            if name not in self._load:
                continue
            self._seen[name] = workload
            if change.happened is ChangeType.DELETED or not is_running(workload):
                self._stop(name)
            elif name not in self._runs:
                loop = asyncio.get_running_loop()
                self._runs[name] = loop.call_later(self._load[name].run_seconds, self._end, name)
            elif name in self._due:
                self._end(name)

    def close(self) -> None:
        """Nobody runs any more, and nobody is finished."""
        for name in list(self._runs):
            self._stop(name)

    def _stop(self, name: str) -> None:
        self._due.discard(name)
        if (run := self._runs.pop(name, None)) is not None:
            run.cancel()

    def _end(self, name: str) -> None:
        self._due.discard(name)
        self._working.create_task(self._finish(self._seen[name]))

    async def _finish(self, workload: Workload) -> None:
        meta = workload.metadata
        try:
            patch = MergePatch(finish(workload, datetime.now(UTC)))
            await self._client.patch(WORKLOADS, meta.name, patch, meta.namespace, subresource="status")
        except Conflict:
            self.refused += 1
            if meta.name not in self._runs:
                return  # it was sent back
            self._due.add(meta.name)
            if self._seen[meta.name].metadata.resource_version != meta.resource_version:
                self._end(meta.name)
        except NotFound:
            pass


def is_running(workload: Workload) -> bool:
    """Whether it may run: somebody who is sent back stops at once."""
    return workload.is_reserving and workload.holds(ADMITTED) and not workload.holds(EVICTED)


def finish(workload: Workload, now: datetime) -> Json:
    """The change that ends it, if it is still as it was seen."""
    ended = StatusCondition(FINISHED, "True", "Succeeded", "it has run for its time", now)
    return {
        "metadata": {"resourceVersion": str(workload.metadata.resource_version)},
        "status": {"conditions": msgspec.to_builtins(with_condition(workload.status.conditions, ended))},
    }
