"""Namespaces: which ones there are from the start, that nothing new enters one that ends, and how it is emptied."""

from typing import Final

from growth_lab.simulator.api.error_responses import Cause, forbidden, not_found
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.merge_patch import merged
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import ALL, NAMESPACES, PODS, Resource
from growth_lab.simulator.store import Event, Store
from growth_lab.simulator.timings import Timings

FROM_THE_START: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
# What is held by finalizers or given time is looked at again and again, less and less often.
_LONGEST_PAUSE_SECONDS: Final = 5.0
_NAMESPACED: Final = tuple(resource for resource in ALL if resource.is_namespaced)


def check_may_enter(store: Store, resource: Resource, namespace: str, name: str) -> None:
    """Whether something new may be made there. Raises Refusal."""
    found = store.get(NAMESPACES, namespace)
    if found is None:
        raise not_found(NAMESPACES, namespace)
    if "deletionTimestamp" in found["metadata"]:
        cause = Cause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
        why = f"unable to create new content in namespace {namespace} because it is being terminated"
        raise forbidden(resource, name, why, [cause])


class NamespaceEnd:
    """Empties every namespace that is to go, then lets it go."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._clock, self._store, self._timings = clock, store, timings
        self._ending: set[str] = set()
        store.listen(NAMESPACES, self._heard)
        for name in FROM_THE_START:
            if store.get(NAMESPACES, name) is None:
                store.create(NAMESPACES, {"metadata": {"name": name}})

    def begin(self, name: str) -> None:
        """Mark a namespace as ending."""
        marks = {"deletionTimestamp": self._clock.stamp()}
        self._store.patch(NAMESPACES, name, patch={"metadata": marks, "status": {"phase": "Terminating"}})

    def _heard(self, event: Event) -> None:
        name = event.object["metadata"]["name"]
        if event.what == "DELETED":
            self._ending.discard(name)
        elif "deletionTimestamp" in event.object["metadata"] and name not in self._ending:
            self._ending.add(name)
            self._look_after(name, self._timings.namespace_delay)

    def _look_after(self, name: str, pause: float) -> None:
        self._clock.after(pause, lambda: self._empty(name, pause))

    def _empty(self, name: str, pause: float) -> None:
        namespace = self._store.get(NAMESPACES, name)
        if namespace is None or "deletionTimestamp" not in namespace["metadata"]:
            return
        for resource in _NAMESPACED:
            for thing in list(self._store.all(resource, name)):
                if resource is PODS:
                    delete_pod(self._store, thing)
                elif self._store.get(resource, thing["metadata"]["name"], name) is not None:
                    self._store.delete(resource, thing["metadata"]["name"], name)
        if any(True for resource in _NAMESPACED for _ in self._store.all(resource, name)):
            self._look_after(name, min(2 * pause, _LONGEST_PAUSE_SECONDS))
        else:
            self._store.replace(NAMESPACES, merged(namespace, {"spec": {"finalizers": None}}))
