"""Who works on what: nodes are divided into shards, and each shard has one worker at a time, by a Lease.

The Leases are there to spread the work and to let no two do the same. That nothing goes wrong if two do, because one
was paused or its clock is wrong, is what every write sees to by itself: it is conditional on what it was decided on.

A Lease is taken when there is something to do in its shard, renewed while there is, and then left to run out: a cluster
in which nothing happens sees no write of ours. Whoever has more to do than it can begin takes no more, and gives up
what it could do last.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum, auto
from hashlib import sha256
from typing import Any, Final

from growth.api.action import Action, CreateObject, PatchObject
from growth.api.memory_objects import SHARD_LABEL, SHARD_LEASES, SHARD_OF, ShardLease, shard_name
from growth.api.references import reference_by_name, reference_to
from growth.api.settings import Settings
from growth.api.timestamp import format_micro_time
from growth.decide.memory.desk import Sight
from growth.observe.snapshot import Snapshot

# Who did not hold a shard's Lease last waits a little, each for another time, so that not all of them try at once.
_SPREAD: Final = timedelta(milliseconds=300)
# With so much to do in its shards a replica takes no more of them; with twice as much, it gives some up.
_ENOUGH: Final = 256


class Standing(Enum):
    """Whose a shard is."""

    MINE = auto()
    FREE = auto()
    OTHERS = auto()


class Shards:
    """All Leases as they are seen now; ``said`` and ``deadlines`` are what comes of it."""

    def __init__(
        self, snapshot: Snapshot, settings: Settings, identity: str, sights: Mapping[int, Sight], needed: Iterable[int]
    ) -> None:
        self.now = snapshot.now
        self.said: list[Action] = []
        self.deadlines: list[datetime] = []
        self._settings, self._election, self._identity = settings, settings.leader_election, identity
        table, shards = snapshot.table(SHARD_LEASES), settings.memory.shards
        self._leases: dict[int, ShardLease | None] = {
            shard: table.get((settings.namespace, shard_name(shard, shards))) for shard in needed
        }
        self.sights = {
            shard: _sight(sights.get(shard), lease, self.now)
            for shard, lease in self._leases.items()
            if lease is not None
        }

    def standing(self, shard: int) -> Standing:
        """Whose it is now."""
        lease = self._leases[shard]
        if lease is None or lease.spec.holder_identity == "":
            return Standing.FREE
        if lease.spec.holder_identity == self._identity:
            return Standing.MINE if self._is_current(lease) else Standing.FREE
        return Standing.FREE if self.now >= self._free_at(shard, lease) else Standing.OTHERS

    def writes_at(self, shard: int, since: datetime) -> datetime:
        """From when on we write down what happened in this shard, unless somebody else did. It is known ``since``."""
        lease = self._leases[shard]
        if lease is None or lease.spec.holder_identity in ("", self._identity):
            return since
        spread = self._share(shard) * _SPREAD
        if self.standing(shard) is Standing.OTHERS:
            return since + timedelta(seconds=1) + 3 * spread
        return since + spread

    def take(self, works: Mapping[int, int]) -> set[int]:
        """Which of these shards, in which there is so much to do, are ours; Leases are taken, renewed and given up."""
        mine, load = set[int](), 0
        for shard in sorted(works):
            if self.standing(shard) is Standing.MINE:
                if load > 2 * _ENOUGH:
                    self._change(shard, _released(self.now), "others have less to do")
                    continue
                mine.add(shard)
                load += works[shard]
                self._renew(shard)
        for shard in sorted(set(works) - mine, key=self._share):
            if load >= _ENOUGH:
                break
            if self._claim(shard):
                load += works[shard]
        return mine

    def _renew(self, shard: int) -> None:
        """Once half of the time is over for which it is good."""
        lease = self._leases[shard]
        if lease is None or lease.spec.renew_time is None:
            return
        half = lease.spec.renew_time + self._election.renew_deadline / 2
        if self.now >= half:
            self._change(shard, {"renewTime": format_micro_time(self.now)}, "there is more to do")
        else:
            self.deadlines.append(half)

    def _claim(self, shard: int) -> bool:
        lease, standing = self._leases[shard], self.standing(shard)
        if lease is None:
            self._create(shard)
            return True
        if standing is Standing.MINE:
            return False  # it is being given up
        is_last_holder = lease.spec.holder_identity in ("", self._identity)
        free_at = self.now if is_last_holder else self._free_at(shard, lease) + self._share(shard) * _SPREAD
        if self.now < free_at:
            self.deadlines.append(free_at)
            return False
        self._change(shard, self._claimed(lease.spec.lease_transitions + 1), "there is something to do")
        return True

    def _create(self, shard: int) -> None:
        name = shard_name(shard, self._settings.memory.shards)
        body = {"metadata": {"labels": {SHARD_LABEL: SHARD_OF}}, "spec": self._claimed(0)}
        subject = reference_by_name(SHARD_LEASES, name, self._settings.namespace)
        why = f"there is something to do in shard {shard}"
        self.said.append(CreateObject(subject=subject, why=why, body=body, if_absent=True))

    def _claimed(self, transitions: int) -> dict[str, Any]:
        seconds = self._election.lease_duration.total_seconds()
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, round(seconds)),
            "acquireTime": format_micro_time(self.now),
            "renewTime": format_micro_time(self.now),
            "leaseTransitions": transitions,
        }

    def _change(self, shard: int, spec: dict[str, Any], why: str) -> None:
        lease = self._leases[shard]
        if lease is None:
            return
        self.said.append(
            PatchObject(
                subject=reference_to(SHARD_LEASES, lease.metadata),
                why=f"shard {shard}: {why}",
                body={"spec": spec},
                resource_version=lease.metadata.resource_version,
            )
        )

    def _is_current(self, lease: ShardLease) -> bool:
        renewed_at = lease.spec.renew_time
        if renewed_at is None:
            return False
        return timedelta(0) <= self.now - renewed_at < self._election.renew_deadline

    def _free_at(self, shard: int, lease: ShardLease) -> datetime:
        """When another one's Lease has run out: counted from when we saw it renewed, by our own clock."""
        return self.sights[shard].since + timedelta(seconds=lease.spec.lease_duration_seconds or 1)

    def _share(self, shard: int) -> float:
        """Between 0 and 1, another one for each replica and shard."""
        return int(sha256(f"{self._identity}/{shard}".encode()).hexdigest()[:4], 16) / 0x10000


def _released(now: datetime) -> dict[str, Any]:
    return {"holderIdentity": None, "renewTime": format_micro_time(now)}


def _sight(before: Sight | None, lease: ShardLease, now: datetime) -> Sight:
    record = (lease.metadata.uid, lease.spec.holder_identity, lease.spec.renew_time, lease.spec.lease_transitions)
    if before is not None and before.record == record and before.since <= now:
        return before
    return Sight(record, now)
