"""How many admissions a second the decider of the queue is good for, if nobody else takes any time.

All workloads are there at the beginning. Each pass is one ``decide``; then the ten workloads that have run for the
longest time end, and what was said is done. The World is told of both before the next pass, as by a watch. Only CPU
seconds within ``decide`` count, so others on the machine do not, but for the caches that they share.

| field | meaning |
|---|---|
| queues, cohorts, pending | how large it is |
| first_pass_s | the first pass: everybody is looked at, and told that it waits |
| admissions_per_second | after that, by the seconds of the decider; none if there was room for all at once |
| pass_ms | a later pass, at the median |
| passes, admissions, is_cut | so many of them; whether it was cut short for the sake of time |
"""

import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any, Final, cast

import msgspec

from bench.crowd import tell
from bench.queue_load import Json, a_door, a_flavor, a_queue, a_workload, lines_of, load_of
from bench.queue_standin import finish, is_running
from growth.api.actions import PatchObject
from growth.api.change import Change, ChangeType, Object
from growth.api.kinds import NAMESPACES, Kind
from growth.api.queue.cluster_queues import ClusterQueueStatus, LocalQueueStatus
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.workload import Workload, WorkloadStatus
from growth.api.settings.model import QueueSettings, Settings
from growth.api.status import Status
from growth.decide.capacity.offering_catalog import OFFERING_CATALOG
from growth.decide.inputs import inputs_at
from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.decider import decide_workloads
from growth.decide.queue.index import QueueIndex
from growth.observe.cache import ClusterCache
from growth.run.runtime import spare_the_collector

_BEGINNING: Final = datetime(2026, 11, 16, 9, tzinfo=UTC)
_SETTINGS: Final = Settings(queue=QueueSettings(enabled=True))
_ENDING: Final = 10  # for each pass
_STEP: Final = timedelta(milliseconds=20)
_LEAST_PASSES, _LEAST_FOR_CELL = 3, 500
_CELL_SECONDS: Final = 60.0
_STATUSES: Final[Mapping[Kind[Any], type[Status]]] = {
    CLUSTER_QUEUES: ClusterQueueStatus,
    LOCAL_QUEUES: LocalQueueStatus,
    WORKLOADS: WorkloadStatus,
}
_KINDS: Final = {kind.name: kind for kind in _STATUSES}


class Cell(msgspec.Struct, frozen=True):
    """One size of the world: so many cohorts, with so many queues each, and workloads that wait."""

    cohorts: int
    queues_each: int
    pending: int


def grid(workloads: int) -> dict[str, Any]:
    """From a tenth of the workloads on, one thing is made larger at a time; at last, all workloads."""
    few = max(_LEAST_FOR_CELL, workloads // 10)
    cells = [
        *(Cell(5, 6, pending) for pending in (max(_LEAST_FOR_CELL, few // 10), few)),
        *(Cell(5, queues, few) for queues in (2, 24)),
        *(Cell(cohorts, 30 // cohorts, few) for cohorts in (1, 30)),
        Cell(5, 6, workloads),
    ]
    rows: list[Json] = []
    for cell in dict.fromkeys(cells):
        rows.append(measure(cell))
        tell(f"    {rows[-1]}")
    return {"admissions_per_second": rows[-1]["admissions_per_second"], "cells": rows}


def measure(cell: Cell, seconds: float = _CELL_SECONDS) -> Json:
    """Let the decider work until nobody waits, or for so long."""
    server = Server(cell)
    spare_the_collector()  # as the loop does
    passes: list[float] = []
    first_admissions, spent = 0, 0.0
    while server.is_busy and (spent < seconds or len(passes) < _LEAST_PASSES):
        passes.append(server.pass_once())
        spent += passes[-1]
        if len(passes) == 1:
            first_admissions = server.admissions
    first, *later = passes
    later_admissions = server.admissions - first_admissions
    return {
        "queues": cell.cohorts * cell.queues_each,
        "cohorts": cell.cohorts,
        "pending": cell.pending,
        "first_pass_s": round(first, 3),
        "admissions_per_second": round(later_admissions / sum(later), 1) if later else None,
        "pass_ms": round(1000 * median(later or passes), 2),
        "passes": len(passes),
        "admissions": server.admissions,
        "is_cut": server.is_busy,
    }


class Server:
    """A World, and who changes it: does at once what the decider says, and ends those who run."""

    def __init__(self, cell: Cell) -> None:
        self.admissions = 0
        self._now = _BEGINNING
        self._world = ClusterCache(lambda: self._now, queues=True)
        self._memory = QueueCarry()
        self._index = QueueIndex()
        self._listeners = self._world.listeners()
        self._version = 0
        self._running: dict[str, Workload] = {}
        lines = lines_of(cell.cohorts, cell.queues_each)
        self._put(RESOURCE_FLAVORS, a_flavor())
        for line in lines:
            self._put(NAMESPACES, {"metadata": {"name": line.name}})
            self._put(CLUSTER_QUEUES, a_queue(line))
            self._put(LOCAL_QUEUES, a_door(line))
        load = load_of(cell.pending, lines)
        self._waiting = {planned.name for planned in load}
        for planned in load:
            made = a_workload(planned)
            self._put(WORKLOADS, {**made, "metadata": {**made["metadata"], "namespace": planned.line.name}})

    @property
    def is_busy(self) -> bool:
        """Whether somebody waits."""
        return bool(self._waiting)

    def pass_once(self) -> float:
        """One pass and what follows of it; the seconds that were spent on deciding."""
        self._now += _STEP
        snapshot = self._world.snapshot(self._now)
        inputs = inputs_at(snapshot, _SETTINGS, (OFFERING_CATALOG,), carry=self._memory, index=self._index)
        began = time.thread_time()
        self._index.advance(snapshot, _SETTINGS)
        decision = decide_workloads(inputs)
        spent = time.thread_time() - began
        self._memory = decision.carry
        # Ended before what is new is done: nobody runs for no time at all.
        for workload in list(self._running.values())[:_ENDING]:
            self._do(WORKLOADS, workload, finish(workload, self._now))
        for said in decision.said:
            if isinstance(said, PatchObject) and said.subject.kind in _KINDS:
                kind = _KINDS[said.subject.kind]
                known = self._world.tables[kind][said.subject.namespace, said.subject.name]
                if said.resource_version in (None, known.metadata.resource_version):
                    self._do(kind, known, said.body)
        return spent

    def _do(self, kind: Kind[Any], known: Any, body: Json) -> None:  # noqa: ANN401 - any kind of object
        """A change of a status, as the API server would make it."""
        self._version += 1
        after = _merged(msgspec.to_builtins(known.status), body["status"])
        status: object = msgspec.convert(after, _STATUSES[kind], strict=False)
        meta = msgspec.structs.replace(known.metadata, resource_version=self._version)
        self._tell(kind, msgspec.structs.replace(known, metadata=meta, status=status), known)

    def _put(self, kind: Kind[Any], manifest: Json) -> None:
        self._version += 1
        meta = {
            "creationTimestamp": _BEGINNING,
            "resourceVersion": str(self._version),
            "uid": f"uid-{self._version}",
            **manifest["metadata"],
        }
        text = msgspec.json.encode({**manifest, "metadata": meta})
        self._tell(kind, msgspec.json.decode(text, type=kind.type, strict=False), None)

    def _tell(self, kind: Kind[Any], now: Object, before: Object | None) -> None:
        happened = ChangeType.ADDED if before is None else ChangeType.MODIFIED
        self._listeners[kind]([Change(happened, now, before)])
        if not isinstance(now, Workload):
            return
        name = now.metadata.name
        if not is_running(now):
            self._running.pop(name, None)
        else:
            self.admissions += name not in self._running
            self._running[name] = now
            self._waiting.discard(name)


def _merged(there: Json, patch: Json) -> Json:
    """A JSON merge patch."""
    after = dict(there)
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        elif isinstance(value, dict):
            after[name] = _merged(after.get(name) or {}, cast("Json", value))
        else:
            after[name] = value
    return after
