"""The volume binder: brings claims and volumes together, and takes note when a claim is gone.

A claim whose class waits for the first consumer is left alone until the scheduler has either reserved a volume for it
(claimRef) or chosen a node (annotation). Making volumes and destroying them is the provisioner's.
"""

from typing import Final, Literal

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CLAIMS, STORAGE_CLASSES, VOLUMES
from growth_lab.simulator.store import Event, Key, Store, key_of
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.volumes.claims import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    NO_PROVISIONER,
    OLD_PROVISIONER,
    PROVISIONED_BY,
    PROVISIONER,
    annotations_of,
    class_of,
    default_class,
    is_bound,
    is_delayed,
    is_reference_to,
    reference_to,
)
from growth_lab.simulator.volumes.volume_matches import best_volume, satisfies
from growth_lab.simulator.work_queue import WorkQueue

_CLAIM: Final = "claim"
_VOLUME: Final = "volume"


class Binder:
    """The controller."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._clock, self._store = clock, store
        self._queue: WorkQueue[tuple[Literal["claim", "volume"], Key]] = WorkQueue(
            clock, timings.controller_delay, self._sync
        )
        self._unbound: dict[Key, None] = {}
        self._by_class: dict[str, dict[Key, None]] = {}
        store.listen(VOLUMES, self._hear_volume)
        store.listen(CLAIMS, self._hear_claim)
        store.listen(STORAGE_CLASSES, lambda _: self._look_at_unbound())
        for volume in store.all(VOLUMES):
            self._hear_volume(Event(0, "ADDED", VOLUMES, volume, None))
        for claim in store.all(CLAIMS):
            self._hear_claim(Event(0, "ADDED", CLAIMS, claim, None))

    def _hear_volume(self, event: Event) -> None:
        volume = event.object
        known = self._by_class.setdefault(volume["spec"].get("storageClassName") or "", {})
        reference = part(volume, "spec", "claimRef")
        if event.what == "DELETED":
            known.pop(event.key, None)
        else:
            known[event.key] = None
            self._queue.add((_VOLUME, event.key))
        if reference:
            self._queue.add((_CLAIM, (reference.get("namespace", ""), reference["name"])))
        elif part(volume, "status").get("phase") == "Available":
            self._look_at_unbound(volume["spec"].get("storageClassName") or "")

    def _hear_claim(self, event: Event) -> None:
        claim = event.object
        if event.what == "DELETED" or is_bound(claim):
            self._unbound.pop(event.key, None)
        else:
            self._unbound[event.key] = None
        if event.what != "DELETED":
            self._queue.add((_CLAIM, event.key))
        if claim["spec"].get("volumeName"):
            self._queue.add((_VOLUME, ("", claim["spec"]["volumeName"])))

    def _look_at_unbound(self, storage_class: str | None = None) -> None:
        for key in self._unbound:
            claim = self._store.get(CLAIMS, key[1], key[0])
            if claim is not None and storage_class in (None, claim["spec"].get("storageClassName") or ""):
                self._queue.add((_CLAIM, key))

    def _sync(self, item: tuple[Literal["claim", "volume"], Key]) -> None:
        kind, (namespace, name) = item
        thing = self._store.get(CLAIMS if kind == _CLAIM else VOLUMES, name, namespace)
        if thing is None:
            return
        if kind == _VOLUME:
            self._sync_volume(thing)
        elif is_bound(thing):
            self._sync_bound(thing)
        else:
            self._sync_unbound(thing)

    # Claims

    def _sync_unbound(self, claim: Json) -> None:
        name = claim["spec"].get("volumeName")
        if name:
            volume = self._store.get(VOLUMES, name)
            reference = volume["spec"].get("claimRef") if volume is not None else None
            is_free = reference is None or is_reference_to(reference, claim)
            if volume is not None and is_free and satisfies(volume, claim):
                self._bind(volume, claim)
            else:
                self._set_claim(claim, {"status": {"phase": "Pending"}})
            return
        if claim["spec"].get("storageClassName") is None and (default := default_class(self._store)) is not None:
            claim = self._set_claim(claim, {"spec": {"storageClassName": default}})
        is_waiting = is_delayed(self._store, claim)
        volume = best_volume(claim, self._volumes_for(claim), only_reserved=is_waiting)
        if volume is not None:
            self._bind(volume, claim)
            return
        changes: Json = {"status": {"phase": "Pending"}}
        known = class_of(self._store, claim)
        if known is not None and not is_waiting and known["provisioner"] != NO_PROVISIONER:
            marks = {PROVISIONER: known["provisioner"], OLD_PROVISIONER: known["provisioner"]}
            changes["metadata"] = {"annotations": marks}
        self._set_claim(claim, changes)

    def _volumes_for(self, claim: Json) -> list[Json]:
        keys = self._by_class.get(claim["spec"].get("storageClassName") or "", {})
        found = (self._store.get(VOLUMES, name) for _, name in keys)
        return [volume for volume in found if volume is not None]

    def _sync_bound(self, claim: Json) -> None:
        volume = self._store.get(VOLUMES, claim["spec"].get("volumeName") or "")
        reference = volume["spec"].get("claimRef") if volume is not None else None
        if volume is None or (reference is not None and not is_reference_to(reference, claim)):
            self._set_claim(claim, {"status": {"phase": "Lost", "capacity": None, "accessModes": None}})
        else:
            self._bind(volume, claim)

    def _bind(self, volume: Json, claim: Json) -> None:
        """First the volume says whose it is, then the claim what it got: whoever sees the claim may use it."""
        name, spec = volume["metadata"]["name"], volume["spec"]
        if part(spec, "claimRef").get("uid") != claim["metadata"]["uid"]:
            change: Json = {"spec": {"claimRef": reference_to(claim)}}
            if "claimRef" not in spec:
                change["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: "yes"}}
            self._store.patch(VOLUMES, name, patch=change)
        self._set_phase(name, "Bound")
        marks = {BIND_COMPLETED: "yes"}
        if claim["spec"].get("volumeName") != name:
            marks[BOUND_BY_CONTROLLER] = "yes"
        status = {"phase": "Bound", "accessModes": spec.get("accessModes"), "capacity": spec.get("capacity")}
        self._set_claim(claim, {"metadata": {"annotations": marks}, "spec": {"volumeName": name}, "status": status})

    # Volumes

    def _sync_volume(self, volume: Json) -> None:
        name, reference = volume["metadata"]["name"], part(volume, "spec", "claimRef")
        if not reference.get("uid"):
            self._set_phase(name, "Available")
            return
        claim = self._store.get(CLAIMS, reference["name"], reference.get("namespace", ""))
        if claim is None or claim["metadata"]["uid"] != reference["uid"]:
            if part(volume, "status").get("phase") != "Failed":
                self._set_phase(name, "Released")
        elif claim["spec"].get("volumeName") == name:
            self._set_phase(name, "Bound")
        elif claim["spec"].get("volumeName"):
            self._unbind(volume)

    def _unbind(self, volume: Json) -> None:
        """The claim took another volume: this one is free again, or goes if it was made for the claim."""
        name = volume["metadata"]["name"]
        marks = annotations_of(volume)
        if PROVISIONED_BY in marks and volume["spec"].get("persistentVolumeReclaimPolicy") == "Delete":
            self._set_phase(name, "Released")
        elif BOUND_BY_CONTROLLER in marks:
            marks = {BOUND_BY_CONTROLLER: None}
            self._store.patch(VOLUMES, name, patch={"metadata": {"annotations": marks}, "spec": {"claimRef": None}})
        else:
            self._store.patch(VOLUMES, name, patch={"spec": {"claimRef": {"uid": None, "resourceVersion": None}}})

    # Writing

    def _set_phase(self, name: str, phase: str) -> None:
        volume = self._store.get(VOLUMES, name)
        if volume is not None and part(volume, "status").get("phase") != phase:
            status = {"phase": phase, "lastPhaseTransitionTime": self._clock.stamp()}
            self._store.patch(VOLUMES, name, patch={"status": status})

    def _set_claim(self, claim: Json, patch: Json) -> Json:
        namespace, name = key_of(claim)
        return self._store.patch(CLAIMS, name, namespace, patch)
