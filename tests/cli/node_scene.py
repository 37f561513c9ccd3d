"""Two nodes on a virtual cluster, a provider that says what a test wants, and a person who asks for something."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from growth.api.kinds import NAMESPACES, NODES, PODS, VOLUME_ATTACHMENTS
from growth.api.machine import Machine, MachineRequest, Power, PowerReading
from growth.api.node import Node
from growth.api.offering import POOL, Offering
from growth.api.out_of_service import SHUTDOWN
from growth.api.settings.model import Settings
from growth.cli.node_out_of_service import NodeDrain, NodeNote, OperatorDialog
from growth.cloud.errors import ProviderError, Unavailable
from growth.cloud.provider import Provider
from growth.kube.client import Client
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.nodes import KWOK_LABEL, KWOK_VALUE, kwok_node
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.virtual_loop import run_virtually

DEAD, WELL = "default-1", "default-2"


class Oracle:
    """A provider of two machines. ``powers`` says how the first one is, answer by answer; the last one stays."""

    name = "oracle"

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self.powers: Sequence[Power | ProviderError] = [Power.OFF]
        self.is_changing = False
        self.listed = [DEAD, WELL]
        self.fenced: list[str] = []
        self.asked = 0

    async def offerings(self) -> Sequence[Offering]:
        return ()

    async def create(self, request: MachineRequest) -> Machine:
        raise Unavailable(f"nobody buys {request.name} here", may_have_acted=False)

    async def list(self) -> Sequence[Machine]:
        now = self._now()
        return [Machine(one, f"oracle://{one}", one, "small", "default", now, Power.ON, now) for one in self.listed]

    async def delete(self, machine_id: str) -> None:
        raise Unavailable(f"nobody deletes {machine_id} here", may_have_acted=False)

    async def power(self, machine_id: str) -> PowerReading:
        assert machine_id == DEAD
        self.asked += 1
        power = self.powers[0]
        self.powers = self.powers[1:] or self.powers
        if isinstance(power, ProviderError):
            raise power
        return PowerReading(machine_id, power, self._now(), self.is_changing)

    async def fence(self, machine_id: str) -> PowerReading:
        self.fenced.append(machine_id)
        self.powers = [Power.OFF]
        return PowerReading(machine_id, Power.OFF, self._now())


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for it, on virtual time."""
    async with asyncio.timeout(600):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.1)


class Desk:
    """A person at work: what they were told, and what they answer."""

    def __init__(self, cluster: VirtualCluster) -> None:
        self.cluster, self.client, self.now = cluster, cluster.admin(), cluster.clock.now
        self.oracle = Oracle(self.now)
        self.said: list[str] = []
        self.questions: list[str] = []
        self.answer = True
        self.settings = Settings()

    @property
    def talk(self) -> OperatorDialog:
        def agrees(question: str) -> bool:
            self.questions.append(question)
            return self.answer

        return OperatorDialog(self.said.append, agrees, self.now)

    @property
    def words(self) -> str:
        return "\n".join(self.said)

    async def take_out(
        self, name: str = DEAD, *, reason: str = "", fence: bool = False, force: bool = False, alone: bool = False
    ) -> None:
        """Ask for it; ``alone`` without any provider."""

        @asynccontextmanager
        async def open_oracle(_: Client) -> AsyncGenerator[Provider]:
            yield self.oracle

        options = NodeNote(name, "anna@desk", reason, fence=fence, force=force)
        await NodeDrain(self.client, self.settings, options, self.talk).run({} if alone else {"oracle": open_oracle})

    async def node(self, name: str = DEAD) -> Node:
        return await self.client.get(NODES, name)

    async def until_ready(self, name: str, *, is_ready: bool = True) -> None:
        async def is_so() -> bool:
            return (await self.node(name)).is_ready is is_ready

        await until(is_so)

    async def silence(self, name: str = DEAD) -> None:
        """Its kubelet is heard no more."""
        await self.client.patch(NODES, name, MergePatch({"metadata": {"labels": {KWOK_LABEL: None}}}))

    async def silence_for_long(self, name: str = DEAD) -> None:
        """Its kubelet is heard no more, and Kubernetes has noticed."""
        await self.silence(name)
        await self.until_ready(name, is_ready=False)

    async def wake(self, name: str = DEAD) -> None:
        """Its kubelet speaks again, and Kubernetes has noticed."""
        await self.client.patch(NODES, name, MergePatch({"metadata": {"labels": {KWOK_LABEL: KWOK_VALUE}}}))
        await self.until_ready(name)

    async def taint(self, name: str = DEAD, effect: str = "NoExecute") -> None:
        """Somebody uses kubectl."""
        there = [{"key": one.key, "effect": one.effect} for one in (await self.node(name)).spec.taints]
        taints = [*there, {"key": SHUTDOWN.key, "value": SHUTDOWN.value, "effect": effect}]
        await self.client.patch(NODES, name, MergePatch({"spec": {"taints": taints}}))

    async def run_pod(self, name: str = "db-0", **metadata: Any) -> None:  # noqa: ANN401
        """A pod of the dead node."""
        spec = {"nodeName": DEAD, "containers": [{"name": "main", "image": "main"}]}
        await self.client.create(PODS, {"metadata": {"name": name, **metadata}, "spec": spec}, "default")

        async def runs() -> bool:
            return (await self.client.get(PODS, name, "default")).status.phase == "Running"

        await until(runs)

    async def attach(self, volume: str = "pvc-1") -> None:
        """A volume on the dead node, which its driver does not let go of."""
        spec = {"attacher": "disk.example.org", "nodeName": DEAD, "source": {"persistentVolumeName": volume}}
        metadata = {"name": f"csi-{volume}", "finalizers": ["example.org/slow-driver"]}
        await self.client.create(VOLUME_ATTACHMENTS, {"metadata": metadata, "spec": spec})

    async def detach(self, volume: str = "pvc-1") -> None:
        """The driver lets go."""
        await self.client.patch(VOLUME_ATTACHMENTS, f"csi-{volume}", MergePatch({"metadata": {"finalizers": None}}))


def at_a_desk(tell: Callable[[Desk], Coroutine[Any, Any, None]]) -> None:
    """Both nodes are ready, and a story is told."""

    async def play() -> None:
        desk = Desk(VirtualCluster(1))
        await desk.client.create(NAMESPACES, {"metadata": {"name": desk.settings.namespace}})
        for name in (DEAD, WELL):
            await desk.client.create(NODES, kwok_node(name, provider_id=f"oracle://{name}", labels={POOL: "default"}))
            await desk.until_ready(name)
        await tell(desk)

    run_virtually(play())
