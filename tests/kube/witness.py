"""A consumer that believes nothing: it replays what an informer tells and refuses whatever breaks the promise."""

from typing import Generic

from growth.api.change import Change, ChangeType, ObjectT


class Witness(Generic[ObjectT]):
    """Each version at most once, nothing after a deletion, ``before`` always what was told before."""

    def __init__(self) -> None:
        self.told: list[tuple[ChangeType, str]] = []
        self.calls = 0
        self._objects: dict[str, ObjectT] = {}
        self._versions: set[tuple[str, int]] = set()
        self._deleted: set[str] = set()

    def __call__(self, changes: list[Change[ObjectT]]) -> None:
        assert changes, "nobody is called for nothing"
        self.calls += 1
        for change in changes:
            self._hear(change)

    def _hear(self, change: Change[ObjectT]) -> None:
        metadata = change.now.metadata
        uid = metadata.uid
        self.told.append((change.happened, metadata.name))
        assert uid not in self._deleted, f"{metadata.name} ({uid}) was told after its deletion"
        assert change.before is self._objects.get(uid), f"{metadata.name}: before is not what was told before"
        if change.happened is ChangeType.DELETED:
            del self._objects[uid]
            self._deleted.add(uid)
            return
        assert (change.happened is ChangeType.ADDED) == (change.before is None)
        version = (uid, metadata.resource_version)
        assert version not in self._versions, f"{metadata.name}: version {metadata.resource_version} was told twice"
        self._versions.add(version)
        self._objects[uid] = change.now

    @property
    def deletions(self) -> int:
        """How many objects were told to be gone."""
        return len(self._deleted)

    @property
    def picture(self) -> dict[str, int]:
        """What the consumer believes to be there: versions by uid."""
        return {uid: item.metadata.resource_version for uid, item in self._objects.items()}
