"""Who works on what: nodes are divided into shards, and each shard has one worker at a time, by a Lease.

The Leases are there to spread the work and to let no two do the same. That nothing goes wrong if two do, because one
was paused or its clock is wrong, is what every write sees to by itself: it is conditional on what it was decided on.

A Lease is taken when there is something to do in its shard, renewed while there is, and then left to run out: a cluster
in which nothing happens sees no write of ours. Whoever has more to do than it can begin lets others go first, and
gives up a shard now and then if it has more of them than its share.

What a replica does last: it gives up the shards that are still its own, so that nobody waits for them to run out.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from enum import Enum, auto
from hashlib import sha256
from typing import Any, Final

from growth.api.actions import Action, CreateObject, PatchObject
from growth.api.node_memory import SHARD_LABEL, SHARD_LEASES, SHARD_OF, ShardLease, shard_name
from growth.api.references import reference_by_name, reference_to
from growth.api.settings.model import Settings
from growth.api.timestamp import format_micro_time
from growth.decide.contract import Decision, Inputs
from growth.decide.node_memory.carry import NodeMemoryCarry, ObservedShard
from growth.observe.snapshot import Snapshot

# Who did not hold a shard's Lease last waits a little, each for another time, so that not all of them try at once.
_SPREAD: Final = timedelta(milliseconds=300)
# A Lease is renewed when this share of its time is over: dozens of them are renewed while there is much to do.
_RENEWED_AFTER: Final = 0.7
# With so much to do in its shards a replica lets others take one that is free; with twice as much, it gives some up.
_ENOUGH: Final = 256
# If nobody takes it within this time, all have enough.
_COURTESY: Final = timedelta(seconds=2)
# So much more than its share of the shards is no reason to move one.
_UNEVEN: Final = 1.25
# Who should write something down is given this long. When thousands of nodes go at once that takes its time, and who
# lost patience would only be told that it is written already: with so much unwritten, others wait as long as a Lease is
# renewed, and a little longer for each where nobody has one.
_OTHERS_FIRST: Final = timedelta(seconds=1)
_MANY: Final = 64
_FOR_EACH: Final = timedelta(milliseconds=10)


class ShardOwnership(Enum):
    """Whose a shard is."""

    MINE = auto()
    FREE = auto()
    OTHERS = auto()


class ShardLeases:
    """All Leases as they are seen now; ``said`` and ``deadlines`` are what comes of it."""

    def __init__(
        self,
        snapshot: Snapshot,
        settings: Settings,
        identity: str,
        sights: Mapping[int, ObservedShard],
        needed: Iterable[int],
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

    def standing(self, shard: int) -> ShardOwnership:
        """Whose it is now."""
        lease = self._leases[shard]
        if lease is None or lease.spec.holder_identity == "":
            return ShardOwnership.FREE
        if lease.spec.holder_identity == self._identity:
            # Also if it has run out: who took it since wrote that down, and until we hear of it two work in vain at
            # worst. Otherwise a stream that lags by more than a Lease is good for would never let us begin.
            return ShardOwnership.MINE
        return ShardOwnership.FREE if self.now >= self._free_at(shard, lease) else ShardOwnership.OTHERS

    def patience(self, shard: int, unwritten: int) -> tuple[timedelta, datetime]:
        """How long we wait for somebody else to write down what happened in this shard, and until when at least, if so
        much is unwritten in all. Who holds the shard or was the last to do so is the first to write."""
        if self.standing(shard) is ShardOwnership.MINE:
            return timedelta(0), self.now
        lease = self._leases[shard]
        wait = _OTHERS_FIRST + 3 * self._share(shard) * _SPREAD
        if unwritten <= _MANY:
            return wait, self.now
        if lease is not None and self.standing(shard) is ShardOwnership.OTHERS:
            return wait, self._free_at(shard, lease)
        return min(wait + unwritten * _FOR_EACH, self._election.lease_duration), self.now

    def take(self, works: Mapping[int, int], behind: Collection[int] = ()) -> set[int]:
        """Which of these shards, in which there is so much to do, are ours; Leases are taken, renewed and given up.

        Those ``behind`` are not renewed: something happened there that others may have heard of, and we have not.
        """
        mine = {shard for shard in works if self.standing(shard) is ShardOwnership.MINE}
        load = sum(works[shard] for shard in mine)
        if load > 2 * _ENOUGH and self._has_too_many(mine, works):
            shard = max(mine)
            self._change(shard, _released(self.now), "others have less to do")
            mine.remove(shard)
        for shard in sorted(mine.difference(behind)):
            self._renew(shard)
        for shard in sorted(set(works) - mine, key=self._share):
            if self._claim(shard, is_busy=load >= _ENOUGH):
                load += works[shard]
        return mine

    def _has_too_many(self, mine: set[int], needed: Iterable[int]) -> bool:
        """Whether it is fair to give one up. If one is free already, others have enough to do or will take that."""
        standings = {shard: self.standing(shard) for shard in needed}
        if ShardOwnership.FREE in standings.values():
            return False
        leases = [self._leases[shard] for shard in standings]
        holders = {lease.spec.holder_identity for lease in leases if lease is not None}
        return len(mine) > _UNEVEN * len(leases) / max(2, len(holders))  # there may be one that has nothing yet

    def _renew(self, shard: int) -> None:
        """Once most of the time is over for which it is good."""
        lease = self._leases[shard]
        if lease is None or lease.spec.renew_time is None:
            return
        due = lease.spec.renew_time + _RENEWED_AFTER * self._election.renew_deadline
        if self.now >= due or self.now < lease.spec.renew_time:
            self._change(shard, {"renewTime": format_micro_time(self.now)}, "there is more to do")
        else:
            self.deadlines.append(due)

    def _claim(self, shard: int, *, is_busy: bool) -> bool:
        lease, standing = self._leases[shard], self.standing(shard)
        if lease is None:
            self._create(shard)
            return True
        if standing is ShardOwnership.MINE:
            return False  # it is being given up
        free_at = self._free_at(shard, lease) + self._share(shard) * _SPREAD + is_busy * _COURTESY
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

    def _free_at(self, shard: int, lease: ShardLease) -> datetime:
        """When a Lease has run out or was given up: counted from when we saw it renewed, by our own clock."""
        is_held = lease.spec.holder_identity != ""
        return self.sights[shard].since + timedelta(seconds=is_held * (lease.spec.lease_duration_seconds or 1))

    def _share(self, shard: int) -> float:
        """Between 0 and 1, another one for each replica and shard."""
        return int(sha256(f"{self._identity}/{shard}".encode()).hexdigest()[:4], 16) / 0x10000


def _released(now: datetime) -> dict[str, Any]:
    return {"holderIdentity": None, "renewTime": format_micro_time(now)}


def _sight(before: ObservedShard | None, lease: ShardLease, now: datetime) -> ObservedShard:
    record = (lease.metadata.uid, lease.spec.holder_identity, lease.spec.renew_time, lease.spec.lease_transitions)
    if before is not None and before.record == record and before.since <= now:
        return before
    return ObservedShard(record, now)


def release(inputs: Inputs[NodeMemoryCarry, None, None], /) -> Decision[NodeMemoryCarry]:
    """Release each Lease that this replica holds and that others would still respect."""
    snapshot, respected = inputs.snapshot, inputs.settings.leader_election.lease_duration
    held = [
        lease
        for _, lease in sorted(snapshot.table(SHARD_LEASES).items())
        if lease.spec.holder_identity == inputs.replica.identity
        and lease.spec.renew_time is not None
        and snapshot.now - lease.spec.renew_time < respected
    ]
    released = tuple(
        PatchObject(
            subject=reference_to(SHARD_LEASES, lease.metadata),
            why="this replica stops",
            body={"spec": {"holderIdentity": None}},
            resource_version=lease.metadata.resource_version,
        )
        for lease in held
    )
    return Decision(carry=inputs.carry, said=released)
