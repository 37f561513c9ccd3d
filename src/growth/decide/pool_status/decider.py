"""What is there to say about each pool? Docs: docs/growing.md.

Its status is written here and nowhere else: how many nodes it has, what they cost, what was learnt about offerings,
and what a person should mend. It also holds a pool that is deleted until its machines are settled.
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.actions import Action, Hold, PatchObject, RecordEvent, held_and_reported
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.node_pool import (
    MAX_CURRENCY,
    FailedLaunches,
    NodeCounts,
    NodePool,
    NodePoolStatus,
    OfferingStatus,
    Unhealthy,
)
from growth.api.node_request import NodeRequest
from growth.api.offering import POOL
from growth.api.provider_state import ProviderState
from growth.api.references import reference_to
from growth.api.settings.model import Settings
from growth.api.status import MAX_WORDS, StatusCondition, condition_of, with_condition
from growth.api.taints import has_traces
from growth.decide.capacity.failed_launch_status import (
    failed_launches,
    failing_in,
    failing_parts,
    launch_events,
    next_forgotten,
    wasted,
)
from growth.decide.capacity.launch_failures import are_alike
from growth.decide.capacity.offering_catalog import catalog_in
from growth.decide.capacity.offering_history import PoolObservation, learnt, next_change
from growth.decide.capacity.pool_inventory import PoolMachine, holdings
from growth.decide.capacity.pool_validation import FINALIZER, PoolProblem, is_asked, problems, provider_of
from growth.decide.contract import DeciderState, Decision
from growth.decide.elapsed import is_ahead
from growth.decide.facts.cluster_state import ClusterState, NodeState, PoolGroup
from growth.decide.registry.step import cluster_in
from growth.decide.writes.removal_requests import terminating_in
from growth.observe.snapshot import Snapshot

VALID: Final = "Valid"
HEALTHY: Final = "Healthy"
EXPANDING: Final = "Expanding"
READY: Final = "Ready"
_ACTION: Final = "Checking"
# Counts change with every node; people and tools that look at them do not need more.
_COUNTS_EVERY: Final = timedelta(seconds=1)
# While nodes come by the hundred there is something new in every pass, and nobody waits for it to be told.
_LOOKS_EVERY: Final = timedelta(milliseconds=500)


class PoolStatusCarry(msgspec.Struct, frozen=True):
    """What is known of pools by their uids, by our own clock."""

    written: dict[str, datetime] = {}
    """When the counts of each were last written."""
    leaving: dict[str, datetime] = {}
    """When each was first seen to be deleted."""
    pools: tuple[int, ...] = ()
    """The versions of all pools when they were last looked at."""
    looked_at: datetime | None = None
    said: tuple[Action | Hold, ...] = ()
    wake_at: datetime | None = None


def decide(snapshot: Snapshot, state: DeciderState, settings: Settings) -> Decision:
    """What should happen now."""
    carry = state.carry if isinstance(state.carry, PoolStatusCarry) else PoolStatusCarry()
    versions = tuple(sorted(pool.metadata.resource_version for pool in snapshot.table(NODE_POOLS).values()))
    if carry.looked_at is not None and carry.pools == versions:
        again_at = carry.looked_at + _LOOKS_EVERY
        if is_ahead(again_at, snapshot.now, _LOOKS_EVERY) and (carry.wake_at is None or snapshot.now < carry.wake_at):
            return Decision(carry.said, min(again_at, carry.wake_at or again_at), carry)
    return _Pass(snapshot, cluster_in(snapshot, state, settings), settings, carry).run(versions)


class _Pass:
    """One look at all pools."""

    def __init__(self, snapshot: Snapshot, cluster: ClusterState, settings: Settings, carry: PoolStatusCarry) -> None:
        self._snapshot, self._cluster, self._settings, self._now = snapshot, cluster, settings, snapshot.now
        self._written = dict(carry.written)
        # A clock may have been set back: nothing was seen later than now.
        self._terminating = {uid: min(seen_at, self._now) for uid, seen_at in carry.leaving.items()}
        self._pools = [pool for _, pool in sorted(snapshot.table(NODE_POOLS).items())]
        self._requests = snapshot.table(NODE_REQUESTS)
        self._catalog = catalog_in(snapshot, settings.provision)
        self._listed = {one.id: one for cloud in snapshot.clouds.values() for one in cloud.offerings}
        self._held: dict[str, list[PoolMachine]] = {}
        self._ours: set[str] = set()
        for one in holdings(snapshot, self._catalog):
            self._held.setdefault(one.pool, []).append(one)
            if one.node is not None:
                self._ours.add(one.name)
        self._requests_of: dict[str, list[NodeRequest]] = {}
        for request in self._requests.values():
            self._requests_of.setdefault(request.pool, []).append(request)
        self._removing = {one.spec.pool for one in snapshot.table(NODE_REMOVAL_REQUESTS).values()}
        self._said: list[Action | Hold] = []
        self._deadlines: list[datetime] = []

    def run(self, versions: tuple[int, ...]) -> Decision:
        """All pools, then the nodes that only look like theirs."""
        for pool in self._pools:
            self._finalizer(pool)
            if is_asked(pool, self._snapshot.clouds):
                found = problems(pool, self._snapshot.clouds)
                self._tell(pool, found)
                self._status(pool, found)
        self._strangers()
        wake_at = min((when for when in self._deadlines if when > self._now), default=None)
        said, written, terminating = tuple(self._said), self._of_pools(self._written), self._of_pools(self._terminating)
        return Decision(said, wake_at, PoolStatusCarry(written, terminating, versions, self._now, said, wake_at))

    def _of_pools(self, instants: dict[str, datetime]) -> dict[str, datetime]:
        """Without those of pools that are gone."""
        uids = {pool.metadata.uid for pool in self._pools}
        return {uid: instant for uid, instant in instants.items() if uid in uids}

    def _finalizer(self, pool: NodePool) -> None:
        """Hold the pool as long as it has machines; before it may buy any, that must be certain."""
        meta = pool.metadata
        subject = reference_to(NODE_POOLS, meta)
        if meta.deletion_timestamp is None:
            # Nothing is bought for a pool without a provider, and nobody could say that nothing is left of it.
            if FINALIZER not in meta.finalizers and provider_of(pool, self._snapshot.clouds):
                finalizers = [*meta.finalizers, FINALIZER]
                why = "a pool that is deleted must be held until its machines are settled"
                self._patch(pool, why, {"metadata": {"finalizers": finalizers}})
            return
        if FINALIZER not in meta.finalizers:
            return
        if why := self._why_held(pool):
            self._said.append(Hold(subject=subject, why=why, reason="HasMachines"))
            return
        finalizers = [one for one in meta.finalizers if one != FINALIZER]
        is_orphaning = pool.spec.deletion_policy == "Orphan"
        why = "its machines are left as they are" if is_orphaning else "none of its machines is left"
        self._patch(pool, why, {"metadata": {"finalizers": finalizers}})

    def _why_held(self, pool: NodePool) -> str:
        """Why a deleted pool must stay; empty only if every provider said after its deletion that nothing is left."""
        name, clouds = pool.metadata.name, self._snapshot.clouds
        if any(map(_may_have_a_machine, self._requests_of.get(name, ()))):
            return "it is being deleted and stays until nothing is coming any more: nothing is bought for it"
        if pool.spec.deletion_policy == "Orphan":
            return self._why_unfinished(name)
        if self._held.get(name) or name in self._removing:
            return "it is being deleted and stays until its machines are gone: nothing is bought for it any more"
        seen_at = self._terminating.setdefault(pool.metadata.uid, self._now)
        silent = [name for name, cloud in clouds.items() if not _has_told_since(cloud, seen_at)]
        if silent or not clouds:
            who = ", ".join(silent) or "its provider, which is not enabled,"
            return f"it is being deleted and stays until {who} says that no machine of it is left"
        return ""

    def _why_unfinished(self, pool: str) -> str:
        """Why nodes cannot be left as they are yet: nobody but us opens those that are closed, and takes marks off."""
        snapshot, terminating = self._snapshot, terminating_in(self._snapshot)
        ready = {one.metadata.name for one in self._requests_of.get(pool, ()) if one.status.phase == "Ready"}
        for held in self._held.get(pool, ()):
            if held.node is None or held.name in terminating:
                continue
            if held.name in snapshot.closed and held.name in ready:
                return f"it is being deleted and stays until node {held.name} is open"
            if has_traces(held.node):
                return f"it is being deleted and stays until the mark of scale-down is off node {held.name}"
        return ""

    def _patch(self, pool: NodePool, why: str, body: dict[str, object]) -> None:
        meta = pool.metadata
        self._said.append(
            PatchObject(
                subject=reference_to(NODE_POOLS, meta), why=why, body=body, resource_version=meta.resource_version
            )
        )

    def _tell(self, pool: NodePool, found: list[PoolProblem]) -> None:
        subject = reference_to(NODE_POOLS, pool.metadata)
        for problem in found:
            hold, event = held_and_reported(subject, reason=problem.reason, why=problem.why, action=_ACTION)
            self._said += [hold, event] if problem.stops_launches else [event]

    def _tell_of_offerings(self, pool: NodePool, entries: tuple[OfferingStatus, ...]) -> None:
        """What cannot be had, or is not what was promised: a quota, a token or a type that a person should look at."""
        for entry in entries:
            is_wrong = entry.surprises > 0 or (entry.until is not None and entry.available_since is None)
            if is_wrong and entry.reason:
                why = f"{entry.offering}: {entry.message}"
                subject = reference_to(NODE_POOLS, pool.metadata)
                self._said.append(
                    RecordEvent(subject=subject, why=why, type="Warning", reason=entry.reason, action=_ACTION)
                )

    # Status

    def _status(self, pool: NodePool, found: list[PoolProblem]) -> None:
        provision, name = self._settings.provision, pool.metadata.name
        observation = PoolObservation(
            pool=pool,
            requests=tuple(self._requests_of.get(name, ())),
            every_request=self._requests.values(),
            nodes=self._snapshot.nodes,
            catalog=self._catalog,
            listed=self._listed,
            providers=tuple(self._snapshot.clouds),
            now=self._now,
            alike=[one.metadata.name for one in self._pools if are_alike(one, pool)],
        )
        entries, failed = learnt(observation, provision), failed_launches(observation, provision)
        forgets_at = (next_change(entries, self._now, provision), next_forgotten(failed, self._now, provision))
        self._deadlines += [one for one in forgets_at if one is not None]
        self._tell_of_offerings(pool, entries)
        self._said += launch_events(pool, failed)
        failing = self._failing_parts(pool, failed)
        group = self._cluster.groups.get((name, ""))
        cost, currency = self._cost(pool, self._held.get(name, []))
        status = NodePoolStatus(
            nodes=_counts(group),
            cost_per_hour=cost,
            conditions=self._conditions(pool, found, failing),
            offerings=entries,
            failed_launches=failed,
            wasted=wasted(observation, provision),
            unhealthy=(*map(_unhealthy, self._unhealthy_parts(pool)), *failing),
            missing_since=group.missing_since if group is not None else None,
            currency=currency,
        )
        if status == pool.status:
            return
        is_only_counting = _what_matters(status) == _what_matters(pool.status)
        may_count_at = self._written.get(pool.metadata.uid, self._now - _COUNTS_EVERY) + _COUNTS_EVERY
        if is_only_counting and self._now < may_count_at <= self._now + _COUNTS_EVERY:
            self._deadlines.append(may_count_at)
            return
        self._written[pool.metadata.uid] = self._now
        self._said.append(
            PatchObject(
                subject=reference_to(NODE_POOLS, pool.metadata),
                why="the pool's status has changed",
                body={"status": msgspec.to_builtins(status)},
                subresource="status",
                resource_version=pool.metadata.resource_version,
            )
        )

    def _cost(self, pool: NodePool, held: list[PoolMachine]) -> tuple[str, str]:
        """The amount, and its currency: a provider has one, so any of its offerings tells it."""
        cloud = self._snapshot.clouds.get(provider_of(pool, self._snapshot.clouds))
        if cloud is None or cloud.read_at is None:
            # Nobody says what anything costs: what was known stands.
            return pool.status.cost_per_hour, pool.status.currency
        amount = f"{sum(one.offering.price_per_hour for one in held if one.offering):.4f}"
        named = next((one.currency for one in cloud.offerings if one.currency), "")
        return amount, named[:MAX_CURRENCY]

    def _conditions(
        self, pool: NodePool, found: list[PoolProblem], failing: list[Unhealthy]
    ) -> tuple[StatusCondition, ...]:
        if pool.metadata.deletion_timestamp is not None:
            wanted = (
                "False",
                "Deleting",
                self._why_held(pool) or "it is being deleted, and none of its machines is left",
            )
        elif found:
            wanted = ("False", found[0].reason, "; ".join(problem.why for problem in found)[:1024])
        else:
            wanted = ("True", "Usable", "")
        conditions = _with(pool.status.conditions, VALID, wanted, self._now)
        healthy = self._healthy(pool, failing)
        conditions = _with(conditions, HEALTHY, healthy, self._now)
        is_valid, is_healthy = wanted[0] == "True", healthy[0] == "True"
        ready = ("True", "Ready", "") if is_valid and is_healthy else (healthy if is_valid else wanted)
        conditions = _with(conditions, READY, ready, self._now)
        return _with(conditions, EXPANDING, self._expanding(pool), self._now)

    def _unhealthy_parts(self, pool: NodePool) -> list[PoolGroup]:
        """The pool, or what it buys, of which too much is amiss."""
        name = pool.metadata.name
        return [group for key, group in sorted(self._cluster.groups.items()) if key[0] == name and group.is_unhealthy]

    def _healthy(self, pool: NodePool, failing: list[Unhealthy]) -> tuple[str, str, str]:
        """S1 and S2."""
        if not self._cluster.health.is_healthy:
            return "False", "ClusterUnhealthy", self._cluster.health.alarm
        parts = self._unhealthy_parts(pool)
        whys = [*(part.why for part in parts), *(f"{one.offering}: {one.message}" for one in failing)]
        if not whys:
            return "True", "Healthy", ""
        if any(not part.offering for part in parts):
            reason = "PoolUnhealthy"
        else:
            reason = "LaunchesFail" if failing else "OfferingUnhealthy"
        return "False", reason, "; ".join(whys)[:MAX_WORDS]

    def _failing_parts(self, pool: NodePool, failed: tuple[FailedLaunches, ...]) -> list[Unhealthy]:
        """Without what this very status forgets: the record is made of what the last one noted."""
        record = self._catalog.launches.get(pool.metadata.name)
        if record is None:
            return []
        forgotten = failing_in(pool.status.failed_launches) - failing_in(failed)
        return [one for one in failing_parts(record, self._listed.values()) if one.offering not in forgotten]

    def _expanding(self, pool: NodePool) -> tuple[str, str, str]:
        """S3: whether machines are coming."""
        group = self._cluster.groups.get((pool.metadata.name, ""))
        coming = group.upcoming if group is not None else 0
        if not coming:
            return "False", "NothingComing", ""
        return "True", "MachinesComing", f"{coming} machines are coming" if coming > 1 else "a machine is coming"

    def _strangers(self) -> None:
        """A node that bears a pool's label and is no machine of ours is reported, and never touched."""
        nodes = self._snapshot.nodes
        for name in sorted(nodes.keys() - self._ours):
            node = nodes[name]
            pool = node.metadata.labels.get(POOL)
            if pool is None:
                continue
            why = f"it bears the label {POOL}={pool}, but no provider has such a machine for us: it is left alone"
            subject = reference_to(NODES, node.metadata)
            self._said += held_and_reported(subject, reason="NotOurs", why=why, action=_ACTION)


def _has_told_since(cloud: ProviderState, since: datetime) -> bool:
    return not cloud.problem and cloud.read_at is not None and cloud.read_at > since


def _may_have_a_machine(request: NodeRequest) -> bool:
    """Whether there may be a machine of it that only this request knows of."""
    return request.status.phase in ("Pending", "Provisioning", "Deprovisioning")


_COUNTED_AS: Final = {
    NodeState.REQUESTED: "coming",
    NodeState.BOOTING: "starting",
    NodeState.READY: "ready",
    NodeState.UNREADY: "unready",
    NodeState.FAILED_TO_START: "failed",
    NodeState.NEVER_REGISTERED: "missing",
    NodeState.NEVER_CREATED: "missing",
    NodeState.BEING_REMOVED: "leaving",
    NodeState.REMOVAL_FAILED: "stuck",
}


def _counts(group: PoolGroup | None) -> NodeCounts:
    counts: Counter[str] = Counter()
    for state, count in group.counts.items() if group is not None else ():
        counts[_COUNTED_AS[state]] += count
    return NodeCounts(**counts)


def _what_matters(status: NodePoolStatus) -> tuple[object, ...]:
    """What is written at once: all but numbers, and words that are made of them."""
    healthy = condition_of(status.conditions, HEALTHY)
    said = tuple(one for one in status.conditions if one.type not in (HEALTHY, READY, EXPANDING))
    unhealthy = frozenset(one.offering for one in status.unhealthy)
    launches = (status.failed_launches, status.wasted)
    return said, healthy and (healthy.status, healthy.reason), status.offerings, launches, unhealthy


def _unhealthy(group: PoolGroup) -> Unhealthy:
    return Unhealthy(group.offering, group.unhealthy_since, group.why)


def _with(
    conditions: tuple[StatusCondition, ...],
    kind: str,
    wanted: tuple[str, str, str],
    now: datetime,
) -> tuple[StatusCondition, ...]:
    """The conditions with this one, which keeps its time if it says what it said before."""
    status, reason, message = wanted
    before = condition_of(conditions, kind)
    is_same = before is not None and before.status == status
    since = before.last_transition_time if before is not None and is_same else now
    new = StatusCondition(kind, "True" if status == "True" else "False", reason, message, since)
    return with_condition(conditions, new)
