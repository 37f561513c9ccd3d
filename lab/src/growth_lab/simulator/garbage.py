"""What goes with its owner: the garbage collector, in the background, in the foreground, or not at all.

Everything that names owners is kept by owner. An owner that is gone takes its dependents along, a moment later; one
that carries ``foregroundDeletion`` waits until those are gone that block it; one with ``orphan`` lets them go.
"""

from typing import Final, NamedTuple

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import ALL, PODS, Resource
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"

_KINDS: Final = {(resource.api_version, resource.kind): resource for resource in ALL}


class _Place(NamedTuple):
    resource: Resource
    key: Key


class _Owners(NamedTuple):
    """The owner references of one thing, by what is known of the owner."""

    solid: list[Json]
    gone: list[Json]
    waiting: list[Json]
    """Deleted in the foreground: they wait for this thing."""


class Garbage:
    """The collector."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._store = store
        self._queue: WorkQueue[str] = WorkQueue(clock, timings.garbage_delay, self._look_at)
        self._places: dict[str, _Place] = {}
        self._dependents: dict[str, dict[str, None]] = {}
        for resource in ALL:
            for thing in store.all(resource):
                self._link(resource, thing)
        for resource in ALL:
            for thing in store.all(resource):
                self._notice(thing)
            store.listen(resource, self._hear)

    def _hear(self, event: Event) -> None:
        now, before = event.object, event.before
        meta = now["metadata"]
        if event.what == "DELETED":
            self._forget(now)
            return
        if before is None:
            self._link(event.resource, now)
        else:
            old = before["metadata"]
            if meta.get("ownerReferences") != old.get("ownerReferences"):
                self._unlink(before)
                self._link(event.resource, now)
            elif "deletionTimestamp" not in meta or meta.get("finalizers") is None:
                return
        self._notice(now)

    def _link(self, resource: Resource, thing: Json) -> None:
        uid = thing["metadata"]["uid"]
        self._places[uid] = _Place(resource, key_of(thing))
        for reference in parts(thing["metadata"], "ownerReferences"):
            self._dependents.setdefault(reference["uid"], {})[uid] = None

    def _unlink(self, thing: Json) -> None:
        uid = thing["metadata"]["uid"]
        for reference in parts(thing["metadata"], "ownerReferences"):
            siblings = self._dependents.get(reference["uid"], {})
            siblings.pop(uid, None)
            if not siblings:
                self._dependents.pop(reference["uid"], None)
            owner = self._thing(reference["uid"])
            if owner is not None and _is_waiting(owner):
                self._queue.add(reference["uid"])

    def _forget(self, thing: Json) -> None:
        uid = thing["metadata"]["uid"]
        del self._places[uid]
        self._unlink(thing)
        for dependent in self._dependents.get(uid, {}):
            self._queue.add(dependent)

    def _notice(self, thing: Json) -> None:
        """Look again at what lost an owner, or is to be deleted in a special way."""
        meta = thing["metadata"]
        if "deletionTimestamp" in meta:
            if _finalizers(thing) & {FOREGROUND, ORPHAN}:
                self._queue.add(meta["uid"])
        elif "ownerReferences" in meta:
            owners = self._owners_of(thing)
            if owners.gone or owners.waiting:
                self._queue.add(meta["uid"])

    # Looking

    def _look_at(self, uid: str) -> None:
        thing = self._thing(uid)
        if thing is None:
            return
        finalizers = _finalizers(thing)
        if "deletionTimestamp" in thing["metadata"]:
            if ORPHAN in finalizers:
                self._let_go(uid, thing)
            elif FOREGROUND in finalizers:
                self._wait_for_dependents(uid, thing)
            return
        owners = self._owners_of(thing)
        if not owners.gone and not owners.waiting:
            return
        if owners.solid:
            self._patch(thing, {"ownerReferences": owners.solid})
        elif (owners.waiting and uid in self._dependents) or FOREGROUND in finalizers:
            self._delete(thing, FOREGROUND)
        else:
            self._delete(thing, ORPHAN if ORPHAN in finalizers else None)

    def _let_go(self, uid: str, thing: Json) -> None:
        for dependent in list(self._dependents.get(uid, {})):
            known = self._thing(dependent)
            if known is not None:
                owners = parts(known["metadata"], "ownerReferences")
                others = [reference for reference in owners if reference["uid"] != uid]
                self._patch(known, {"ownerReferences": others or None})
        self._remove_finalizer(thing, ORPHAN)

    def _wait_for_dependents(self, uid: str, thing: Json) -> None:
        is_blocked = False
        for dependent in list(self._dependents.get(uid, {})):
            known = self._thing(dependent)
            if known is None:
                continue
            is_blocked |= any(
                reference["uid"] == uid and reference.get("blockOwnerDeletion")
                for reference in parts(known["metadata"], "ownerReferences")
            )
            if "deletionTimestamp" not in known["metadata"]:
                self._queue.add(dependent)
        if not is_blocked:
            self._remove_finalizer(thing, FOREGROUND)

    # Reading

    def _thing(self, uid: str) -> Json | None:
        place = self._places.get(uid)
        if place is None:
            return None
        thing = self._store.get(place.resource, place.key[1], place.key[0])
        return thing if thing is not None and thing["metadata"]["uid"] == uid else None

    def _owners_of(self, thing: Json) -> _Owners:
        owners = _Owners([], [], [])
        for reference in parts(thing["metadata"], "ownerReferences"):
            owner = self._thing(reference["uid"])
            if (reference["apiVersion"], reference["kind"]) not in _KINDS:
                owners.solid.append(reference)  # nobody here can say that it is gone
            elif owner is None or key_of(owner)[0] not in ("", key_of(thing)[0]):
                owners.gone.append(reference)
            else:
                (owners.waiting if _is_waiting(owner) else owners.solid).append(reference)
        return owners

    # Writing

    def _delete(self, thing: Json, finalizer: str | None) -> None:
        if finalizer is not None and finalizer not in _finalizers(thing):
            thing = self._patch(thing, {"finalizers": [*(thing["metadata"].get("finalizers") or ()), finalizer]})
        place = self._places[thing["metadata"]["uid"]]
        if place.resource is PODS:
            delete_pod(self._store, thing)
        else:
            self._store.delete(place.resource, place.key[1], place.key[0])

    def _remove_finalizer(self, thing: Json, finalizer: str) -> None:
        others = [name for name in thing["metadata"]["finalizers"] if name != finalizer]
        self._patch(thing, {"finalizers": others or None})

    def _patch(self, thing: Json, meta: Json) -> Json:
        place = self._places[thing["metadata"]["uid"]]
        return self._store.patch(place.resource, place.key[1], place.key[0], {"metadata": meta})


def _finalizers(thing: Json) -> set[str]:
    return set(thing["metadata"].get("finalizers") or ())


def _is_waiting(owner: Json) -> bool:
    return "deletionTimestamp" in owner["metadata"] and FOREGROUND in _finalizers(owner)
