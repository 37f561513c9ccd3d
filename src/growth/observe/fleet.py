"""A Snapshot's machines for people: pools with what they cost and what is wrong, and every machine in them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS
from growth.api.node_pool import FailedLaunches, NodePool, OfferingStatus
from growth.api.offering import POOL
from growth.api.quantity import QuantityError, nano_value
from growth.observe.members import Member, Standing, members_of
from growth.observe.requests import amounts_from
from growth.observe.snapshot import Snapshot
from growth.observe.summary import Filled

_NANOS: Final = 10**9


class Limit(msgspec.Struct, frozen=True):
    """How much of a limit is used up."""

    name: str
    used: float
    most: float
    is_at_least: bool = False
    """Whether more than ``used`` may be used up: what a machine brings is known when its node is there."""

    @property
    def is_reached(self) -> bool:
        """Whether nothing more can be bought."""
        return self.used >= self.most


class LeftAlone(msgspec.Struct, frozen=True):
    """An offering that could not be had, or is not what was promised."""

    offering: str
    reason: str
    message: str
    until: datetime | None
    """When one is tried again; None if nothing says so."""


class PoolSummary(msgspec.Struct, frozen=True):
    """One pool."""

    name: str
    machines: dict[Standing, int]
    cpu_millis: Filled
    memory_bytes: Filled
    cost_per_hour: float | None
    """As Growth wrote it down; None if it has not."""
    currency: str = ""
    """Of the cost; empty if its provider names none."""
    limits: tuple[Limit, ...] = ()
    problems: tuple[str, ...] = ()
    left_alone: tuple[LeftAlone, ...] = ()
    failing: tuple[FailedLaunches, ...] = ()
    """Offerings whose machines never work."""
    wasted_machines: int = 0
    wasted_cost: float = 0.0
    """Machines that were paid for and never worked, and what they cost."""
    retries_after: str = ""
    """After how long a removal that failed is tried again by itself; empty: never."""


class Fleet(msgspec.Struct, frozen=True):
    """All pools, and all machines in them: the most interesting first."""

    at: datetime
    pools: tuple[PoolSummary, ...]
    machines: tuple[Member, ...]
    other_nodes: int
    """Nodes that belong to no pool."""
    waiting: int
    """Pods that have no node."""
    cost_per_hour: float | None
    """Of all pools; None if one is not known, or if they are or may be of several currencies."""
    currency: str = ""


def fleet_of(snapshot: Snapshot, pool: str = "") -> Fleet:
    """Everything, or what belongs to one pool."""
    machines = members_of(snapshot, pool)
    known = {one.metadata.name: one for one in snapshot.table(NODE_POOLS).values()}
    named = {name for name in {*known, *(machine.pool for machine in machines)} if name and (not pool or name == pool)}
    of_pool: dict[str, list[Member]] = {name: [] for name in sorted(named)}
    for machine in machines:
        of_pool.get(machine.pool, []).append(machine)
    pools = [_pool_summary(snapshot, name, known.get(name), of_pool[name]) for name in of_pool]
    cost = _total(pools, {known[name].spec.provider for name in of_pool if name in known})
    return Fleet(
        at=snapshot.now,
        pools=tuple(pools),
        machines=tuple(machines),
        other_nodes=sum(POOL not in node.metadata.labels for node in snapshot.nodes.values()),
        waiting=len(snapshot.waiting),
        cost_per_hour=cost,
        currency=pools[0].currency if cost is not None else "",
    )


def _total(pools: Sequence[PoolSummary], providers: set[str]) -> float | None:
    """The sum, if it means anything: of pools of one currency, or of one provider that names none."""
    costs = [pool.cost_per_hour for pool in pools if pool.cost_per_hour is not None]
    currencies = {pool.currency for pool in pools}
    is_one_currency = len(currencies) == 1 and ("" not in currencies or len(providers) == 1)
    return sum(costs) if costs and len(costs) == len(pools) and is_one_currency else None


def _pool_summary(snapshot: Snapshot, name: str, pool: NodePool | None, machines: Sequence[Member]) -> PoolSummary:
    counts = Counter(machine.standing for machine in machines)
    status = pool.status if pool is not None else None
    cost = _amount(status.cost_per_hour) if status is not None else None
    return PoolSummary(
        name=name,
        machines={standing: counts[standing] for standing in Standing if counts[standing]},
        cpu_millis=_together(machine.cpu_millis for machine in machines),
        memory_bytes=_together(machine.memory_bytes for machine in machines),
        cost_per_hour=cost,
        currency=status.currency if status is not None else "",
        limits=tuple(_limits(snapshot, pool, machines, cost)) if pool is not None else (),
        problems=tuple(_problems(pool)),
        left_alone=tuple(_left_alone(status.offerings, snapshot.now)) if status is not None else (),
        failing=tuple(one for one in status.failed_launches if one.failures) if status is not None else (),
        wasted_machines=status.wasted.machines if status is not None else 0,
        wasted_cost=float(status.wasted.cost) if status is not None else 0.0,
        retries_after=(pool.spec.scale_down.retry_failed_after or "") if pool is not None else "",
    )


def _together(filled: Iterable[Filled | None]) -> Filled:
    known = [one for one in filled if one is not None]
    return Filled(sum(one.used for one in known), sum(one.total for one in known))


def _amount(text: int | str | None) -> float | None:
    """A quantity as a number; None if there is none, or none that can be read."""
    try:
        return None if text in (None, "") else nano_value(str(text)) / _NANOS
    except QuantityError:
        return None


def _limits(snapshot: Snapshot, pool: NodePool, machines: Sequence[Member], cost: float | None) -> Iterable[Limit]:
    """What is used up of each limit that the pool has, as its limits count: by what machines have, not by what is left
    for pods."""
    limits, paid = pool.spec.limits, [machine for machine in machines if machine.costs]
    nodes = [snapshot.nodes[machine.name] for machine in paid if machine.name in snapshot.nodes]
    if limits.nodes is not None:
        yield Limit("nodes", len(paid), limits.nodes)
    capacities = [amounts_from(node.status.capacity) for node in nodes]
    for name, stated, unit in (("cpu", limits.cpu, 1000), ("memory", limits.memory, 1)):
        if (most := _amount(stated)) is not None:
            used = sum(capacity.get(name, 0) for capacity in capacities) / unit
            yield Limit(name, used, most, is_at_least=len(nodes) < len(paid))
    if cost is not None and (most := _amount(limits.cost_per_hour)) is not None:
        yield Limit("cost", cost, most)


def _problems(pool: NodePool | None) -> Iterable[str]:
    if pool is None:
        yield "there is no NodePool of this name, so nobody looks after its nodes"
        return
    if pool.metadata.deletion_timestamp is None and not pool.status.conditions:
        yield "Growth has said nothing about it yet: is it running?"
    for condition in pool.status.conditions:
        if condition.status == "False":
            yield condition.message or condition.reason


def _left_alone(entries: Iterable[OfferingStatus], now: datetime) -> Iterable[LeftAlone]:
    for entry in entries:
        is_closed = entry.until is not None and entry.until > now and entry.available_since is None
        if is_closed or entry.surprises:
            yield LeftAlone(entry.offering, entry.reason, entry.message, entry.until if is_closed else None)
