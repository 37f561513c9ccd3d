"""Protection of what is in use: a claim stays while an assigned pod names it, a volume while it is bound.

A pod that has ended still holds its claims (seen on 1.36); one that is not assigned yet does not.
"""

from typing import Final

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CLAIMS, PODS, VOLUMES, Resource
from growth_lab.simulator.store import Event, Key, Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.volumes.claims import claims_of
from growth_lab.simulator.work_queue import WorkQueue

CLAIM_PROTECTION: Final = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION: Final = "kubernetes.io/pv-protection"


class Protection:
    """Both controllers: they put the finalizer on where it is missing, and take it off when nobody is left."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._store = store
        self._claims: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync_claim)
        self._volumes: WorkQueue[Key] = WorkQueue(clock, timings.controller_delay, self._sync_volume)
        self._users: dict[Key, dict[Key, None]] = {}
        store.listen(CLAIMS, lambda event: self._hear(event, self._claims, CLAIM_PROTECTION))
        store.listen(VOLUMES, lambda event: self._hear(event, self._volumes, VOLUME_PROTECTION))
        store.listen(PODS, self._hear_pod)
        for pod in store.all(PODS):
            self._hear_pod(Event(0, "ADDED", PODS, pod, None))
        for claim in store.all(CLAIMS):
            self._hear(Event(0, "ADDED", CLAIMS, claim, None), self._claims, CLAIM_PROTECTION)
        for volume in store.all(VOLUMES):
            self._hear(Event(0, "ADDED", VOLUMES, volume, None), self._volumes, VOLUME_PROTECTION)

    def _hear(self, event: Event, queue: WorkQueue[Key], finalizer: str) -> None:
        meta = event.object["metadata"]
        is_leaving, is_protected = "deletionTimestamp" in meta, finalizer in (meta.get("finalizers") or ())
        if event.what != "DELETED" and is_leaving == is_protected:
            queue.add(event.key)

    def _hear_pod(self, event: Event) -> None:
        if event.what == "MODIFIED":
            return  # what a pod names never changes
        for claim in claims_of(event.object):
            users = self._users.setdefault(claim, {})
            if event.what == "ADDED":
                users[event.key] = None
                continue
            users.pop(event.key, None)
            if not users:
                del self._users[claim]
            self._claims.add(claim)

    def _sync_claim(self, key: Key) -> None:
        claim = self._store.get(CLAIMS, key[1], key[0])
        if claim is None:
            return
        pods = (self._store.get(PODS, name, namespace) for namespace, name in self._users.get(key, ()))
        is_used = any(pod is not None and pod["spec"].get("nodeName") for pod in pods)
        self._guard(CLAIMS, key, claim, CLAIM_PROTECTION, is_used=is_used)

    def _sync_volume(self, key: Key) -> None:
        volume = self._store.get(VOLUMES, key[1])
        if volume is not None:
            is_used = part(volume, "status").get("phase") == "Bound"
            self._guard(VOLUMES, key, volume, VOLUME_PROTECTION, is_used=is_used)

    def _guard(self, resource: Resource, key: Key, thing: Json, finalizer: str, *, is_used: bool) -> None:
        meta = thing["metadata"]
        finalizers: list[str] = list(meta.get("finalizers") or ())
        if "deletionTimestamp" not in meta:
            if finalizer in finalizers:
                return
            finalizers.append(finalizer)
        elif finalizer in finalizers and not is_used:
            finalizers.remove(finalizer)
        else:
            return
        self._store.patch(resource, key[1], key[0], {"metadata": {"finalizers": finalizers or None}})
