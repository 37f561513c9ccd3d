"""How a cluster is: read from its record, the kernel and the components themselves."""

import asyncio
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from growth_lab.local_cluster import kubeconfig, process, state
from growth_lab.local_cluster.components import COMPONENTS, Plan, health
from growth_lab.local_cluster.errors import UnknownCluster
from growth_lab.local_cluster.http_health import admin_tls, is_well
from growth_lab.local_cluster.layout import Layout
from growth_lab.local_cluster.process import Process
from growth_lab.local_cluster.state import Record


class Condition(StrEnum):
    """One word for a cluster or a component."""

    UP = "up"
    STARTING = "starting"
    HURT = "hurt"  # of a cluster: some component is not up
    UNWELL = "unwell"  # of a component: runs, but does not say that it is well
    PAUSED = "paused"
    ENDED = "ended"
    ABANDONED = "abandoned"  # the starter died before the cluster was up


class ComponentStatus(msgspec.Struct, frozen=True):
    """One process of a cluster."""

    name: str
    condition: Condition
    pid: int | None
    port: int
    memory_bytes: int


class ClusterStatus(msgspec.Struct, frozen=True):
    """One cluster of this user."""

    name: str
    condition: Condition
    created_at: str
    server: str
    kubeconfig: str
    kubectl: str
    held_by: int | None  # the living process with which the cluster will die
    components: tuple[ComponentStatus, ...]

    @property
    def memory_bytes(self) -> int:
        """Of all components together."""
        return sum(component.memory_bytes for component in self.components)


async def status_of(name: str, environment: Mapping[str, str]) -> ClusterStatus:
    """One cluster, asked now; raises UnknownCluster."""
    layout, record = state.load(name, environment)
    if record is None or record.plan is None:
        return _unfinished(layout, record)
    plan = record.plan
    found = await asyncio.gather(
        *(_component(component, plan, record.processes.get(component)) for component in COMPONENTS)
    )
    return ClusterStatus(
        name=name,
        condition=_cluster_condition(record, [component.condition for component in found]),
        created_at=record.created_at,
        server=kubeconfig.server_url(plan.ports.apiserver),
        kubeconfig=str(layout.kubeconfig),
        kubectl=str(plan.binaries["kubectl"]),
        held_by=_holder(record),
        components=tuple(found),
    )


async def all_statuses(environment: Mapping[str, str]) -> list[ClusterStatus]:
    """Every cluster that left a folder, by name."""
    asked = (_status_if_there(name, environment) for name in state.names(environment))
    return [status for status in await asyncio.gather(*asked) if status is not None]


async def _status_if_there(name: str, environment: Mapping[str, str]) -> ClusterStatus | None:
    """Others come and go while we look: one that ended meanwhile is no error."""
    try:
        return await status_of(name, environment)
    except (UnknownCluster, FileNotFoundError):
        return None


async def _component(component: str, plan: Plan, running: Process | None) -> ComponentStatus:
    answer = health(component, plan.ports)
    look = process.look_at(running) if running else None
    if running is None or look is None:
        return ComponentStatus(component, Condition.ENDED, None, answer.port, 0)
    if look.is_paused:
        condition = Condition.PAUSED
    else:
        condition = Condition.UP if await is_well(answer, admin_tls(plan.layout)) else Condition.UNWELL
    return ComponentStatus(component, condition, running.pid, answer.port, look.memory_bytes)


def _cluster_condition(record: Record, components: list[Condition]) -> Condition:
    if not record.is_ready and not record.dies_with_starter:
        return Condition.STARTING if process.is_alive(record.starter) else Condition.ABANDONED
    if all(condition is Condition.ENDED for condition in components):
        return Condition.ENDED
    if not record.is_ready:
        return Condition.STARTING
    return Condition.UP if all(condition is Condition.UP for condition in components) else Condition.HURT


def _unfinished(layout: Layout, record: Record | None) -> ClusterStatus:
    """A cluster whose starter had not chosen ports yet, or never will."""
    starts = record is not None and process.is_alive(record.starter)
    return ClusterStatus(
        name=layout.name,
        condition=Condition.STARTING if starts else Condition.ABANDONED,
        created_at=record.created_at if record else "",
        server="",
        kubeconfig=str(layout.kubeconfig),
        kubectl="",
        held_by=_holder(record) if record else None,
        components=(),
    )


def _holder(record: Record) -> int | None:
    holds = record.dies_with_starter and process.is_alive(record.starter)
    return record.starter.pid if holds else None
