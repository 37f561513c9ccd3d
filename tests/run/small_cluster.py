"""A cluster small enough to trust, with watches: enough to run whole replicas against it on virtual time."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from growth.api.actions import Action, Hold
from growth.api.kinds import LEASES, NODES, PODS, Kind
from growth.api.settings.model import Settings
from growth.decide.contract import AnyCapability, Capability, CapabilityName, Decision, Inputs
from growth.kube.client import Client
from growth.kube.transport import Request, Response
from growth.observe.snapshot import Snapshot
from growth.run.health import ProcessHealth
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import played
from tests.builders import a_bookmark, a_node, a_pod
from tests.kube.fake_api import FakeApi, FakeSend, Object
from tests.kube.scripted import ScriptedStream

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEASE = LEASES.path("growth", "growth-system")


class SmallCluster(FakeApi):
    """Objects by path; whoever watches hears of every change."""

    def __init__(self) -> None:
        super().__init__()
        self._watchers: list[tuple[str, asyncio.Queue[bytes]]] = []

    def put(self, path: str, body: Object) -> Object:
        kind = "MODIFIED" if path in self.objects else "ADDED"
        stored = super().put(path, body)
        for collection, queue in self._watchers:
            if path.rpartition("/")[0] == collection:
                queue.put_nowait(_line(kind, stored))
        return stored

    def fall_silent(self) -> None:
        """Who watches now hears of nothing any more, and does not know it."""
        self._watchers = [("", queue) for _, queue in self._watchers]

    def add_node(self, name: str) -> None:
        self.put(NODES.path(name), a_node(name))

    def add_pod(self, name: str) -> None:
        # Watches are of all namespaces, so that is where this server keeps them.
        self.put(PODS.path(name), a_pod(name, node=""))

    @property
    def leader(self) -> str:
        return self.objects.get(LEASE, {}).get("spec", {}).get("holderIdentity", "")

    async def lines(self, collection: str) -> AsyncGenerator[bytes]:
        """A streamed list of a collection, and everything after it."""
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        for path, body in list(self.objects.items()):
            if path.rpartition("/")[0] == collection:
                queue.put_nowait(_line("ADDED", body))
        queue.put_nowait(_line("BOOKMARK", a_bookmark(self.version, ends_initial_events=True)))
        self._watchers.append((collection, queue))
        try:
            while True:
                try:
                    async with asyncio.timeout(60):
                        line = await queue.get()
                except TimeoutError:
                    line = _line("BOOKMARK", a_bookmark(self.version))
                yield line
        finally:
            self._watchers = [one for one in self._watchers if one[1] is not queue]


class Way(FakeSend):
    """One replica's way to the cluster."""

    def __init__(self, cluster: SmallCluster) -> None:
        super().__init__(cluster, asyncio.get_running_loop().time)
        self._cluster = cluster

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[ScriptedStream]:  # pyright: ignore[reportIncompatibleMethodOverride]
        yield _Lines(self._cluster.lines(request.path))


class _Lines(ScriptedStream):
    def __init__(self, lines: AsyncGenerator[bytes]) -> None:
        super().__init__(Response(200, b""))
        self._lines = lines

    async def batches(self) -> AsyncGenerator[list[bytes]]:
        async for line in self._lines:
            yield [line]


class Replica:
    """One whole Growth, and its health."""

    def __init__(
        self,
        cluster: SmallCluster,
        name: str,
        *capabilities: AnyCapability,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.way = Way(cluster)
        self.lease_way = Way(cluster)
        self.health: ProcessHealth = new_health()
        self.plant = ReplicaConfig(
            client=Client(self.way),
            lease_client=Client(self.lease_way),
            settings=Settings(),
            capabilities=capabilities,
            host=played(name, now or wall_clock()),
        )
        self.task: asyncio.Task[None] | None = None

    def start(self) -> asyncio.Task[None]:
        self.task = asyncio.create_task(control(self.plant, self.health))
        return self.task

    async def stop(self) -> None:
        assert self.task
        self.task.cancel()
        await asyncio.wait({self.task})

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.way.sent if request.writes]


def wall_clock() -> Callable[[], datetime]:
    clock = asyncio.get_running_loop().time
    return lambda: NOON + timedelta(seconds=clock())


class Scribe:
    """A decider that notes each pass, and says what it was told to say."""

    def __init__(self, *said: Action | Hold) -> None:
        self.passes: list[datetime] = []
        self.states: list[Inputs[Any, Any, Any]] = []
        self.seen: list[int] = []
        self.decide: Callable[[Snapshot, Inputs[Any, Any, Any]], Decision[Any]] = lambda _, __: Decision(
            carry=None, said=said
        )

    def __call__(self, inputs: Inputs[Any, Any, Any]) -> Decision[Any]:
        assert inputs.settings == Settings()
        self.passes.append(inputs.snapshot.now)
        self.states.append(inputs)
        self.seen.append(len(inputs.snapshot.waiting))
        return self.decide(inputs.snapshot, inputs)

    def capability(
        self, name: str = "test", *, is_for_leader: bool = True, watches: tuple[Kind[Any], ...] = (PODS, NODES)
    ) -> AnyCapability:
        return Capability(
            name=CapabilityName(name),
            decide=self,
            initial_carry=lambda _snapshot, _settings: None,
            watches=watches,
            scope="leader" if is_for_leader else "every_replica",
        )

    @property
    def times(self) -> list[float]:
        return [(when - NOON).total_seconds() for when in self.passes]


def _line(kind: str, body: object) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode()
