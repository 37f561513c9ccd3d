"""Jobs that ended and ask to be forgotten after a while (ttlSecondsAfterFinished): deleted after their pods."""

from growth_lab.simulator.clock import Clock, read
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import JOBS
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.work_queue import WorkQueue
from growth_lab.simulator.workloads.jobs import finished_at


class FinishedJobs:
    """The TTL controller."""

    def __init__(self, clock: Clock, store: Store) -> None:
        self._clock, self._store = clock, store
        self._queue: WorkQueue[Key] = WorkQueue(clock, 0, self._sync)
        store.listen(JOBS, self._hear)
        for known in store.all(JOBS):
            self._queue.add(key_of(known))

    def _hear(self, event: Event) -> None:
        if event.what != "DELETED" and event.object["spec"].get("ttlSecondsAfterFinished") is not None:
            self._queue.add(event.key)

    def _sync(self, key: Key) -> None:
        job = self._store.get(JOBS, key[1], key[0])
        if job is None or "deletionTimestamp" in job["metadata"]:
            return
        seconds, ended = job["spec"].get("ttlSecondsAfterFinished"), finished_at(job)
        if seconds is None or ended is None:
            return
        left = seconds - (self._clock.now() - read(ended)).total_seconds()
        if left > 0:
            self._queue.add_after(key, left)
        else:
            self._delete_after_its_pods(job)

    def _delete_after_its_pods(self, job: Json) -> None:
        meta = job["metadata"]
        finalizers = [*(meta.get("finalizers") or ()), "foregroundDeletion"]
        self._store.patch(JOBS, meta["name"], meta["namespace"], {"metadata": {"finalizers": finalizers}})
        self._store.delete(JOBS, meta["name"], meta["namespace"])
