"""How many pods of each owner are there, whatever became of them: who waits for pods to be made asks for that."""

from collections.abc import Iterable

from growth.api.change import Change, Happened
from growth.api.pod import Pod


class Offspring:
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
            if change.happened is not Happened.DELETED:
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
