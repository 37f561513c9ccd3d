"""Played machines in a virtual cluster, under the shipped role."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from growth.cloud.kwok.catalog import Catalog
from growth.cloud.kwok.machine_controller import MachineController
from growth.cloud.kwok.provider import KwokProvider
from growth.kube.client import Client
from growth.run.shipped_manifests import shipped_roles
from growth_lab.simulator.api.rbac import ADMIN, service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.served_kinds import NAMESPACES, NODES
from growth_lab.simulator.store import Event
from tests.cloud.kwok_trial import CATALOGUE

NAMESPACE: Final = "growth-system"
GROWTH: Final = service_account(NAMESPACE, "growth")


class VirtualKwok:
    """Everything that is there, for one test on virtual time."""

    def __init__(self, seed: int = 1) -> None:
        self._cluster = VirtualCluster(seed, roles=shipped_roles())
        self.clock, self.store, self.faults = self._cluster.clock, self._cluster.store, self._cluster.faults
        self.store.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        self.registered: list[str] = []
        self.store.listen(NODES, self._hear_node)

    def client(self, user: str = GROWTH) -> Client:
        return self._cluster.client(user)

    def admin(self) -> Client:
        return self._cluster.admin()

    def provider(self, catalogue: Catalog = CATALOGUE, user: str = ADMIN) -> KwokProvider:
        return KwokProvider(self.client(user), NAMESPACE, catalogue, self.clock.now)

    def start_cloud(self) -> asyncio.Task[None]:
        return asyncio.create_task(MachineController(self.client(), NAMESPACE, self.clock.now).run())

    @asynccontextmanager
    async def cloud(self) -> AsyncGenerator[asyncio.Task[None]]:
        """The played cloud, as long as the context lasts."""
        task = self.start_cloud()
        try:
            yield task
            assert not task.done(), "the played cloud ended by itself"
        finally:
            await ended(task)

    def _hear_node(self, event: Event) -> None:
        if event.what == "ADDED":
            self.registered.append(event.object["metadata"]["name"])


async def ended(task: asyncio.Task[Any]) -> None:
    """Cancel, and wait until it is over."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
