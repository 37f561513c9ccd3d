"""On which flavors plans had no place for which pods, as it is noted on workloads.

What holds for one job holds for all whose pods are alike: otherwise each of a thousand would be admitted, and evicted,
to find out the same.
"""

from collections.abc import Hashable

from growth.api.queue.workload import Workload
from growth.decide.queue.failed_flavors import supplies_seen_by
from growth.decide.queue.quota_holders import Key


class FlavorRefusals:
    """All that is noted."""

    def __init__(self) -> None:
        self.by_key: dict[Key, frozenset[str]] = {}
        self._likes: dict[Key, Hashable] = {}
        self._by_likes: dict[Hashable, dict[Key, frozenset[str]]] = {}

    @property
    def flavors(self) -> frozenset[str]:
        """Every flavor that is noted on a workload."""
        return frozenset[str]().union(*self.by_key.values())

    def hear(self, key: Key, workload: Workload) -> None:
        """A workload as it is seen now."""
        self.forget(key)
        flavors = frozenset(supplies_seen_by(workload))
        if flavors and not workload.is_finished:
            likes = _likes(workload)
            self.by_key[key], self._likes[key] = flavors, likes
            self._by_likes.setdefault(likes, {})[key] = flavors

    def forget(self, key: Key) -> None:
        """A workload is gone."""
        if self.by_key.pop(key, None) is None:
            return
        likes = self._likes.pop(key)
        del self._by_likes[likes][key]
        if not self._by_likes[likes]:
            del self._by_likes[likes]

    def of(self, workload: Workload) -> frozenset[str]:
        """The flavors on which there was no place for pods like these."""
        if not self.by_key:
            return frozenset()
        return frozenset[str]().union(*self._by_likes.get(_likes(workload), {}).values())


def _likes(workload: Workload) -> Hashable:
    """What decides on which machines its pods need."""
    sets = tuple((one.name, bytes(one.template), one.count) for one in workload.spec.pod_sets)
    return workload.metadata.namespace, sets, workload.status.reclaimable_pods
