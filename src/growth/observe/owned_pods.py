"""How many pods of each owner are there, whatever became of them: who waits for pods to be made asks for that.

Pods that are not ready, by whom they were made for: whoever waits for its pods asks only for those.

Most pods of a cluster are ready, so this is small, and it is kept up as pods change: nobody has to look through all of
them. A pod that nobody controls stands for itself.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from growth.api.change import Change, ChangeType
from growth.api.pod import Pod


class OwnedPodCounts:
    """Counts by the uid of the controller."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def of(self, uid: str) -> int:
        """How many pods of this owner there are."""
        return self._counts.get(uid, 0)

    def hear(self, changes: Iterable[Change[Pod]]) -> None:
        """Pods came, changed or went."""
        for change in changes:
            if change.before is not None:
                self._count(change.before, -1)
            if change.happened is not ChangeType.DELETED:
                self._count(change.now, 1)

    def _count(self, pod: Pod, sign: int) -> None:
        owner = pod.metadata.controller
        if owner is None:
            return
        count = self._counts.get(owner.uid, 0) + sign
        if count:
            self._counts[owner.uid] = count
        else:
            del self._counts[owner.uid]


_NOBODY: Final[Mapping[str, Pod]] = {}


class UnreadyPods:
    """Pods by the uid of their controller, or by their own, then by uid; those that have ended are left out."""

    def __init__(self) -> None:
        self._pods: dict[str, dict[str, Pod]] = {}

    def of(self, uid: str) -> Mapping[str, Pod]:
        """The pods of this owner, or the pod itself, that are not ready now."""
        return self._pods.get(uid, _NOBODY)

    def hear(self, changes: Iterable[Change[Pod]]) -> None:
        """Pods came, changed or went."""
        for change in changes:
            pod, uid = change.now, change.now.metadata.uid
            owner = pod.metadata.controller
            key = owner.uid if owner is not None else uid
            if change.before is not None and change.before.metadata.controller is not owner:
                before = change.before.metadata.controller
                self._drop(before.uid if before is not None else uid, uid)
            if change.happened is ChangeType.DELETED or pod.is_finished or pod.is_ready:
                self._drop(key, uid)
            else:
                self._pods.setdefault(key, {})[uid] = pod

    def _drop(self, key: str, uid: str) -> None:
        here = self._pods.get(key)
        if here is not None and here.pop(uid, None) is not None and not here:
            del self._pods[key]
