"""All pods by who controls them, with the counts that controllers ask for: one look per event, none per question."""

from collections.abc import Callable
from typing import Final

from growth.sim.merging import Json
from growth.sim.resources import PODS
from growth.sim.store import Event, Key, Store, key_of
from growth.sim.workloads.pod_state import controller_of, state_of

Told = Callable[[Key], None]
"""Hears the namespace and name of an owner whose pods changed in a way that matters."""


class Family:
    """The pods of one owner."""

    __slots__ = ("active", "pods", "ready", "terminating")

    def __init__(self) -> None:
        self.pods: dict[Key, Json] = {}
        self.active = self.ready = self.terminating = 0

    def active_pods(self) -> list[Json]:
        """Those that count as replicas."""
        return [pod for pod in self.pods.values() if state_of(pod).is_active]

    def count(self, pod: Json, by: int) -> None:
        """Add this pod to the counts, or take it off."""
        state = state_of(pod)
        if state.is_active:
            self.active += by
            self.ready += by * state.is_ready
        elif state.is_terminating and state.phase not in ("Succeeded", "Failed"):
            self.terminating += by


NOBODY: Final = Family()


class Families:
    """Follows every pod of the cluster."""

    def __init__(self, store: Store) -> None:
        self._families: dict[str, Family] = {}
        self._told: dict[str, Told] = {}
        store.listen(PODS, self._hear)
        for pod in store.all(PODS):
            self._hear(Event(0, "ADDED", PODS, pod, None))

    def of(self, uid: str) -> Family:
        """The pods that this owner controls."""
        return self._families.get(uid, NOBODY)

    def follow(self, kind: str, told: Told) -> None:
        """Tell whenever a pod of an owner of this kind comes, goes, or changes its state, labels or finalizers."""
        self._told[kind] = told

    def _hear(self, event: Event) -> None:
        now, before = event.object, event.before
        owner = controller_of(now)
        if event.what == "DELETED":
            if owner is not None:
                self._leave(owner["uid"], before or now)
                self._tell(owner, now)
            return
        if before is None:
            if owner is not None:
                self._join(owner["uid"], now)
                self._tell(owner, now)
            return
        was = controller_of(before)
        if was is not None and (owner is None or owner["uid"] != was["uid"]):
            self._leave(was["uid"], before)
            self._tell(was, before)
            was = None
        if owner is None:
            return
        if was is None:
            self._join(owner["uid"], now)
        else:
            family = self._families[owner["uid"]]
            family.pods[key_of(now)] = now
            if not _differs(now, before):
                return
            family.count(before, -1)
            family.count(now, 1)
        self._tell(owner, now)

    def _join(self, uid: str, pod: Json) -> None:
        family = self._families.get(uid)
        if family is None:
            family = self._families[uid] = Family()
        family.pods[key_of(pod)] = pod
        family.count(pod, 1)

    def _leave(self, uid: str, pod: Json) -> None:
        family = self._families[uid]
        del family.pods[key_of(pod)]
        family.count(pod, -1)
        if not family.pods:
            del self._families[uid]

    def _tell(self, owner: Json, pod: Json) -> None:
        told = self._told.get(owner["kind"])
        if told is not None:
            told((pod["metadata"]["namespace"], owner["name"]))


def _differs(now: Json, before: Json) -> bool:
    meta, old = now["metadata"], before["metadata"]
    return (
        state_of(now) != state_of(before)
        or meta.get("labels") != old.get("labels")
        or meta.get("finalizers") != old.get("finalizers")
    )
