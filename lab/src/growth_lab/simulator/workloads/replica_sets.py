"""ReplicaSets: as many pods as asked for. A pod that ended or was deleted is replaced at once, gone or not."""

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import PODS, REPLICA_SETS
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue
from growth_lab.simulator.workloads.owned_pods import Families, Family
from growth_lab.simulator.workloads.pod_deletion_order import victims
from growth_lab.simulator.workloads.pod_from_template import pod_from_template
from growth_lab.simulator.workloads.pod_state import is_available, ready_since


class ReplicaSets:
    """The controller."""

    def __init__(self, clock: Clock, store: Store, timings: Timings, families: Families) -> None:
        self._clock, self._store, self._families = clock, store, families
        self._queue: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync)
        families.follow(REPLICA_SETS.kind, self._queue.add)
        store.listen(REPLICA_SETS, self._hear)
        for known in store.all(REPLICA_SETS):
            self._queue.add(key_of(known))

    def _hear(self, event: Event) -> None:
        if event.what != "DELETED" and is_news(event):
            self._queue.add(event.key)

    def _sync(self, key: Key) -> None:
        replica_set = self._store.get(REPLICA_SETS, key[1], key[0])
        if replica_set is None:
            return
        uid = replica_set["metadata"]["uid"]
        if "deletionTimestamp" not in replica_set["metadata"]:
            self._manage(replica_set, self._families.of(uid))
        self._write_status(replica_set, self._families.of(uid))

    def _manage(self, replica_set: Json, family: Family) -> None:
        missing = replica_set["spec"].get("replicas", 1) - family.active
        for _ in range(missing):
            self._store.create(PODS, pod_from_template(replica_set["spec"]["template"], replica_set, REPLICA_SETS))
        if missing < 0:
            for pod in victims(family.active_pods(), -missing, self._clock.now()):
                delete_pod(self._store, pod)

    def _write_status(self, replica_set: Json, family: Family) -> None:
        meta = replica_set["metadata"]
        status = {
            "replicas": family.active,
            "fullyLabeledReplicas": family.active or None,
            "readyReplicas": family.ready or None,
            "availableReplicas": self._available(replica_set, family) or None,
            "terminatingReplicas": family.terminating,
            "observedGeneration": meta["generation"],
        }
        self._store.patch(REPLICA_SETS, meta["name"], meta["namespace"], {"status": status})

    def _available(self, replica_set: Json, family: Family) -> int:
        wanted_seconds = replica_set["spec"].get("minReadySeconds", 0)
        if not wanted_seconds:
            return family.ready
        now = self._clock.now()
        pods = family.active_pods()
        available = sum(is_available(pod, wanted_seconds, now) for pod in pods)
        waits = [
            wanted_seconds - (now - since).total_seconds() for pod in pods if (since := ready_since(pod)) is not None
        ]
        soonest = min((seconds for seconds in waits if seconds > 0), default=None)
        if soonest is not None:
            self._queue.add_after(key_of(replica_set), soonest)
        return available


def is_news(event: Event) -> bool:
    """Whether an owner was changed by somebody else: a status is what its controller wrote itself."""
    now, before = event.object["metadata"], (event.before or {}).get("metadata")
    return (
        before is None
        or now["generation"] != before["generation"]
        or now.get("deletionTimestamp") != before.get("deletionTimestamp")
    )
