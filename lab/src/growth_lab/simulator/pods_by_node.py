"""Which pods are on which node: one index for all who ask, kept up with every write."""

from collections.abc import Iterator

from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import PODS
from growth_lab.simulator.store import Event, Key, Store, key_of


class PodsByNode:
    """Make it before the controllers that use it: it must hear of a write first."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._keys: dict[str, dict[Key, None]] = {}
        for pod in store.all(PODS):
            self._enter(pod)
        store.listen(PODS, self._hear)

    def on(self, node: str) -> list[Json]:
        """The pods of a node, in the order in which they came there, as they are now."""
        found = [self._store.get(PODS, name, namespace) for namespace, name in self._keys.get(node, ())]
        return [pod for pod in found if pod is not None]

    def nodes(self) -> Iterator[str]:
        """The names of all nodes that have pods, whether they exist or not."""
        return iter(self._keys)

    def is_used(self, node: str) -> bool:
        """Whether any pod is there."""
        return node in self._keys

    def _hear(self, event: Event) -> None:
        if event.before is not None:
            node = event.before.get("spec", {}).get("nodeName", "")
            is_staying = event.what == "MODIFIED" and event.object.get("spec", {}).get("nodeName", "") == node
            if is_staying:
                return
            self._leave(event.before, node)
        if event.what != "DELETED":
            self._enter(event.object)

    def _enter(self, pod: Json) -> None:
        node = pod.get("spec", {}).get("nodeName", "")
        if node:
            self._keys.setdefault(node, {})[key_of(pod)] = None

    def _leave(self, pod: Json, node: str) -> None:
        there = self._keys.get(node)
        if there is not None and there.pop(key_of(pod), 0) is None and not there:
            del self._keys[node]
