"""What ``growth status`` says, as one value: objects in, a report out.

It goes by what the leader wrote down: what one said that is gone is shown, and not believed.
"""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from growth.api.core import ConfigMap
from growth.api.growth_status import GROWTH_STATUS, ClusterStatus, TroubledNode, capabilities_in, status_in
from growth.api.node_pool import NodeCounts, NodePool
from growth.api.status import condition_of
from growth.decide.capacity.availability import TOO_MANY_SURPRISES
from growth.decide.pool_status.conditions import VALID


class HealthSummary(StrEnum):
    """What there is to say about the cluster in one word."""

    HEALTHY = "healthy"
    UNHEALTHY = "unhealthy"
    UNKNOWN = "unknown"
    """Nobody has said anything, or whoever did is gone."""


class LeaderView(msgspec.Struct, frozen=True):
    """The replica that acts, by its Lease."""

    is_alive: bool
    holder: str = ""
    renewed_at: datetime | None = None
    """When it last gave a sign of life, by its own clock."""
    why: str = ""
    """Why it is taken for gone; empty if it is alive."""


class ClosedOffering(msgspec.Struct, frozen=True):
    """What is not bought for a pool now."""

    offering: str
    """An offering, or a provider; empty: the pool as a whole."""
    why: str
    since: datetime | None = None
    until: datetime | None = None
    """When one is tried again; None: when things have improved."""


class PoolStatusRow(msgspec.Struct, frozen=True):
    """One pool, as its status tells."""

    name: str
    nodes: NodeCounts
    missing_since: datetime | None = None
    """Since when the one is asked for that has no node for longest."""
    closed: tuple[ClosedOffering, ...] = ()
    problem: str = ""
    """Why it is not valid, or that it does not exist; empty if nothing is wrong with it."""


class StatusReport(msgspec.Struct, frozen=True):
    """Everything; ``--output json`` prints this."""

    at: datetime
    namespace: str
    health: HealthSummary
    problem: str
    """Why nobody knows how the cluster is; empty if somebody does."""
    leader: LeaderView
    is_halted: bool = False
    """Whether nothing is bought or removed. Of this and all that follows: as it was last written."""
    alarm: str = ""
    healthy_since: datetime | None = None
    """Since when Growth may act again; null if it always could."""
    unhealthy_since: datetime | None = None
    ready: int = 0
    """Nodes that work, those of others included."""
    unready: int = 0
    """Growth's nodes that are unready without reason."""
    foreign_unready: int = 0
    states: dict[str, int] = {}
    pools: tuple[PoolStatusRow, ...] = ()
    troubled: tuple[TroubledNode, ...] = ()
    """The first of those that do not simply work, worst first."""
    troubled_in_all: int = 0
    capabilities: dict[str, dict[str, Any]] = {}
    """What capabilities from other packages report of themselves, by name."""

    @property
    def exit_code(self) -> int:
        """0 if all is well, 1 if not, also if nobody knows."""
        return 0 if self.health is HealthSummary.HEALTHY else 1

    @property
    def was_told(self) -> bool:
        """Whether there is anything to show that somebody wrote, now or before."""
        return bool(self.states or self.alarm)


def report_of(
    found: ConfigMap | None, pools: Iterable[NodePool], leader: LeaderView, namespace: str, now: datetime
) -> StatusReport:
    """What these objects say."""
    known = status_in(found)
    problem = _problem(found, known, leader, namespace)
    status = known or ClusterStatus()
    health = HealthSummary.HEALTHY if status.is_healthy else HealthSummary.UNHEALTHY
    return StatusReport(
        at=now,
        namespace=namespace,
        health=HealthSummary.UNKNOWN if problem else health,
        problem=problem,
        leader=leader,
        is_halted=status.is_halted,
        alarm=status.alarm,
        healthy_since=status.healthy_since,
        unhealthy_since=status.unhealthy_since,
        ready=status.ready,
        unready=status.unready,
        foreign_unready=status.foreign_unready,
        states=status.states,
        pools=tuple(_pools(pools, status, now)),
        troubled=status.troubled,
        troubled_in_all=status.troubled_in_all,
        capabilities=capabilities_in(found),
    )


def _problem(found: ConfigMap | None, known: ClusterStatus | None, leader: LeaderView, namespace: str) -> str:
    if not leader.is_alive:
        return f"Growth is not running: {leader.why}"
    if found is None:
        return f"Growth has not said yet how the cluster is: there is no ConfigMap {namespace}/{GROWTH_STATUS}"
    if known is None:
        what = f"ConfigMap {namespace}/{GROWTH_STATUS} cannot be read: somebody else has written into it"
        return f"{what}. Delete it, and Growth writes it anew"
    return ""


def _pools(pools: Iterable[NodePool], status: ClusterStatus, now: datetime) -> Iterable[PoolStatusRow]:
    known = {pool.metadata.name: pool for pool in pools}
    gone = {one.pool: one for one in status.pools if not one.offering and one.pool not in known}
    for name in sorted({*known, *gone}):
        if name in known:
            yield _pool(known[name], now)
        else:
            count = sum(gone[name].states.values())
            machines = f"{count} machines" if count > 1 else "a machine"
            problem = f"there is no such NodePool, but {machines} of it"
            yield PoolStatusRow(name, NodeCounts(), gone[name].missing_since, (), problem)


def _pool(pool: NodePool, now: datetime) -> PoolStatusRow:
    status = pool.status
    valid = condition_of(status.conditions, VALID)
    return PoolStatusRow(
        name=pool.metadata.name,
        nodes=status.nodes or NodeCounts(),
        missing_since=status.missing_since,
        closed=tuple(_closed(pool, now)),
        problem=valid.message if valid is not None and valid.status == "False" else "",
    )


def _closed(pool: NodePool, now: datetime) -> Iterable[ClosedOffering]:
    for one in pool.status.unhealthy:
        yield ClosedOffering(one.offering, one.message, one.since)
    for entry in pool.status.offerings:
        said = ": ".join(part for part in (entry.reason, entry.message) if part)
        if entry.until is not None and entry.until > now and entry.available_since is None:
            yield ClosedOffering(entry.offering, said, entry.since, entry.until)
        elif entry.surprises >= TOO_MANY_SURPRISES:
            yield ClosedOffering(entry.offering, said, entry.since)
