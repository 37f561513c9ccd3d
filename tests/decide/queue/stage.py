"""A stage for the queue: manifests, the real decider, and a server that takes what it says. No loop, no time, no luck.

``Stage.look`` asks the decider; ``Stage.take`` does one thing that it said, as the API server would (a version that has
changed is a conflict); ``Stage.settle`` does both until there is nothing left to do. Jobs are played by ``play_jobs``.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any, Final, cast

import msgspec

from growth.api.actions import (
    Action,
    CreateObject,
    DeleteObject,
    EditObject,
    Hold,
    PatchObject,
    Precondition,
    RecordEvent,
)
from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.interning import InternTables
from growth.api.kinds import NAMESPACES, NODES, PERSISTENT_VOLUME_CLAIMS, PODS, PRIORITY_CLASSES, Kind
from growth.api.provider_state import ProviderState
from growth.api.queue.cluster_queues import ClusterQueue, LocalQueue
from growth.api.queue.job import QUEUED_JOBS, QueuedJob
from growth.api.queue.kinds import (
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
    WORKLOADS,
)
from growth.api.queue.kueue_installation import KUEUES_OWN
from growth.api.queue.pod import GATE, MANAGED, QUEUED_PODS, QueuedPod
from growth.api.queue.pod_defaults import FILLING_KINDS
from growth.api.queue.workload import QUEUE_NAME, QUOTA_RESERVED, Workload
from growth.api.settings.model import QueueSettings, Settings
from growth.api.settings.queue import RequeuingStrategySettings, WaitForPodsReadySettings
from growth.decide.contract import Decision, Fact
from growth.decide.facts.gangs import GangFindings
from growth.decide.queue.backlog import QueueBacklog
from growth.decide.queue.carry import QueueCarry
from growth.decide.queue.decider import CAPABILITY
from growth.decide.queue.index import QueueIndex
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from growth.observe.table import Table
from growth.observe.table_index import TableIndex, terminating_nodes
from tests.builders import Json, uid_of
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)

NOW: Final = datetime(2026, 3, 2, 9, tzinfo=UTC)
KINDS: Final[tuple[Kind[Any], ...]] = (
    NAMESPACES,
    PRIORITY_CLASSES,
    QUEUED_JOBS,
    QUEUED_PODS,
    RESOURCE_FLAVORS,
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    WORKLOADS,
    WORKLOAD_PRIORITY_CLASSES,
    *FILLING_KINDS,
    *KUEUES_OWN,
    PERSISTENT_VOLUME_CLAIMS,
    NODE_POOLS,
    NODE_REQUESTS,
    NODE_REMOVAL_REQUESTS,
    NODES,
    PODS,
)
# Actions about pods are about those that wait in a queue: the last of the same name counts.
_BY_NAME: Final = {kind.name: kind for kind in (*KINDS, QUEUED_PODS)}
_INDEXED: Final = frozenset({NODES, PODS})
_READERS: Final[dict[Kind[Any], Reader[Any]]] = {}
_EMPTY: Final = ClusterCache().snapshot(NOW)
_SEEN: Final[dict[int, tuple[Json, Any]]] = {}

Id = tuple[Kind[Any], str, str]
Objects = Mapping[Id, Json]
Tables = dict[Kind[Any], Table[Any]]


def settings(
    *,
    wait: bool = True,
    extend: bool = False,
    block: bool = False,
    preemptors_first: bool = False,
    **strategy: Any,  # noqa: ANN401
) -> Settings:
    """Pods must be ready within five minutes; ``strategy`` are settings of the requeuing strategy."""
    requeuing = RequeuingStrategySettings(**strategy)
    waiting = WaitForPodsReadySettings(enable=wait, block_admission=block, requeuing_strategy=requeuing)
    queue = QueueSettings(
        enabled=True,
        extend_while_provisioning=extend,
        waiting_preemptors_first=preemptors_first,
        wait_for_pods_ready=waiting,
    )
    return Settings(queue=queue)


def read(kind: Kind[Any], manifest: Json) -> Any:  # noqa: ANN401 - the type follows from the kind
    """A manifest as our informers would hand it on."""
    if kind not in _READERS:
        _READERS[kind] = Reader[Any](kind, InternTables())
    return _READERS[kind].object(msgspec.json.encode(manifest))


def _seen(kind: Kind[Any], manifest: Json) -> Any:  # noqa: ANN401 - the type follows from the kind
    """The very same object as long as nobody has changed it, as an informer has it."""
    known = _SEEN.get(id(manifest))
    if known is None or known[0] is not manifest:
        known = _SEEN[id(manifest)] = (manifest, read(kind, manifest))
    return known[1]


def new_tables() -> Tables:
    return {kind: Table[Any]() for kind in KINDS}


def snapshot_of(objects: Objects, now: datetime, tables: Tables | None = None) -> Snapshot:
    """What one sees of these objects; ``tables`` that know others hear what has changed."""
    tables = new_tables() if tables is None else tables
    indexed = ClusterCache(queues=True) if any(kind in _INDEXED for kind, _, _ in objects) else None
    there: dict[Kind[Any], dict[tuple[str, str], Any]] = {kind: {} for kind in KINDS}
    for (kind, namespace, name), manifest in objects.items():
        if indexed is not None and kind in _INDEXED:
            indexed.listeners()[kind]([Change(ChangeType.ADDED, _seen(kind, manifest), None)])
        else:
            there[kind][namespace, name] = _seen(kind, manifest)
    for kind, table in tables.items():
        _tell(table, there[kind])
    seen = _EMPTY if indexed is None else indexed.snapshot(now)
    removals = TableIndex(tables[NODE_REMOVAL_REQUESTS], terminating_nodes)
    return msgspec.structs.replace(seen, now=now, tables=tables, removals=removals)


def _tell(table: Table[Any], there: Mapping[tuple[str, str], Any]) -> None:
    for key, known in list(table.items()):
        if key not in there:
            table.hear([Change(ChangeType.DELETED, known, known)])
    for key, now in there.items():
        known = table.get(key)
        if known is not now:
            table.hear([Change(ChangeType.ADDED if known is None else ChangeType.MODIFIED, now, known)])


class Stage:
    """Objects as a server has them, and one decider with its memory."""

    def __init__(self, terms: Settings | None = None) -> None:
        self.settings = terms or settings()
        self.now = NOW
        self.objects: dict[Id, Json] = {}
        self.memory: object = None
        self.index = QueueIndex()
        self.findings: GangFindings | None = None
        """What deciders found out on threads, by capability."""
        self.wake_at: datetime | None = None
        self.clouds: dict[str, ProviderState] = {}
        self._tables = new_tables()
        self._version = 0
        self.put(NAMESPACES, {"metadata": {"name": "default", "labels": {"team": "a"}}})

    def put(self, kind: Kind[Any], manifest: Json) -> None:
        """Make an object."""
        meta: Json = manifest["metadata"]
        namespace = meta.get("namespace", "default") if kind.namespaced else ""
        base: Json = {"uid": uid_of(kind.name, meta["name"]), "creationTimestamp": self.now.isoformat()}
        made = {**deepcopy(manifest), "metadata": {**base, **deepcopy(meta), "namespace": namespace}}
        self._write((kind, namespace, meta["name"]), made)
        self.now += timedelta(milliseconds=1)

    def change(self, kind: Kind[Any], name: str, patch: Json) -> None:
        """Somebody patches an object."""
        key = (kind, "default" if kind.namespaced else "", name)
        self._write(key, merged(self.objects[key], patch))

    def drop(self, kind: Kind[Any], name: str) -> None:
        """Somebody deletes an object. A pod takes its workload along, as the garbage collector has it."""
        gone = self.objects.pop((kind, "default" if kind.namespaced else "", name))
        if kind is QUEUED_PODS:
            for key in [key for key, one in self.objects.items() if _owner_of(one) == gone["metadata"]["uid"]]:
                del self.objects[key]

    def _write(self, key: Id, manifest: Json) -> None:
        self._version += 1
        self.objects[key] = {**manifest, "metadata": {**manifest["metadata"], "resourceVersion": str(self._version)}}

    def look(self, objects: Objects | None = None) -> Decision[Any]:
        """Ask the decider, who may see what was there a while ago."""
        seen = snapshot_of(self.objects if objects is None else objects, self.now, self._tables)
        seen = msgspec.structs.replace(seen, clouds=self.clouds)
        whole = self._looking_at_everything(seen)
        decision = self.decided(seen, self.settings)
        mine, theirs = _weight(decision, seen), _weight(whole, seen)
        assert mine == theirs, ([one for one in mine if one not in theirs], [one for one in theirs if one not in mine])
        self.memory, self.wake_at = decision.carry, decision.requeue_at
        return decision

    def decided(self, seen: Snapshot, settings: Settings) -> Decision[Any]:
        """One pass over what is seen."""
        return decide(seen, Given(carry=self.memory, facts=self.facts, index=self.index), settings)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What earlier stages of the pass have found out."""
        return (self.findings,) if self.findings is not None else ()

    def _looking_at_everything(self, seen: Snapshot) -> Decision[Any]:
        """What is decided by whoever does not know what has changed: the same must come of looking only at that."""
        memory = self.memory
        if isinstance(memory, QueueCarry) and memory.backlog is not None:
            memory = msgspec.structs.replace(memory, backlog=QueueBacklog(absent=memory.backlog.absent))
        return decide(seen, Given(carry=memory, facts=self.facts, index=QueueIndex()), self.settings)

    def take(self, said: Action | Hold) -> bool:
        """Do it; False if it is not done because the object has changed, or is gone."""
        if isinstance(said, Hold | RecordEvent):
            return False
        subject = said.subject
        key = (_BY_NAME[subject.kind], subject.namespace, subject.name)
        if isinstance(said, CreateObject):
            if key not in self.objects:
                meta = {**said.body["metadata"], "name": subject.name}
                self.put(key[0], {**said.body, "metadata": meta})
            return True
        there = self.objects.get(key)
        if there is None:
            return False
        version = int(there["metadata"]["resourceVersion"])
        if isinstance(said, DeleteObject):
            self.drop(key[0], subject.name)
            return True
        if isinstance(said, PatchObject):
            if said.resource_version not in (None, version) or not all(map(self._is_given, said.given)):
                return False
            after = merged(there, said.body)
        else:
            assert isinstance(said, EditObject), said
            edited = edit(there, said.operations)
            if edited is None:
                return False
            after = edited
        if after != there:
            self._write(key, after)
        return True

    def _is_given(self, given: Precondition) -> bool:
        subject = given.subject
        there = self.objects.get((_BY_NAME[subject.kind], subject.namespace, subject.name))
        return (int(there["metadata"]["resourceVersion"]) if there is not None else None) == given.resource_version

    def settle(self, *, jobs: bool = True) -> None:
        """Look and do, until there is nothing left to do."""
        for _ in range(30):
            before = dict(self.objects)
            for said in self.look().said:
                self.take(said)
            if jobs:
                self.play_jobs()
            if before == self.objects:
                return
        raise AssertionError(f"it never comes to rest: {self.look().said}")

    def play_jobs(self, *, ready: Iterable[str] = (), only: Iterable[str] | None = None) -> None:
        """Do as the Job controller: pods of who may run are made, those of who may not are gone."""
        names = None if only is None else set(only)
        for key in [one for one in self.objects if one[0] is QUEUED_JOBS and (names is None or one[2] in names)]:
            job: QueuedJob = read(QUEUED_JOBS, self.objects[key])
            if job.ended is None:
                runs, is_ready = not job.spec.suspend, key[2] in ready
                status = {
                    "active": job.spec.pods if runs else 0,
                    "ready": job.spec.pods if runs and (is_ready or job.status.ready) else 0,
                    "startTime": (job.status.start_time or self.now).isoformat() if runs else None,
                }
                after = merged(self.objects[key], {"status": status})
                if after != self.objects[key]:
                    self._write(key, after)

    def end(self, job: str, kind: str = "Complete") -> None:
        """A job has ended."""
        ended = {"active": 0, "ready": 0, "conditions": [{"type": kind, "status": "True", "reason": "Ended"}]}
        self.change(QUEUED_JOBS, job, {"status": ended})

    def wait(self, seconds: float) -> None:
        """Time goes by, and then all comes to rest."""
        self.now += timedelta(seconds=seconds)
        self.settle()

    def workload(self, job: str) -> Workload:
        """The workload of a job."""
        (found,) = [read(*one) for one in self._workloads() if one[1]["metadata"]["name"].startswith(f"job-{job}-")]
        return found

    def workloads(self) -> list[Workload]:
        return [read(*one) for one in self._workloads()]

    def _workloads(self) -> list[tuple[Kind[Any], Json]]:
        return [(kind, manifest) for (kind, _, _), manifest in self.objects.items() if kind is WORKLOADS]

    def job(self, name: str) -> QueuedJob:
        return read(QUEUED_JOBS, self.objects[QUEUED_JOBS, "default", name])

    def pod(self, name: str) -> QueuedPod:
        return read(QUEUED_PODS, self.objects[QUEUED_PODS, "default", name])

    def queue(self, name: str = "all") -> ClusterQueue:
        return read(CLUSTER_QUEUES, self.objects[CLUSTER_QUEUES, "", name])

    def local_queue(self, name: str = "door") -> LocalQueue:
        return read(LOCAL_QUEUES, self.objects[LOCAL_QUEUES, "default", name])

    def says(self, job: str, kind: str) -> tuple[str, str]:
        """What is said of a job's workload: status and reason."""
        condition = self.workload(job).condition(kind)
        return (condition.status, condition.reason) if condition is not None else ("", "")

    def running(self) -> list[str]:
        """The jobs that are not suspended."""
        return sorted(
            name for (kind, _, name), one in self.objects.items() if kind is QUEUED_JOBS and not one["spec"]["suspend"]
        )

    def admitted(self) -> list[str]:
        """The jobs whose workloads hold quota."""
        holders = [one.metadata for one in self.workloads() if one.is_reserving]
        return sorted(meta.controller.name if meta.controller is not None else meta.name for meta in holders)

    # What tests put on it.

    def a_flavor(self, name: str = "any", **spec: Any) -> None:  # noqa: ANN401
        self.put(RESOURCE_FLAVORS, {"metadata": {"name": name}, "spec": spec})

    def a_queue(
        self,
        name: str = "all",
        *,
        cpu: str = "1",
        flavors: Mapping[str, str] | None = None,
        **spec: Any,  # noqa: ANN401
    ) -> None:
        """A ClusterQueue with so much cpu, of one flavor or of several."""
        quotas = [
            {"name": flavor, "resources": [{"name": "cpu", "nominalQuota": amount}]}
            for flavor, amount in (flavors or {"any": cpu}).items()
        ]
        groups = [{"coveredResources": ["cpu"], "flavors": quotas}]
        self.put(
            CLUSTER_QUEUES,
            {"metadata": {"name": name}, "spec": {"resourceGroups": groups, "namespaceSelector": {}, **spec}},
        )

    def a_door(self, name: str = "door", queue: str = "all", **spec: Any) -> None:  # noqa: ANN401
        self.put(LOCAL_QUEUES, {"metadata": {"name": name}, "spec": {"clusterQueue": queue, **spec}})

    def a_pod(self, name: str, *, cpu: str = "1", labels: Mapping[str, str] | None = None, **spec: Any) -> None:  # noqa: ANN401
        """A plain pod, gated as the policy of the chart has it."""
        container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}
        marks = {QUEUE_NAME: "door", MANAGED: "true", **(labels or {})}
        spec = {"containers": [container], "schedulingGates": [{"name": GATE}], **spec}
        meta = {"name": name, "labels": marks}
        self.put(QUEUED_PODS, {"metadata": meta, "spec": spec, "status": {"phase": "Pending"}})

    def a_job(
        self,
        name: str,
        *,
        cpu: str = "1",
        local_queue: str = "door",
        labels: Mapping[str, str] | None = None,
        pods: Json | None = None,
        **spec: Any,  # noqa: ANN401
    ) -> None:
        """A suspended job of one pod; ``pods`` is laid over its template's spec."""
        container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}
        template = {"metadata": {}, "spec": {"containers": [container], "restartPolicy": "Never", **(pods or {})}}
        self.put(
            QUEUED_JOBS,
            {
                "metadata": {"name": name, "labels": {QUEUE_NAME: local_queue, **(labels or {})}},
                "spec": {"suspend": True, "template": template, **spec},
            },
        )


def _weight(decision: Decision[Any], seen: Snapshot) -> list[Action | Hold]:
    """What was decided, without why somebody waits: that is said only of whoever is looked at."""
    found: list[Action | Hold] = []
    for said in decision.said:
        if not isinstance(said, PatchObject) or said.subject.kind != "Workload" or "status" not in said.body:
            found.append(said)
            continue
        there = seen.table(WORKLOADS)[said.subject.namespace, said.subject.name]
        known = _but_waiting(msgspec.to_builtins(there.status.conditions))
        status: Json = {name: value for name, value in said.body["status"].items() if name != "resourceRequests"}
        status["conditions"] = _but_waiting(status.get("conditions", known))
        if status != {"conditions": known}:
            found.append(msgspec.structs.replace(said, body={"status": status}, why=""))
    return sorted(found, key=repr)


def _but_waiting(conditions: Iterable[Json]) -> list[Json]:
    return [one for one in conditions if (one["type"], one["status"]) != (QUOTA_RESERVED, "False")]


def _owner_of(manifest: Json) -> str:
    return next((one["uid"] for one in manifest["metadata"].get("ownerReferences", ())), "")


def a_stage(terms: Settings | None = None, *, cpu: str = "1", **spec: Any) -> Stage:  # noqa: ANN401
    """One flavor, one ClusterQueue, one LocalQueue."""
    stage = Stage(terms)
    stage.a_flavor()
    stage.a_queue(cpu=cpu, **spec)
    stage.a_door()
    return stage


def merged(there: Json, patch: Json) -> Json:
    """A JSON merge patch."""
    after = dict(there)
    for name, value in patch.items():
        if value is None:
            after.pop(name, None)
        elif isinstance(value, dict):
            inside: Json = after.get(name) or {}
            after[name] = merged(inside, cast("Json", value))
        else:
            after[name] = value
    return after


def edit(there: Json, operations: Iterable[Json]) -> Json | None:
    """A JSON patch of objects; None if a test fails or a place is not there."""
    after = deepcopy(there)
    for operation in operations:
        *parents, last = [one.replace("~1", "/").replace("~0", "~") for one in operation["path"].split("/")[1:]]
        inside: Json | None = after
        for name in parents:
            inside = inside.get(name) if inside is not None else None
        if inside is None:
            return None
        if operation["op"] == "add":
            inside[last] = operation["value"]
        elif operation["op"] == "remove" and last in inside:
            del inside[last]
        elif operation["op"] != "test" or inside.get(last) != operation["value"]:
            return None
    return after
