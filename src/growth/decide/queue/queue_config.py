"""The settings of the queue, as its parts ask for them.

What holds for all workloads alike: queues, flavors, namespaces, classes. If it changes, all are looked at anew.

What queues say of themselves is none of it: we write that, all the time.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final, cast

import msgspec

from growth.api.change import ObjectT
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import NAMESPACES, PRIORITY_CLASSES, Kind
from growth.api.queue.kinds import (
    CLUSTER_QUEUES,
    COHORTS,
    LOCAL_QUEUES,
    RESOURCE_FLAVORS,
    WORKLOAD_PRIORITY_CLASSES,
)
from growth.api.queue.pod_defaults import LIMIT_RANGES, RUNTIME_CLASSES
from growth.api.queue.quotas import ResourceFlavor
from growth.api.settings.model import QueueSettings, Settings
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.queue.cluster_queue_status import ClusterQueueCheck, standings_of
from growth.decide.queue.flavor_stock import out_of_stock
from growth.decide.queue.pending_queue import Strategy
from growth.decide.queue.pod_defaults import PodDefaults
from growth.decide.queue.quota_tree import QuotaNode, quotas_of
from growth.decide.queue.requeue import ReadinessPolicy, RequeuePolicy
from growth.decide.queue.unreadable_objects import unread_in
from growth.observe.snapshot import Snapshot
from growth.observe.table import Table


class QueuePolicy(msgspec.Struct, frozen=True):
    """All of them."""

    requeuing: RequeuePolicy
    readiness: ReadinessPolicy | None
    """None if nobody is put back for pods that are not ready."""
    blocks_admission: bool
    extends: bool


def terms_of(settings: QueueSettings) -> QueuePolicy:
    """What the settings come to."""
    waiting = settings.wait_for_pods_ready
    strategy = waiting.requeuing_strategy
    recovery = waiting.timeout if waiting.recovery_timeout is None else waiting.recovery_timeout
    return QueuePolicy(
        RequeuePolicy(
            cast("Strategy", strategy.timestamp),
            strategy.backoff_limit_count,
            _seconds(strategy.backoff_limit_timeout),
            timedelta(seconds=strategy.backoff_base_seconds),
            _seconds(strategy.backoff_max_seconds),
        ),
        ReadinessPolicy(waiting.timeout, recovery or None) if waiting.enable else None,
        waiting.enable and waiting.block_admission,
        settings.extend_while_provisioning,
    )


def _seconds(count: int | None) -> timedelta | None:
    return None if count is None else timedelta(seconds=count)


_KINDS: Final[tuple[Kind[Any], ...]] = (
    *(RESOURCE_FLAVORS, CLUSTER_QUEUES, LOCAL_QUEUES, COHORTS, NAMESPACES),
    *(WORKLOAD_PRIORITY_CLASSES, PRIORITY_CLASSES, LIMIT_RANGES, RUNTIME_CLASSES),
)


class QueueConfig(msgspec.Struct, frozen=True):
    """All of it, comparable."""

    observed: tuple[tuple[int, int], ...]
    """How much was heard of each kind when this was worked out: as long as that is the same, so is the rest."""
    settings: Settings
    flavors: dict[str, ResourceFlavor]
    specs: dict[object, object]
    standings: dict[str, ClusterQueueCheck]

    def is_like(self, other: "QueueConfig") -> bool:
        """Whether workloads fare alike under both."""
        return (self.settings, self.specs, self.standings) == (other.settings, other.specs, other.standings)


def config_in(snapshot: Snapshot, settings: Settings, before: QueueConfig | None) -> QueueConfig:
    """What holds now; the very same as ``before`` if nothing was heard that could change it."""
    tables: list[Table[Any]] = [snapshot.tables[kind] for kind in _KINDS]
    observed = tuple((table.number, table.observed) for table in tables)
    is_same = before is not None and before.observed == observed and before.settings is settings
    if before is not None and is_same and not snapshot.unreadable:
        return before
    flavors = _by_name(snapshot.table(RESOURCE_FLAVORS))
    specs: dict[object, object] = {
        (kind.plural, key): _spec(one) for kind, table in zip(_KINDS, tables, strict=True) for key, one in table.items()
    }
    return QueueConfig(observed, settings, flavors, specs, standings_in(snapshot))


def closed_flavors(snapshot: Snapshot, catalog: OfferingCatalog) -> dict[str, str]:
    """Return the flavors whose machines cannot be had now, and why (``flavor_stock``)."""
    if not snapshot.clouds:
        return {}
    flavors, pools = snapshot.table(RESOURCE_FLAVORS).values(), snapshot.table(NODE_POOLS).values()
    return out_of_stock(flavors, pools, catalog, snapshot.now)


def standings_in(snapshot: Snapshot, odd: Mapping[str, str] | None = None) -> dict[str, ClusterQueueCheck]:
    """How all queues stand; ``odd`` are sentences about who holds nobody knows how much of their quota."""
    unread = unread_in(snapshot)
    unread = msgspec.structs.replace(unread, holders={**(odd or {}), **unread.holders})
    flavors, cohorts = _by_name(snapshot.table(RESOURCE_FLAVORS)), _by_name(snapshot.table(COHORTS))
    return standings_of(_by_name(snapshot.table(CLUSTER_QUEUES)), flavors, cohorts, unread)


def _by_name(table: Table[ObjectT]) -> dict[str, ObjectT]:
    return {name: one for (_, name), one in table.items()}


def _spec(one: Any) -> object:  # noqa: ANN401 - of any of these kinds
    """What matters of it."""
    if hasattr(one, "spec"):
        return one.spec
    meta = one.metadata
    return meta.labels, meta.deletion_timestamp is not None, msgspec.structs.asdict(one) | {"metadata": None}


def members_of(snapshot: Snapshot) -> dict[str, QuotaNode]:
    """All queues, with nothing used of them."""
    cohorts: dict[str, QuotaNode] = {}
    known = _by_name(snapshot.table(COHORTS))

    def cohort(name: str, above: frozenset[str] = frozenset()) -> QuotaNode | None:
        if not name or name in above:
            return None
        if name not in cohorts:
            spec = known[name].spec if name in known else None
            parent = cohort(spec.parent_name, above | {name}) if spec is not None else None
            cohorts[name] = QuotaNode(name, quotas_of(spec.resource_groups) if spec is not None else {}, parent)
        return cohorts[name]

    # Also one that no queue is in: what it has is lent to all the others.
    for name in sorted(known):
        cohort(name)
    queues = _by_name(snapshot.table(CLUSTER_QUEUES))
    return {
        name: QuotaNode(name, quotas_of(queue.spec.resource_groups), cohort(queue.spec.cohort_name))
        for name, queue in sorted(queues.items())
    }


def filling_in(snapshot: Snapshot) -> PodDefaults:
    """What the API server will add to pods when they are made."""
    return PodDefaults(snapshot.table(LIMIT_RANGES).values(), snapshot.table(RUNTIME_CLASSES).values())
