"""When machines test offerings of a pool in which launches fail (``decide.capacity.launch_failures``).

Docs: docs/failed-launches.md.

A plan launches only what is not suspect. A probe is one machine beside it, on which no pod relies before it works:

1. While pods wait longer than a failure time, or nothing is left that a plan may launch for them, every offering of the
   pool is tested: the first ones of each type and location first, all of them within a failure time.
2. When all failed, one machine at a time is tested, the one first that failed longest ago.
3. Without pods that wait for long, a suspect type is tested once when its wait is over, beside what a plan launches.
4. Machines that a pool keeps without load are of a named type: one of it is tested in each failure time.

So a pod waits at most two failure times until a machine is launched that works, if any offering does.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.decide.capacity.availability import Availability
from growth.decide.capacity.launch_failures import LaunchRecord
from growth.decide.capacity.pool_inventory import shortages
from growth.decide.capacity.pool_usage import may_launch
from growth.decide.capacity.upcoming_nodes import is_live
from growth.decide.fit.demand import why_not
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.pool_selection import PoolSelection
from growth.decide.scale_up.probes import Probe

MOST_AT_ONCE: Final = 12
"""Probes of one pool that are on their way at one time."""
# Pods of one pool that are looked at to find one that a probe could serve; the oldest first.
_MOST_PODS: Final = 32
# The part of a failure time that the first launch after a failure gets to itself, and that the probes are spread over.
_PARTS: Final = 3


class ProbeSchedule(msgspec.Struct):
    """The probes of one pass."""

    due: list[Probe] = []
    beside: list[Probe] = []
    """Those that wait for a plan."""
    wake_at: list[datetime] = []


def probing(outlook: ScaleUpContext, planned: Collection[str], unplanned: Collection[str]) -> ProbeSchedule:
    """Which probes are due.

    ``planned`` are uids of pods that have a place on what is coming, ``unplanned`` of those for which plans found
    nothing that they may launch. All others get a plan first.
    """
    found = ProbeSchedule()
    usable = {pool.metadata.name: pool for pool in outlook.usable}
    for name, record in sorted(outlook.catalog.launches.items()):
        if name in usable:
            _Pool(outlook, usable[name], record).look(planned, unplanned, found)
    return found


class _Pool:
    """One pool in which launches fail."""

    def __init__(self, outlook: ScaleUpContext, pool: NodePool, record: LaunchRecord) -> None:
        self._outlook, self._pool, self._record = outlook, pool, record
        self._offerings = [
            one.offering
            for one in outlook.catalog.offered.values()
            if may_launch(pool, one.offering) and one.access is not Availability.CLOSED and one.offering.stock != 0
        ]
        self._live = [
            one
            for one in outlook.requests.values()
            if one.pool == pool.metadata.name and is_live(one) and outlook.is_coming(one)
        ]
        self._awaited = {one.spec.target_offering for one in self._live}

    def look(self, planned: Collection[str], unplanned: Collection[str], found: ProbeSchedule) -> None:
        """Note what is due now, and when something will be."""
        probes = sum(one.is_probe for one in self._live)
        if not self._offerings or probes >= MOST_AT_ONCE:
            return
        tried = {one.id for one in self._offerings if one.id in self._record.tried or one.id in self._awaited}
        self._look_for_shortages(found)
        everyone = self._pods()
        pods = [pod for pod in everyone if pod.metadata.uid in planned or pod.metadata.uid in unplanned]
        if pods and self._is_due(pods, unplanned, len(tried), found):
            found.due.append(Probe(self._pool.metadata.name, tuple(self._in_order()), tuple(pods)))
        elif everyone and not self._awaited & self._record.suspects.keys():
            self._look_beside(everyone, found)

    def _is_due(self, pods: Sequence[Pod], unplanned: Collection[str], tried: int, found: ProbeSchedule) -> bool:
        is_any_unplanned = any(pod.metadata.uid in unplanned for pod in pods)
        if tried == len(self._offerings):
            return not self._awaited and self._waits_in_vain(pods, found, is_any_unplanned=is_any_unplanned)
        if not self._awaited and is_any_unplanned:
            return True
        return self._is_turn(pods, tried, found, is_any_unplanned=is_any_unplanned)

    def _pods(self) -> list[Pod]:
        """Pods that wait for the pool, the oldest first; of those with the same spec only that one."""
        matching, now = PoolSelection(self._outlook.pools, self._outlook.usable), self._outlook.now
        waiting = sorted(
            self._outlook.waiting.values(), key=lambda pod: (pod.metadata.creation_timestamp or now, pod.metadata.uid)
        )
        found: dict[int, Pod] = {}
        for pod in waiting:
            if id(pod.spec) in found or why_not(pod) is not None:
                continue
            if self._pool.metadata.name in matching.pools_of(pod):
                found[id(pod.spec)] = pod
                if len(found) == _MOST_PODS:
                    break
        return list(found.values())

    def _overdue_at(self, pods: Sequence[Pod]) -> datetime:
        """When the first of them has waited as long as a launch takes to fail."""
        outlook = self._outlook
        since = min(outlook.since(pod.metadata.creation_timestamp) for pod in pods)
        return since + outlook.settings.provision.machine_within

    def _waits_in_vain(self, pods: Sequence[Pod], found: ProbeSchedule, *, is_any_unplanned: bool) -> bool:
        """Whether one more machine is tested, now that all failed: one in each failure time, however soon they fail."""
        due_at = self._record.launched_at + self._outlook.settings.provision.machine_within
        if not is_any_unplanned:
            due_at = max(due_at, self._overdue_at(pods))
        found.wake_at.append(due_at)
        return self._outlook.now >= due_at

    def _is_turn(self, pods: Sequence[Pod], tried: int, found: ProbeSchedule, *, is_any_unplanned: bool) -> bool:
        """Whether less of the pool was tested than should be by now."""
        part = self._outlook.settings.provision.machine_within / _PARTS
        starts_at = max(self._record.failing_since, self._overdue_at(pods))
        asked = [one.metadata.creation_timestamp for one in self._live if one.planned_for and not one.is_probe]
        if not is_any_unplanned and (first := min((at for at in asked if at is not None), default=None)) is not None:
            starts_at = max(starts_at, min(first, self._outlook.now))  # what was launched for them has its time
        starts_at += part
        due_at = starts_at + part * tried / max(len(self._offerings) - 1, 1)
        found.wake_at.append(due_at)
        return self._outlook.now >= due_at

    def _in_order(self) -> list[Offering]:
        """What is worth a test, without what is on its way: what differs most from all that was tried comes first."""
        record, types, places = self._record, Counter[str](), Counter[str]()
        for one in self._offerings:
            if one.id in record.tried or one.id in self._awaited:
                types[one.type_id] += 1
                places[one.location] += 1
        return sorted(
            (one for one in self._offerings if one.id not in self._awaited),
            key=lambda one: (
                one.id in record.tried,
                _last_failure(record, one) if one.id in record.tried else datetime.min.replace(tzinfo=UTC),
                one.id in record.suspects,
                one.id in record.failing,
                types[one.type_id],
                places[one.location],
                one.price_per_hour,
                one.id,
            ),
        )

    def _look_beside(self, pods: Sequence[Pod], found: ProbeSchedule) -> None:
        """Test a suspect type whose wait is over."""
        over = {name for name, at in self._record.retry_at.items() if self._outlook.now >= at}
        offerings = [one for one in self._in_order() if one.type_id in over and one.id in self._record.suspects]
        if offerings:
            probe = Probe(self._pool.metadata.name, tuple(offerings), tuple(pods), is_beside=True)
            found.beside.append(probe)

    def _look_for_shortages(self, found: ProbeSchedule) -> None:
        """Machines that the pool keeps without load (``min``) are of a named type, which nothing can stand in for: one
        machine of it is tested in each failure time."""
        for shortage in shortages((self._pool,), self._outlook.held):
            wanted = [one for one in self._in_order() if one.server_type.lower() == shortage.server_type.lower()]
            is_suspect = any(one.type_id in self._record.retry_at for one in wanted)
            if not is_suspect or not self._awaited.isdisjoint(one.id for one in self._offerings):
                continue
            due_at = self._record.launched_at + self._outlook.settings.provision.machine_within
            found.wake_at.append(due_at)
            if self._outlook.now >= due_at:
                found.due.append(Probe(self._pool.metadata.name, tuple(wanted), ()))
                return


def _last_failure(record: LaunchRecord, offering: Offering) -> datetime:
    return record.failing[offering.id].last_at or datetime.min.replace(tzinfo=UTC)
