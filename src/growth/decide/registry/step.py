"""One step of the registry: what has changed since the last one is looked at again, the rest stands.

    step(previous, snapshot, settings) -> ClusterState

It comes to what a step without a previous one would come to, given the same memory of how healthy things were; that
memory is in the object ``growth-status`` and in the pools' statuses, so a new process goes on where the last one ended.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.growth_status import GROWTH_STATUS, status_in
from growth.api.kinds import CONFIG_MAPS
from growth.api.provider_state import ProviderState
from growth.api.settings.model import Settings
from growth.decide.contract import ClockTrust, Derivation, Facts, RecoveredAt
from growth.decide.facts.cluster_state import ClusterHealth, ClusterState, GroupKey, NodeState, PoolGroup, Unit
from growth.decide.policy.pool_terms import terms_of
from growth.decide.registry.classification import ClassificationInputs, judge
from growth.decide.registry.cluster_health import checked
from growth.decide.registry.inventory_join import JoinInputs, MachineIndex, ProviderIDs, joined
from growth.decide.registry.pool_health import PoolTally, grouped
from growth.observe.snapshot import Snapshot


def remembered_health(snapshot: Snapshot, settings: Settings) -> ClusterHealth:
    """How healthy the cluster was said to be; one of which nobody has said anything is taken for healthy."""
    known = status_in(snapshot.table(CONFIG_MAPS).get((settings.namespace, GROWTH_STATUS)))
    if known is None:
        return ClusterHealth()
    return ClusterHealth(
        is_healthy=known.is_healthy,
        is_halted=known.is_halted,
        healthy_since=known.healthy_since,
        unhealthy_since=known.unhealthy_since,
        alarm=known.alarm,
    )


def remembered_groups(snapshot: Snapshot) -> dict[GroupKey, PoolGroup]:
    """The unhealthy ones; the others begin anew.

    What a pool's status calls unhealthy because its launches fail is no group: the record of launches says so again as
    long as it is true, and a group would stay closed for a while beyond that.
    """
    return {
        (pool.metadata.name, one.offering): PoolGroup(
            pool=pool.metadata.name,
            offering=one.offering,
            is_unhealthy=True,
            unhealthy_since=one.since,
            why=one.message,
        )
        for pool in snapshot.table(NODE_POOLS).values()
        for one in pool.status.unhealthy
        if (one.offering, one.since) not in {(each.offering, each.since) for each in pool.status.failed_launches}
    }


class RegistryCarryover(msgspec.Struct, frozen=True):
    """What the next step compares with."""

    journal: int
    clouds: Mapping[str, ProviderState]
    machines: MachineIndex
    claims: ProviderIDs
    provider_ids: Mapping[str, str]
    """Of nodes, by name."""
    unready_after: Mapping[str, timedelta]
    settings: Settings
    steady_since: datetime | None
    tally: PoolTally


def step(
    previous: ClusterState | None, snapshot: Snapshot, settings: Settings, steady_since: datetime | None = None
) -> ClusterState:
    """The registry now. Without a previous state everything is looked at."""
    return _Step(previous, snapshot, settings, steady_since).run()


class _Step:
    def __init__(
        self,
        previous: ClusterState | None,
        snapshot: Snapshot,
        settings: Settings,
        steady_since: datetime | None,
    ) -> None:
        self._previous, self._snapshot, self._settings = previous, snapshot, settings
        self._steady_since = steady_since
        self._notes = previous.notes if previous is not None and isinstance(previous.notes, RegistryCarryover) else None
        notes = self._notes
        self._unready_after = {
            pool.metadata.name: terms_of(pool).unready_after for pool in snapshot.table(NODE_POOLS).values()
        }
        is_same_cloud = notes is not None and _are_same(notes.clouds, snapshot.clouds)
        self._machines = notes.machines if notes and is_same_cloud else MachineIndex.of(snapshot.clouds.values())
        self._health = remembered_health(snapshot, settings) if previous is None else previous.health
        self._groups = remembered_groups(snapshot) if previous is None else previous.groups
        self._names = self._to_look_at(notes, is_same_cloud=is_same_cloud)
        is_full = self._names is None
        self._claims = ProviderIDs(None if is_full or notes is None else notes.claims.names)
        self._lists = JoinInputs.of(snapshot, self._machines, self._claims)
        self._provider_ids = dict(notes.provider_ids) if notes and not is_full else {}
        self._units = dict(previous.units) if previous and not is_full else {}
        self._troubled = dict(previous.troubled) if previous and not is_full else {}
        self._ready_of = dict(previous.ready_of) if previous and not is_full else {}
        self._ready = previous.ready if previous and not is_full else 0
        self._tally = notes.tally if notes and not is_full else None
        """What was counted; None if it must be counted anew."""

    def run(self) -> ClusterState:
        snapshot, now = self._snapshot, self._snapshot.now
        names = self._claimed(self._names) if self._names is not None else self._everybody()
        self._look_at(names, self._bench(self._health))
        health = checked(self._health, self._ready, self._unjustified(), now, self._settings.registry)
        if (health.is_halted, health.healthy_since) != (self._health.is_halted, self._health.healthy_since):
            # Deadlines count from another instant now; whoever works has none.
            self._look_at(list(self._troubled), self._bench(health))
        troubled = [unit for units in self._troubled.values() for unit in units]
        if self._tally is None:
            self._tally = PoolTally(self._ready_of, (unit for unit in troubled if not unit.is_plain))
        groups = grouped(self._tally, self._groups, now, self._settings.registry)
        return ClusterState(
            at=now,
            units=self._units,
            troubled=self._troubled,
            ready=self._ready,
            ready_of=self._ready_of,
            health=health,
            groups=groups,
            next_change=_next_change(now, health, groups, troubled),
            notes=RegistryCarryover(
                snapshot.journal.number,
                dict(snapshot.clouds),
                self._machines,
                self._claims,
                self._provider_ids,
                self._unready_after,
                self._settings,
                self._steady_since,
                self._tally,
            ),
        )

    # Who

    def _to_look_at(self, notes: RegistryCarryover | None, *, is_same_cloud: bool) -> set[str] | None:
        """Names of which something may be different now; None for everybody."""
        if self._previous is None or notes is None or notes.settings is not self._settings:
            return None
        if notes.steady_since != self._steady_since or notes.unready_after != self._unready_after:
            return None
        changed = self._snapshot.journal.since(notes.journal)
        if changed is None or self._snapshot.now < self._previous.at:
            return None
        names = set(changed)
        now = self._snapshot.now
        for name, units in self._previous.troubled.items():
            for unit in units:
                is_due = unit.changes_at is not None and unit.changes_at <= now
                if is_due or (unit.asks_cloud and not is_same_cloud):
                    names.add(name)
        if not is_same_cloud:
            names.update(self._machines.differing(notes.machines))
        return names

    def _everybody(self) -> Iterable[str]:
        """All names, once all nodes say on which machines they run."""
        nodes = self._snapshot.nodes
        self._provider_ids = {name: node.spec.provider_id for name, node in nodes.items() if node.spec.provider_id}
        for name, provider_id in self._provider_ids.items():
            self._claims.enter(name, provider_id)
        requests = self._snapshot.table(NODE_REQUESTS)
        return dict.fromkeys((*nodes, *(name for _, name in requests), *self._machines.by_name))

    def _claimed(self, names: set[str]) -> set[str]:
        """These names, once their nodes say on which machines they run; and those whose machines these are, or were."""
        also: set[str] = set()
        for name in names:
            node = self._snapshot.nodes.get(name)
            before, now = self._provider_ids.get(name, ""), node.spec.provider_id if node is not None else ""
            if before == now:
                if now and (machine := self._machines.by_id.get(now)) is not None and machine.name != name:
                    also.add(machine.name)
                continue
            if before:
                self._claims.leave(name, before)
                also.update(self._claims.names.get(before, ()))
                del self._provider_ids[name]
            if now:
                self._claims.enter(name, now)
                also.update(self._claims.names[now])
                self._provider_ids[name] = now
            also.update(
                machine.name for one in (before, now) if one and (machine := self._machines.by_id.get(one)) is not None
            )
        for name in names:
            # A machine that came or went may be another node's than the one that bears its name.
            before = self._notes.machines.by_name.get(name, ()) if self._notes is not None else ()
            for machine in (*before, *self._machines.by_name.get(name, ())):
                also.update(self._claims.names.get(machine.provider_id, ()))
        return names | also

    # What

    def _bench(self, health: ClusterHealth) -> ClassificationInputs:
        return ClassificationInputs(
            now=self._snapshot.now,
            settings=self._settings,
            clouds=self._snapshot.clouds,
            closed=self._snapshot.closed,
            unready_after=self._unready_after,
            steady_since=self._steady_since,
            healthy_since=health.healthy_since,
            is_halted=health.is_halted,
        )

    def _look_at(self, names: Iterable[str], bench: ClassificationInputs) -> None:
        lists = self._lists
        for name in names:
            before, units = self._units.get(name, ()), tuple([judge(one, bench) for one in joined(name, lists)])
            if units != before:
                self._replace(name, before, units)

    def _replace(self, name: str, before: tuple[Unit, ...], units: tuple[Unit, ...]) -> None:
        self._tally = None
        for unit in before:
            self._count(unit, -1)
        for unit in units:
            self._count(unit, 1)
        if units:
            self._units[name] = units
        else:
            del self._units[name]
        if all(map(_is_settled, units)):
            self._troubled.pop(name, None)
        else:
            self._troubled[name] = units

    def _count(self, unit: Unit, more: int) -> None:
        if unit.state is NodeState.READY:
            self._ready += more
            key = (unit.pool, unit.offering)
            count = self._ready_of.get(key, 0) + more
            if count:
                self._ready_of[key] = count
            else:
                del self._ready_of[key]
        elif unit.state is NodeState.FOREIGN and unit.is_ready:
            self._ready += more

    def _unjustified(self) -> list[Unit]:
        return [unit for units in self._troubled.values() for unit in units if unit.is_unjustified]


def _is_settled(unit: Unit) -> bool:
    """Whether it works, and neither time nor a provider's word changes that."""
    return unit.is_plain and unit.changes_at is None and not unit.asks_cloud


def _are_same(before: Mapping[str, ProviderState], now: Mapping[str, ProviderState]) -> bool:
    return len(before) == len(now) and all(before.get(name) is cloud for name, cloud in now.items())


def _next_change(
    now: datetime, health: ClusterHealth, groups: Mapping[GroupKey, PoolGroup], troubled: Iterable[Unit]
) -> datetime | None:
    instants = [unit.changes_at for unit in troubled]
    instants += [health.changes_at, *(group.improves_at for group in groups.values())]
    return min((one for one in instants if one is not None and one > now), default=None)


def derive(
    snapshot: Snapshot, settings: Settings, _facts: Facts, clock: ClockTrust, previous: ClusterState | None
) -> ClusterState:
    """Go on with the registry."""
    return step(previous, snapshot, settings, clock.steady_since)


def recovered_at(cluster: ClusterState) -> tuple[RecoveredAt]:
    """Return since when deadlines count again."""
    return (RecoveredAt(cluster.health.healthy_since),)


CLUSTER_STATE: Final = Derivation(
    name="registry-step",
    provides=ClusterState,
    derive=derive,
    also_provides=(RecoveredAt,),
    derive_more=recovered_at,
)
