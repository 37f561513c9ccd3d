"""All pods by who controls them, with the counts that controllers ask for: one look per event, none per question."""

from collections.abc import Callable
from typing import Final

from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import PODS
from growth_lab.simulator.store import Event, Key, Store
from growth_lab.simulator.workloads.pod_state import PodState, controller_of, state_of

Told = Callable[[Key], None]
"""Hears the namespace and name of an owner whose pods changed in a way that matters."""


class Family:
    """The pods of one owner."""

    __slots__ = ("active", "pods", "ready", "states", "terminating")

    def __init__(self) -> None:
        self.pods: dict[Key, Json] = {}
        self.states: dict[Key, PodState] = {}
        self.active = self.ready = self.terminating = 0

    def active_pods(self) -> list[Json]:
        """Those that count as replicas."""
        return [self.pods[key] for key, state in self.states.items() if state.is_active]

    def note(self, key: Key, pod: Json) -> bool:
        """A pod is new or has changed; whether that changes its state."""
        self.pods[key] = pod
        state, before = state_of(pod), self.states.get(key)
        if state == before:
            return False
        if before is not None:
            self._count(before, -1)
        self.states[key] = state
        self._count(state, 1)
        return True

    def drop(self, key: Key) -> None:
        """A pod is gone."""
        del self.pods[key]
        self._count(self.states.pop(key), -1)

    def _count(self, state: PodState, by: int) -> None:
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
        pod, before = event.object, event.before
        owner = controller_of(pod)
        was = controller_of(before) if before is not None else None
        if was is not None and (event.what == "DELETED" or owner is None or owner["uid"] != was["uid"]):
            self._leave(was["uid"], event.key)
            self._tell(was, event.key)
        if owner is None or event.what == "DELETED":
            return
        family = self._families.get(owner["uid"])
        if family is None:
            family = self._families[owner["uid"]] = Family()
        is_news = family.note(event.key, pod)
        if is_news or before is None or _is_described_anew(pod["metadata"], before["metadata"]):
            self._tell(owner, event.key)

    def _leave(self, uid: str, key: Key) -> None:
        family = self._families[uid]
        family.drop(key)
        if not family.pods:
            del self._families[uid]

    def _tell(self, owner: Json, pod: Key) -> None:
        told = self._told.get(owner["kind"])
        if told is not None:
            told((pod[0], owner["name"]))


def _is_described_anew(now: Json, before: Json) -> bool:
    return now.get("labels") != before.get("labels") or now.get("finalizers") != before.get("finalizers")
