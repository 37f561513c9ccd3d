"""What holds for a whole plan: why it may be less, or other, than one would expect. Pure."""

from collections.abc import Iterator, Sequence
from typing import Final

from growth.api.growth_kinds import NODE_POOLS
from growth.api.settings.model import Settings
from growth.cli.memory_report import named
from growth.cli.reports.machines import LimitUsage, fleet_of
from growth.decide.capacity.pool_validation import problems
from growth.decide.contract import DeciderState
from growth.decide.registry.step import cluster_in
from growth.observe.snapshot import Snapshot

_NEAR: Final = 0.9


def notices_in(snapshot: Snapshot, settings: Settings, new_pools: Sequence[str], only: str = "") -> Iterator[str]:
    """All of them, the worst first; ``new_pools`` are those that Growth has not taken up yet."""
    cluster = cluster_in(snapshot, DeciderState(), settings)
    if cluster.is_halted:
        yield f"the cluster is unhealthy, so Growth does nothing for now: {cluster.health.alarm}"
    if not snapshot.table(NODE_POOLS):
        yield "there is no NodePool, so Growth buys nothing: docs/kinds.md shows how to write one"
    for pool in snapshot.table(NODE_POOLS).values():
        if only in ("", pool.metadata.name):
            yield from (f"pool {pool.metadata.name}: {one.why}" for one in problems(pool, snapshot.clouds))
    for name in sorted(cluster.closed_pools):
        if only in ("", name):
            yield f"pool {name} is unhealthy, so nothing is bought for it for now"
    if new_pools:
        yield f"Growth has not taken up {named(new_pools)} yet: this is what it will do once it runs"
    for summary in fleet_of(snapshot, only).pools:
        for limit in summary.limits:
            if limit.most and limit.used >= _NEAR * limit.most:
                yield f"pool {summary.name} is near its limit: {_used(limit)}"
    if len(currencies := currencies_in(snapshot)) > 1:
        yield f"prices in {' and '.join(currencies)} are added up as if they were one currency"


def currencies_in(snapshot: Snapshot) -> list[str]:
    """In which money machines are sold."""
    return sorted({offering.currency for cloud in snapshot.clouds.values() for offering in cloud.offerings})


def currency_of(snapshot: Snapshot) -> str:
    """The one currency, if there is one."""
    return next(iter(currencies_in(snapshot)), "")


def _used(limit: LimitUsage) -> str:
    size, unit = (1 << 30, "Gi") if limit.name == "memory" else (1, "")
    return f"{limit.name} {limit.used / size:.4g} of {limit.most / size:.4g}{unit}"
