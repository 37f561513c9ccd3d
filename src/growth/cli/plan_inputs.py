"""What holds for a whole plan: why it may be less, or other, than one would expect. Pure.

The cluster and its providers, read once for a plan: as ``growth run`` reads them, and without changing anything.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
from rich.console import Console

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import Kind
from growth.api.node_pool import NodePool
from growth.api.provider_state import ProviderState
from growth.api.settings.model import Settings
from growth.cli.errors import NotDone, UsageError
from growth.cli.memory_list import named
from growth.cli.reports.machines import LimitUsage, fleet_of
from growth.cli.snapshot import reading
from growth.cloud.errors import ProviderError
from growth.decide.capacity.pool_validation import FINALIZER, problems
from growth.decide.consolidation.decider import CAPABILITY
from growth.decide.registry.step import step
from growth.kube.client import Client
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from growth.run.provider_poller import OpenProvider

_NEAR: Final = 0.9


def notices_in(snapshot: Snapshot, settings: Settings, new_pools: Sequence[str], only: str = "") -> Iterator[str]:
    """All of them, the worst first; ``new_pools`` are those that Growth has not taken up yet."""
    cluster = step(None, snapshot, settings)
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


KINDS: Final[tuple[Kind[Any], ...]] = CAPABILITY.watches
"""What Growth sees when it thinks of moves, which is more than it sees when it buys."""
# Catalogues, and lists of thousands of machines, are read page by page.
_PATIENCE_SECONDS: Final = 60.0
_NO_PROVIDER: Final = (
    "nobody can say what machines cost: providers.enabled names no provider. Give the settings that growth run has "
    "with --settings FILE, or name it with --providers-enabled"
)


async def read_world(
    client: Client, openers: Mapping[str, OpenProvider], now: Callable[[], datetime], console: Console
) -> ClusterCache:
    """All that a plan is made of; nobody follows it any more. Raises Refused or NotDone if nobody knows any price."""
    if not openers:
        raise UsageError(_NO_PROVIDER)
    cache = ClusterCache(now)
    async with reading(client, cache, KINDS, console):
        with console.status(f"asking what is sold: {', '.join(openers)}"):
            for name, opener in openers.items():
                cache.hear_of_cloud(await _asked(name, opener, client, now))
    if not any(cloud.answers for cloud in cache.clouds.values()):
        silent = "; ".join(f"{cloud.provider} does not answer ({cloud.problem})" for cloud in cache.clouds.values())
        raise NotDone(f"nobody can say what machines cost: {silent}")
    return cache


async def _asked(name: str, opener: OpenProvider, client: Client, now: Callable[[], datetime]) -> ProviderState:
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS), opener(client) as provider:
            read_at = now()
            return ProviderState(name, tuple(await provider.offerings()), tuple(await provider.list()), read_at)
    except TimeoutError:
        return ProviderState(name, problem=f"there was no answer within {_PATIENCE_SECONDS:.0f} s")
    except ProviderError as error:
        return ProviderState(name, problem=str(error) or type(error).__name__)


def taken_up(cache: ClusterCache) -> list[str]:
    """Let the picture show pools that Growth has not seen yet as it will take them up; gives their names.

    Growth buys nothing for a pool before it has written its finalizer on it. Who looks before Growth runs for the first
    time wants to know what it would do then.
    """
    new = [
        pool
        for _, pool in sorted(cache.tables[NODE_POOLS].items())
        if FINALIZER not in pool.metadata.finalizers and pool.metadata.deletion_timestamp is None
    ]
    cache.listeners()[NODE_POOLS]([Change(ChangeType.MODIFIED, _with_finalizer(pool), pool) for pool in new])
    return [pool.metadata.name for pool in new]


def _with_finalizer(pool: NodePool) -> NodePool:
    metadata = msgspec.structs.replace(pool.metadata, finalizers=(*pool.metadata.finalizers, FINALIZER))
    return msgspec.structs.replace(pool, metadata=metadata)
