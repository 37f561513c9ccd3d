"""A virtual API server with the shipped role, and as much of a control plane as played machines need.

Who carries kwok's label is Ready a second later, who lost it is not after 40; a CSINode goes with its node.
"""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from growth.api.catalogue import Catalogue
from growth.api.kwok import KWOK_LABEL
from growth.cloud.kwok.cloud import PlayedCloud
from growth.cloud.kwok.provider import KwokProvider
from growth.kube.client import Client
from growth.sim.api.rbac import ADMIN, service_account
from growth.sim.api.server import VirtualApiServer
from growth.sim.clock import Clock
from growth.sim.faults import Faults
from growth.sim.resources import CSI_NODES, NAMESPACES, NODES
from growth.sim.store import Event, Store
from tests.cloud.kwok_trial import CATALOGUE

RBAC: Final = Path(__file__).parents[2] / "charts" / "growth" / "rbac.yaml"
NAMESPACE: Final = "growth-system"
GROWTH: Final = service_account(NAMESPACE, "growth")
READY_SECONDS, SILENT_SECONDS = 1.0, 40.0


class VirtualKwok:
    """Everything that is there, for one test on virtual time."""

    def __init__(self, faults: Faults | None = None, seed: int = 1) -> None:
        self.clock = Clock()
        self.store = Store(self.clock, random.Random(seed))  # noqa: S311 - a seed, no secret
        self.faults = faults or Faults(random.Random(seed))  # noqa: S311
        roles = list(yaml.safe_load_all(RBAC.read_text()))
        self.server = VirtualApiServer(self.clock, self.store, faults=self.faults, roles=roles)
        self.store.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        self.registered: list[str] = []
        self.store.listen(NODES, self._hear_node)

    def client(self, user: str = GROWTH) -> Client:
        return Client(self.server.connect(user), jitter=random.Random(2))  # noqa: S311

    def admin(self) -> Client:
        return self.client(ADMIN)

    def provider(self, catalogue: Catalogue = CATALOGUE, user: str = ADMIN) -> KwokProvider:
        return KwokProvider(self.client(user), NAMESPACE, catalogue, self.clock.now)

    def start_cloud(self) -> asyncio.Task[None]:
        return asyncio.create_task(PlayedCloud(self.client(), NAMESPACE, self.clock.now).run())

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
        name = event.object["metadata"]["name"]
        if event.what == "DELETED":
            if self.store.get(CSI_NODES, name):
                self.store.delete(CSI_NODES, name)
            return
        if event.what == "ADDED":
            self.registered.append(name)
        played, ready = _is_played(event.object), _is_ready(event.object)
        if played != ready:
            self.clock.after(READY_SECONDS if played else SILENT_SECONDS, lambda: self._judge(name, ready=played))

    def _judge(self, name: str, *, ready: bool) -> None:
        node = self.store.get(NODES, name)
        if node is not None and _is_played(node) is ready:
            condition = {"type": "Ready", "status": "True" if ready else "Unknown"}
            self.store.patch(NODES, name, patch={"status": {"conditions": [condition]}})


async def ended(task: asyncio.Task[Any]) -> None:
    """Cancel, and wait until it is over."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def _is_played(node: dict[str, Any]) -> bool:
    return KWOK_LABEL in node["metadata"].get("labels", {})


def _is_ready(node: dict[str, Any]) -> bool:
    return any(condition["status"] == "True" for condition in node.get("status", {}).get("conditions", []))
