"""A shop's cluster in a bad night, as Growth writes it down: for a picture and for tests.

Who is in which state is made up; what follows for pools and cluster, and every word, is the registry's own. A network
partition has taken eleven of nineteen nodes, and other things were amiss before.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from growth.api.core import ConfigMap
from growth.api.growth_status import GROWTH_STATUS, STATUS, ClusterStatus
from growth.api.meta import ObjectMeta
from growth.api.node_pool import (
    NodeCounts,
    NodePool,
    NodePoolSpec,
    NodePoolStatus,
    OfferingStatus,
    ServerType,
    Unhealthy,
)
from growth.api.settings.model import RegistrySettings
from growth.cli.status_report import LeaderView, StatusReport, report_of
from growth.decide.facts.cluster_state import ClusterHealth, ClusterState, GroupKey, NodeState, Unit
from growth.decide.registry.cluster_health import checked
from growth.decide.registry.pool_health import PoolTally, grouped
from growth.decide.registry.status_report import status_of

NOW: Final = datetime(2026, 11, 15, 3, 0, tzinfo=UTC)
NAMESPACE: Final = "growth-system"
LEADER: Final = LeaderView(is_alive=True, holder="growth-7d9c5b6f4-x2x7k", renewed_at=NOW - timedelta(seconds=1))
_BEGAN: Final = NOW - timedelta(minutes=4, seconds=12)
_SILENT: Final = {
    "kwok-cx33-fsn1": ("0c81f6e2aa", "2f9b7700d1", "41d6a0b7c3", "5be8c1f004", "77aa30e91c", "8d02b46fe5"),
    "kwok-cx53-fsn1": ("b2407c99e1", "d5530fa812"),
}
_READY: Final = {
    ("default", "kwok-cx33-fsn1"): 3,
    ("default", "kwok-cx53-fsn1"): 1,
    ("gpu", "kwok-gex44-fsn1"): 1,
    ("batch", "kwok-cx53-nbg1"): 1,
}


def ago(**length: float) -> datetime:
    return NOW - timedelta(**length)


def told(status: ClusterStatus) -> ConfigMap:
    """The ConfigMap that says this."""
    return ConfigMap(ObjectMeta(name=GROWTH_STATUS), {STATUS: msgspec.json.encode(status).decode()})


def a_pool(name: str, status: NodePoolStatus | None = None) -> NodePool:
    spec = NodePoolSpec(server_types=(ServerType("cx33"),))
    return NodePool(ObjectMeta(name=name), spec, status or NodePoolStatus())


def a_report(status: ClusterStatus | None, pools: Iterable[NodePool] = (), leader: LeaderView = LEADER) -> StatusReport:
    """What ``growth status`` makes of it."""
    return report_of(told(status) if status is not None else None, pools, leader, NAMESPACE, NOW)


def unready(name: str, pool: str, offering: str) -> Unit:
    """A node that fell silent."""
    why = "its Ready condition is Unknown (NodeStatusUnknown); its machine is on"
    return Unit(name, NodeState.UNREADY, _BEGAN, why, pool, offering, has_node=True, is_unjustified=True, is_amiss=True)


def foreign(name: str) -> Unit:
    """A node of somebody else that fell silent."""
    why = "its Ready condition is Unknown"
    return Unit(name, NodeState.FOREIGN, _BEGAN, why, has_node=True, is_unjustified=True)


def cluster_of(units: Sequence[Unit], ready_of: Mapping[GroupKey, int], foreign_ready: int = 0) -> ClusterState:
    """What the registry makes of these, and of so many that work."""
    settings, ready = RegistrySettings(), sum(ready_of.values()) + foreign_ready
    before = ClusterHealth(healthy_since=ago(days=9))
    return ClusterState(
        at=NOW,
        units={},
        troubled={unit.name: (unit,) for unit in units},
        ready=ready,
        ready_of=ready_of,
        health=checked(before, ready, [unit for unit in units if unit.is_unjustified], _BEGAN, settings),
        groups=grouped(PoolTally(ready_of, units), {}, _BEGAN, settings),
    )


def a_night() -> tuple[ClusterStatus, list[NodePool]]:
    """What there is at ``NOW``: the ConfigMap's words, and the pools."""
    units = [
        Unit(
            "default-93c5d7e118", NodeState.REMOVAL_FAILED, ago(hours=2, minutes=31),
            "its machine is still there after 5 attempts", "default", "kwok-cx33-fsn1",
        ),
        *(unready(f"default-{end}", "default", offering) for offering, ends in _SILENT.items() for end in ends),
        unready("gpu-b1946ac924", "gpu", "kwok-gex44-fsn1"),
        Unit(
            "batch-e90b3d5a12", NodeState.FAILED_TO_START, ago(minutes=9),
            "its node registered, and did not become ready in time", "batch", "kwok-cx53-nbg1", is_amiss=True,
        ),
        Unit(
            "batch-a4e0f2b6d8", NodeState.NEVER_REGISTERED, ago(minutes=7),
            "its machine is there, but no node registered in time", "batch", "kwok-cx53-nbg1", is_amiss=True,
            missing_since=ago(minutes=22),
        ),
        Unit(
            "default-c7d11e9f30", NodeState.REQUESTED, ago(minutes=5), "", "default", "kwok-cx33-fsn1",
            missing_since=ago(minutes=5),
        ),
        foreign("control-2"),
        foreign("storage-1"),
    ]  # fmt: skip
    cluster = cluster_of(units, _READY, foreign_ready=2)
    sold_out = OfferingStatus(
        "kwok-cx53-fsn1",
        level=1,
        since=ago(minutes=1),
        until=NOW + timedelta(minutes=3, seconds=12),
        reason="OutOfStock",
        message="cx53 is sold out in fsn1",
    )
    pools = [
        a_pool(
            group.pool,
            NodePoolStatus(
                nodes=_COUNTS[group.pool],
                unhealthy=tuple(
                    Unhealthy(one.offering, one.unhealthy_since, one.why)
                    for one in cluster.groups.values()
                    if one.pool == group.pool and one.is_unhealthy
                ),
                offerings=(sold_out,) if group.pool == "batch" else (),
                missing_since=group.missing_since,
            ),
        )
        for group in cluster.groups.values()
        if not group.offering
    ]
    return status_of(cluster), pools


_COUNTS: Final = {
    "batch": NodeCounts(ready=1, failed=1, missing=1),
    "default": NodeCounts(ready=4, coming=1, unready=8, stuck=1),
    "gpu": NodeCounts(ready=1, unready=1),
}
