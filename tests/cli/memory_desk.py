"""A virtual cluster with memories, and a person who asks for something."""

import io
from collections.abc import Callable, Coroutine
from typing import Any

from rich.console import Console

from growth.api.kinds import NAMESPACES, NODES
from growth.api.node_memory import MARKER, MEMORIES, MemoryObject, NodeContents, NodeRecord, read_memory, text_of
from growth.api.settings.model import Settings
from growth.cli.memory_export import RecordSource, import_into
from growth.cli.memory_forget import ForgetOptions, WriteProgress, forget_memories
from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth_lab.local_cluster.nodes import kwok_node
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.virtual_loop import run_virtually


class Desk:
    """A person at work: what they were asked, and what they answer."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster, self.client, self.now = cluster, cluster.admin(), cluster.clock.now
        self.settings = Settings()
        self.questions: list[str] = []
        self.answer = True

    async def install(self) -> None:
        for namespace in (self.settings.memory.namespace, self.settings.memory.transaction_namespace):
            await self.client.create(NAMESPACES, {"metadata": {"name": namespace}})

    async def node(self, name: str, *, marker: str | None = None, **labels: str) -> None:
        """A node that is there."""
        marked = {MARKER: marker} if marker is not None else {}
        await self.client.create(NODES, kwok_node(name, labels={**labels, **marked}))

    async def remember(self, name: str, memento: NodeContents) -> None:
        """Growth wrote this down when the node left."""
        await self.write(name, {"memory": text_of(memento)})

    async def write(self, name: str, data: dict[str, str]) -> None:
        """Somebody wrote this, whatever it is."""
        body = {"metadata": {"name": name}, "data": data}
        await self.client.create(MEMORIES, body, self.settings.memory.namespace)

    async def memory(self, name: str) -> NodeRecord | None:
        try:
            found: MemoryObject = await self.client.get(MEMORIES, name, self.settings.memory.namespace)
        except NotFound:
            return None
        return read_memory(found)

    async def forget(self, options: ForgetOptions, client: Client | None = None) -> list[str]:
        def agrees(question: str) -> bool:
            self.questions.append(question)
            return self.answer

        where = self.settings.memory
        return await forget_memories(client or self.client, where, options, a_tally(), agrees=agrees, now=self.now)

    async def take_in(
        self, source: RecordSource, *, overwrite: bool = False, client: Client | None = None
    ) -> list[str]:
        where = self.settings.memory
        return await import_into(client or self.client, where, source, a_tally(), self.now, overwrite=overwrite)


def a_tally() -> WriteProgress:
    """Nobody looks on."""
    return WriteProgress(Console(file=io.StringIO()), "writing")


def at_a_desk(tell: Callable[[Desk], Coroutine[Any, Any, None]], *roles: dict[str, Any]) -> None:
    """A story is told on a cluster with the namespaces of memory."""

    async def play() -> None:
        desk = Desk(VirtualCluster(1, roles=roles))
        await desk.install()
        await tell(desk)

    run_virtually(play())
