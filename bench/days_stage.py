"""A virtual cluster with Growth at work on it, as it is shipped, for a day."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import msgspec

from bench.days_load import Burst, Scaled, Shape
from bench.days_witness import APP
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import LEASES, NAMESPACES
from growth.api.offering import POOL
from growth.api.settings.model import (
    ConsolidateSettings,
    LeaderElectionSettings,
    ProvidersSettings,
    RemovalSettings,
    Settings,
)
from growth.cloud.kwok.plugin import open_kwok
from growth.cloud.kwok.provider import KwokProvider
from growth.cloud.plugins import ProviderEnvironment
from growth.decide.pipeline import CAPABILITIES
from growth.kube.client import Client
from growth.run.health import ProcessHealth
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import played
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.nodes.pod_status import FINISH_AFTER
from growth_lab.simulator.served_kinds import BUDGETS, DEPLOYMENTS, JOBS
from growth_lab.simulator.store import Store
from growth_lab.simulator.timings import Timings

# Nobody else wants to lead: to hold on to the lease every second would be a good part of the day's work.
_ALONE: Final = LeaderElectionSettings(
    lease_duration=timedelta(minutes=5), renew_deadline=timedelta(minutes=4), retry_period=timedelta(minutes=1)
)
# Nodes do not fall silent in these days, and in a large fleet the renewals of Leases would be most of what happens.
_SELDOM: Final = Timings(node_lease=400.0, node_monitor_grace=500.0)
# What is over need not be looked at for long.
_FORGOTTEN_AFTER_SECONDS: Final = 60


def settings_with(consolidate: Mapping[str, Any], removal: Mapping[str, Any]) -> Settings:
    """As they are by default, but for these."""
    return Settings(
        providers=ProvidersSettings(enabled="kwok"),
        leader_election=_ALONE,
        consolidate=msgspec.convert(consolidate, ConsolidateSettings),
        removal=msgspec.convert(removal, RemovalSettings),
    )


def pool_names(count: int) -> tuple[str, ...]:
    """The pools of a day: ``default`` alone, or with others beside it."""
    return ("default", *(f"pool-{number}" for number in range(1, count)))


def new_cluster(seed: int, *, is_large: bool) -> VirtualCluster:
    """A cluster without a node, as patient as Kubernetes is by default; the kubelets of a large one say less."""
    return VirtualCluster(seed, timings=_SELDOM if is_large else None, roles=shipped_roles())


@asynccontextmanager
async def growth_at_work(
    cluster: VirtualCluster,
    pool: Mapping[str, Any],
    settings: Settings,
    pools: Sequence[str] = pool_names(1),
    *,
    offers: Callable[[ProviderEnvironment], AbstractAsyncContextManager[KwokProvider]] = open_kwok,
) -> AsyncGenerator[ProcessHealth]:
    """Growth with all its capabilities, under its own role, and pools of this spec, as long as the context lasts.
    ``offers`` opens the provider of its machines."""
    admin, now = cluster.admin(), cluster.clock.now
    for namespace in (settings.namespace, settings.memory.namespace, settings.memory.transaction_namespace):
        await admin.create(NAMESPACES, {"metadata": {"name": namespace}})
    lease = {"metadata": {"name": settings.leader_election.lease_name}, "spec": {}}
    await admin.create(LEASES, lease, settings.namespace)
    for name in pools:
        await admin.create(NODE_POOLS, {"metadata": {"name": name}, "spec": pool})

    @asynccontextmanager
    async def machines(client: Client) -> AsyncGenerator[KwokProvider]:
        async with offers(ProviderEnvironment(client, settings.namespace, now)) as provider:
            yield provider

    client, health = cluster.client(service_account(*ACCOUNT)), new_health()
    plant = ReplicaConfig(
        client=client,
        lease_client=client,
        settings=settings,
        capabilities=CAPABILITIES,
        host=played("growth", now),
        providers={"kwok": machines},
    )
    running = asyncio.create_task(control(plant, health))
    try:
        yield health
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def do(store: Store, what: Scaled | Burst, pools: Sequence[str] = pool_names(1)) -> None:
    """A service is scaled, or a Job is sent; of several pools each has one, in turn."""
    if isinstance(what, Burst):
        store.create(JOBS, _job(what, _selector(what.name, pools)))
    elif store.get(DEPLOYMENTS, what.app.name, "default") is None:
        store.create(DEPLOYMENTS, _deployment(what, _selector(what.app.name, pools)))
        store.create(BUDGETS, _budget(what.app.name))
    else:
        store.patch(DEPLOYMENTS, what.app.name, "default", {"spec": {"replicas": what.replicas}})


def _selector(name: str, pools: Sequence[str]) -> dict[str, str]:
    number = int(name.rpartition("-")[2])
    return {POOL: pools[number % len(pools)]} if len(pools) > 1 else {}


def _pod_spec(shape: Shape, **fields: Any) -> dict[str, Any]:  # noqa: ANN401 - fields of a pod's spec
    requests = {"cpu": f"{shape.cpu_millis}m", "memory": f"{shape.memory_mib}Mi"}
    return {"containers": [{"name": "main", "image": "main", "resources": {"requests": requests}}], **fields}


def _deployment(what: Scaled, selector: Mapping[str, str]) -> dict[str, Any]:
    labels = {APP: what.app.name}
    template = {"metadata": {"labels": labels}, "spec": _pod_spec(what.app.shape, nodeSelector=selector)}
    spec = {"replicas": what.replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": what.app.name, "namespace": "default"}, "spec": spec}


def _budget(app: str) -> dict[str, Any]:
    spec = {"maxUnavailable": "10%", "selector": {"matchLabels": {APP: app}}}
    return {"metadata": {"name": app, "namespace": "default"}, "spec": spec}


def _job(burst: Burst, selector: Mapping[str, str]) -> dict[str, Any]:
    template = {
        "metadata": {"annotations": {FINISH_AFTER: f"{round(burst.lasts)}s"}},
        "spec": _pod_spec(burst.shape, restartPolicy="Never", nodeSelector=selector),
    }
    spec = {
        "parallelism": burst.pods,
        "completions": burst.pods,
        "ttlSecondsAfterFinished": _FORGOTTEN_AFTER_SECONDS,
        "template": template,
    }
    return {"metadata": {"name": burst.name, "namespace": "default"}, "spec": spec}
