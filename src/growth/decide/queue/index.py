"""What the queue sees, indexed: queues with their quota, workloads, jobs and pods, and who holds how much.

All of it follows from the objects alone. ``QueueIndex.advance`` changes it, once before each pass, and costs as much as
has changed; to build it anew comes to the same. In a pass it is only read, but for quota that is given tentatively
(``QuotaLedger``).
"""

from collections.abc import Iterable
from typing import Generic

import msgspec

from growth.api.change import ObjectT
from growth.api.queue.job import QUEUED_JOBS, QueuedJob
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.pod import QUEUED_PODS, QueuedPod
from growth.api.queue.workload import Workload
from growth.api.settings.model import Settings
from growth.decide.queue.held_quota import holder_of, unknown_usage_of
from growth.decide.queue.queue_config import QueueConfig, config_in, members_of, terms_of
from growth.decide.queue.quota_holders import QuotaHolder
from growth.decide.queue.quota_tree import QuotaNode
from growth.decide.queue.unplaced_flavors import FlavorRefusals
from growth.observe.snapshot import Snapshot
from growth.observe.table import Key, Table


class ObjectsByUid(Generic[ObjectT]):
    """Objects by uid."""

    def __init__(self) -> None:
        self.by_uid: dict[str, ObjectT] = {}
        self._seen: dict[Key, ObjectT] = {}
        self._heard = TableVersion()

    def call(self, table: Table[ObjectT]) -> set[str]:
        """See what is there now; the uids of whoever came, changed or went."""
        changed: set[str] = set()
        for key in self._heard.news(table, self._seen):
            before, now = self._seen.pop(key, None), table.get(key)
            if before is not None and before is not now:
                changed.add(before.metadata.uid)
                del self.by_uid[before.metadata.uid]
            if now is not None:
                self._seen[key] = now
                if before is not now:
                    changed.add(now.metadata.uid)
                    self.by_uid[now.metadata.uid] = now
        return changed


class TableVersion:
    """How much of a table was heard."""

    def __init__(self) -> None:
        self._table = self._changes = 0

    def news(self, table: Table[ObjectT], known: Iterable[Key]) -> set[Key]:
        """Of whom something was heard since: everybody, known or there, if nobody can tell."""
        recent = table.since(self._changes) if self._table == table.number else None
        self._table, self._changes = table.number, table.observed
        return {*known, *table} if recent is None else recent


class IndexChanges(msgspec.Struct, frozen=True, eq=False):
    """What one advance found changed."""

    workloads: frozenset[Key] = frozenset()
    """Workloads that came or changed."""
    gone: frozenset[Key] = frozenset()
    owners: frozenset[str] = frozenset()
    """Jobs and pods that came, changed or went, and those whose workloads are gone, by uid."""
    queues: frozenset[str] = frozenset()
    """Queues of whose quota more or less is held."""
    is_rebuilt: bool = False
    """Whether all was worked out anew, because what holds for everybody is different."""
    is_other_usage_unknown: bool = False
    """Whether ``QueueIndex.unknown_usage`` is different."""


class QueueIndex:
    """Queues, workloads, jobs and pods as they were seen last."""

    def __init__(self) -> None:
        self.jobs = ObjectsByUid[QueuedJob]()
        self.pods = ObjectsByUid[QueuedPod]()
        self.changes = IndexChanges()
        self.previous = self.changes
        """The changes of the advance before. Who saw the index then has missed ``changes``, and nothing else."""
        self._config: QueueConfig | None = None
        self._clear({})

    def _clear(self, members: dict[str, QuotaNode]) -> None:
        self.members = members
        """Queues by name, with what is held of their quota."""
        self.trees = {name: id(member.root) for name, member in members.items()}
        """Which queues share a tree: those with the same number."""
        self.workloads: dict[Key, Workload] = {}
        self.holders: dict[str, dict[Key, QuotaHolder]] = {}
        """Workloads that hold quota, by queue."""
        self.terminating: set[Key] = set()
        """Workloads that are being deleted, and are still there."""
        self.unknown_usage: dict[Key, tuple[str, str]] = {}
        """Workloads that hold nobody knows how much of a queue's quota: that queue, and a sentence about it."""
        self.refusals = FlavorRefusals()
        self._keys_by_owner: dict[str, tuple[Key, ...]] = {}
        self._holder_by_key: dict[Key, QuotaHolder] = {}
        self._version = TableVersion()

    @property
    def config(self) -> QueueConfig:
        """What holds for all workloads."""
        if self._config is None:
            raise RuntimeError("the index was never advanced to a snapshot")
        return self._config

    def key_of(self, uid: str) -> Key | None:
        """Return the workload that stands for the job or pod with this uid, if there is one."""
        keys = self._keys_by_owner.get(uid)
        return keys[0] if keys else None

    def holder(self, key: Key) -> QuotaHolder | None:
        """Return what a workload was seen to hold."""
        return self._holder_by_key.get(key)

    def advance(self, snapshot: Snapshot, settings: Settings) -> None:
        """Take in what has changed since the last advance."""
        if snapshot.unread:
            return  # A kind that could not be read is no empty one.
        config = config_in(snapshot, settings, self._config)
        is_rebuilt = self._config is None or not config.is_like(self._config)
        self._config = config
        owners = self.jobs.call(snapshot.table(QUEUED_JOBS)) | self.pods.call(snapshot.table(QUEUED_PODS))
        if is_rebuilt:
            self._clear(members_of(snapshot))
            owners |= self.jobs.by_uid.keys() | self.pods.by_uid.keys()
        there, unknown_usage = snapshot.table(WORKLOADS), dict(self.unknown_usage)
        strategy = terms_of(settings.queue).requeuing.timestamp
        changed, gone, queues = set[Key](), set[Key](), set[str]()
        for key in sorted(self._version.news(there, self.workloads)):
            before, now = self.workloads.get(key), there.get(key)
            if before is now:
                continue
            owner = self._leave(key, before) if before is not None else ""
            if now is not None:
                self._enter(key, now)
                changed.add(key)
            else:
                gone.add(key)
                owners |= {owner} - {""}
            queues |= self._hold(key, holder_of(key, now, strategy, snapshot.now) if now is not None else None)
        self.previous, self.changes = (
            self.changes,
            IndexChanges(
                frozenset(changed),
                frozenset(gone),
                frozenset(owners),
                frozenset(queues),
                is_rebuilt,
                unknown_usage != self.unknown_usage,
            ),
        )

    def _enter(self, key: Key, workload: Workload) -> None:
        """Take in a workload as it is now."""
        self.workloads[key] = workload
        self.refusals.hear(key, workload)
        if workload.metadata.deletion_timestamp is not None:
            self.terminating.add(key)
        if (unknown := unknown_usage_of(workload)) is not None:
            self.unknown_usage[key] = unknown
        owner = workload.metadata.controller
        if owner is not None:
            self._keys_by_owner[owner.uid] = tuple(sorted({key, *self._keys_by_owner.get(owner.uid, ())}))

    def _leave(self, key: Key, workload: Workload) -> str:
        """Forget a workload as it was; return the uid of its owner."""
        del self.workloads[key]
        self.refusals.forget(key)
        self.terminating.discard(key)
        self.unknown_usage.pop(key, None)
        owner = workload.metadata.controller
        if owner is None:
            return ""
        others = tuple(one for one in self._keys_by_owner.pop(owner.uid, ()) if one != key)
        if others:
            self._keys_by_owner[owner.uid] = others
        return owner.uid

    def _hold(self, key: Key, holder: QuotaHolder | None) -> set[str]:
        """Note what a workload holds; return the queues of whose quota more or less is held now."""
        before = self._holder_by_key.pop(key, None)
        if holder is not None:
            self._holder_by_key[key] = holder
        if before == holder:
            return set()
        for one, sign in ((before, -1), (holder, 1)):
            if one is None:
                continue
            here = self.holders.setdefault(one.queue, {})
            if sign < 0:
                del here[key]
            else:
                here[key] = one
            if not here:
                del self.holders[one.queue]
            if one.queue in self.members:
                self.members[one.queue].use_all(one.usage, sign)
        return {one.queue for one in (before, holder) if one is not None}


def index_of(snapshot: Snapshot, settings: Settings) -> QueueIndex:
    """Return the index of one snapshot, for those who look once."""
    index = QueueIndex()
    index.advance(snapshot, settings)
    return index
