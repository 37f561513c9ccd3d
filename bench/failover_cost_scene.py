"""A virtual cluster on which one machine dies, with every request of Growth counted and every decision timed.

Growth runs as it is shipped, under its own role. The provider of the machines has a client of its own, so that what it
writes to play them is not counted. Databases (StatefulSets of one pod with one volume) are all on the machine that
dies.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import (
    CONFIG_MAPS,
    CSI_DRIVERS,
    LEASES,
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
)
from growth.api.offering import POOL
from growth.api.settings.model import FailoverSettings, ProvidersSettings, Settings
from growth.cloud.kwok.catalog import read_catalogue
from growth.cloud.kwok.machine_record import FAULTS, config_map_name
from growth.cloud.kwok.plugin import open_kwok
from growth.cloud.kwok.provider import KwokProvider
from growth.cloud.plugins import ProviderEnvironment
from growth.decide.contract import AnyCapability, Decider, Decision, Inputs
from growth.decide.pipeline import CAPABILITIES
from growth.kube.client import Client
from growth.kube.patches import MergePatch
from growth.kube.transport import Request, Response, Send, Stream
from growth.kube.verbs import permission_of
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import played
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.scenarios.replica import CATALOGUE
from growth_lab.scenarios.workloads import STATEFUL_SETS
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.served_kinds import NODES, PODS
from growth_lab.simulator.store import Store

FAILOVER: Final = "failover"
_DATABASES: Final = "databases"
_DRIVER: Final = "disk.growth.dev"
# A node that is unready for 20 minutes is removed by its pool. Here it has to stay out of service for an hour.
_UNREADY_AFTER: Final = "24h"
# Kubelets set it; without it no volume is attached to a node.
_ATTACHES: Final = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
_PATIENCE_SECONDS: Final = 7_200


class Spent(msgspec.Struct):
    """What Growth did in one window of time."""

    requests: Counter[str] = msgspec.field(default_factory=Counter[str])
    """By verb and resource, such as ``patch pods/status``."""
    writes_by_second: Counter[int] = msgspec.field(default_factory=Counter[int])
    lines: Counter[str] = msgspec.field(default_factory=Counter[str])
    """Lines that watches delivered, by resource."""
    passes: int = 0
    cpu_seconds: Counter[str] = msgspec.field(default_factory=Counter[str])
    """Of decisions, by capability."""
    longest_seconds: float = 0.0
    """The longest decision of failover."""


class Books:
    """What is counted now, and what failover carries from pass to pass."""

    def __init__(self) -> None:
        self.spent = Spent()
        self.carried: object = None

    def close(self) -> Spent:
        """End this window and begin the next."""
        spent, self.spent = self.spent, Spent()
        return spent

    def timed(self, capability: AnyCapability) -> AnyCapability:
        """The same capability, with the CPU seconds of each decision noted."""
        return msgspec.structs.replace(capability, decide=self._timed(capability.name, capability.decide))

    def _timed(self, name: str, decide: Decider[Any, Any, Any]) -> Decider[Any, Any, Any]:
        def decide_timed(inputs: Inputs[Any, Any, Any]) -> Decision[Any]:
            started = time.thread_time()
            decision = decide(inputs)
            seconds = time.thread_time() - started
            self.spent.cpu_seconds[name] += seconds  # pyright: ignore[reportArgumentType] - seconds, not a count
            if name == FAILOVER:
                self.spent.passes += 1
                self.spent.longest_seconds = max(self.spent.longest_seconds, seconds)
                self.carried = decision.carry
            return decision

        return decide_timed


class CountingSend:
    """``growth.kube.transport.Send`` that notes what is sent through it."""

    def __init__(self, inner: Send, books: Books) -> None:
        self._inner, self._books = inner, books

    def clock(self) -> float:
        """The clock of the one inside."""
        return self._inner.clock()

    async def send(self, request: Request) -> Response:
        """Send one, and count it."""
        spent = self._books.spent
        spent.requests[_worded(request)] += 1
        if request.writes:
            spent.writes_by_second[int(self.clock())] += 1
        return await self._inner.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        """Count the watch, and its lines."""
        worded = _worded(request)
        self._books.spent.requests[worded] += 1
        return self._counted(request, worded.partition(" ")[2])

    @asynccontextmanager
    async def _counted(self, request: Request, resource: str) -> AsyncGenerator[Stream]:
        async with self._inner.stream(request) as stream:
            yield _CountingStream(stream, self._books, resource)

    async def close(self) -> None:
        """Close the one inside."""
        await self._inner.close()


class _CountingStream:
    def __init__(self, inner: Stream, books: Books, resource: str) -> None:
        self._inner, self._books, self._resource = inner, books, resource
        self.status, self.headers = inner.status, inner.headers

    async def batches(self) -> AsyncGenerator[list[bytes]]:
        """The same lines."""
        async for batch in self._inner.batches():
            self._books.spent.lines[self._resource] += len(batch)
            yield batch

    async def body(self) -> bytes:
        """The same body."""
        return await self._inner.body()


def _worded(request: Request) -> str:
    permission = permission_of(request)
    if permission is None:
        return f"get {request.path}"
    space = " of nodes" if "/namespaces/kube-node-lease/" in request.path else ""
    return f"{permission.verb} {permission.resource}{space}"


class Scene:
    """The cluster and what was counted on it."""

    def __init__(self, mode: str, seed: int) -> None:
        self.cluster = VirtualCluster(seed, roles=shipped_roles())
        self.books = Books()
        self.settings = Settings(providers=ProvidersSettings(enabled="kwok"), failover=FailoverSettings(mode=mode))
        self._admin = self.cluster.admin()

    @property
    def store(self) -> Store:
        """All objects, as they are now."""
        return self.cluster.store

    @asynccontextmanager
    async def growth(self) -> AsyncGenerator[None]:
        """Growth with all capabilities, as long as the context lasts."""
        settings, now = self.settings, self.cluster.clock.now
        for namespace in (settings.namespace, settings.memory.namespace, settings.memory.transaction_namespace):
            await self._admin.create(NAMESPACES, {"metadata": {"name": namespace}})
        lease = {"metadata": {"name": settings.leader_election.lease_name}, "spec": {}}
        await self._admin.create(LEASES, lease, settings.namespace)

        @asynccontextmanager
        async def machines(_: Client) -> AsyncGenerator[KwokProvider]:
            async with open_kwok(ProviderEnvironment(self._admin, settings.namespace, now)) as provider:
                provider.catalogue = read_catalogue(CATALOGUE)
                yield provider

        send = CountingSend(self.cluster.api.connect(service_account(*ACCOUNT)), self.books)
        client = Client(send, jitter=random.Random(self.cluster.seed))
        plant = ReplicaConfig(
            client=client,
            lease_client=client,
            settings=settings,
            capabilities=[self.books.timed(capability) for capability in CAPABILITIES],
            host=played("growth", now),
            providers={"kwok": machines},
        )
        running = asyncio.create_task(control(plant, new_health()))
        try:
            yield
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    async def set_up(self, nodes: int, databases: int) -> str:
        """A node with all databases on it, then the others; gives the name of the first."""
        pool = {"serverTypes": [{"name": "large", "min": 1}], "scaleDown": {"unreadyAfter": _UNREADY_AFTER}}
        await self._admin.create(NODE_POOLS, {"metadata": {"name": _DATABASES}, "spec": pool})
        await self._until_open(1)
        await self._add_databases(databases)
        (home,) = {pod["spec"]["nodeName"] for pod in self.store.all(PODS)}
        types = [{"name": "large", "min": nodes}]
        await self._admin.patch(NODE_POOLS, _DATABASES, MergePatch({"spec": {"serverTypes": types}}))
        await self._until_open(nodes)
        return home

    async def hurt(self, node: str, faults: str) -> None:
        """Something goes wrong with the machine of this node; an empty text fixes it."""
        patch = MergePatch({"metadata": {"annotations": {FAULTS: faults}}})
        await self._admin.patch(CONFIG_MAPS, config_map_name(node), patch, self.settings.namespace)

    async def let_pass(self, duration: timedelta) -> Spent:
        """What Growth does in this time, and no other."""
        self.books.close()
        await asyncio.sleep(duration.total_seconds())
        return self.books.close()

    async def _until(self, holds: Callable[[], bool], what: str) -> None:
        for _ in range(_PATIENCE_SECONDS):
            if holds():
                return
            await asyncio.sleep(1)
        raise TimeoutError(f"within {_PATIENCE_SECONDS} s it did not happen that {what}")

    async def _until_open(self, count: int) -> None:
        await self._until(lambda: sum(map(_is_open, self.store.all(NODES))) >= count, f"{count} nodes are ready")
        for node in list(self.store.all(NODES)):
            self.store.patch(NODES, node["metadata"]["name"], patch={"metadata": {"annotations": _ATTACHES}})

    async def _add_databases(self, count: int) -> None:
        await self._admin.create(
            STORAGE_CLASSES, {"metadata": {"name": "disk"}, "provisioner": "kubernetes.io/no-provisioner"}
        )
        await self._admin.create(CSI_DRIVERS, {"metadata": {"name": _DRIVER}, "spec": {"attachRequired": True}})
        for number in range(count):
            await _add_database(self._admin, f"db-{number}")
        await self._until(lambda: sum(map(_runs, self.store.all(PODS))) >= count, f"{count} databases run")


def _is_open(node: dict[str, Any]) -> bool:
    conditions = node.get("status", {}).get("conditions", ())
    is_ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return is_ready and not node["spec"].get("taints")


def _runs(pod: dict[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") == "Running"


async def _add_database(client: Client, name: str) -> None:
    """One pod with one volume, which any node of the pool may run."""
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "resources": {"requests": {"storage": "1Gi"}},
    }
    volume = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "disk",
        "csi": {"driver": _DRIVER, "volumeHandle": f"volume-{name}"},
    }
    await client.create(PERSISTENT_VOLUMES, {"metadata": {"name": f"volume-{name}"}, "spec": volume})
    await client.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": f"data-{name}"}, "spec": claim}, "default")
    requests = {"requests": {"cpu": "100m", "memory": "64Mi"}}
    template = {
        "metadata": {"labels": {"app": name}},
        "spec": {
            "containers": [{"name": "main", "image": "main", "resources": requests}],
            "nodeSelector": {POOL: _DATABASES},
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}],
        },
    }
    spec = {"replicas": 1, "serviceName": name, "selector": {"matchLabels": {"app": name}}, "template": template}
    await client.create(STATEFUL_SETS, {"metadata": {"name": name}, "spec": spec}, "default")
