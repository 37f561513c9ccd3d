"""A small server, a small provider and an executor between them, on virtual time."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from growth.act.action_runner import Clients
from growth.act.effect_hooks import EffectHooks, EffectPoint
from growth.act.executor import Executor
from growth.api.actions import (
    CreateMachine,
    CreateObject,
    DeleteObject,
    EditObject,
    EvictPod,
    Outcome,
    PatchObject,
    RecordEvent,
)
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import EVENTS, NODES, PODS
from growth.api.machine import Machine, MachineRequest, Power, PowerReading
from growth.api.meta import ObjectMeta
from growth.api.offering import Offering
from growth.api.references import reference_by_name, reference_to
from growth.api.taints import STARTING
from growth.cloud.errors import ProviderError
from growth.kube.client import Client
from growth.kube.errors import Unreachable
from growth.kube.event_recorder import EventRecorder
from growth.kube.transport import Request
from tests.kube.fake_api import FakeApi, FakeSend

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
REQUEST = reference_by_name(NODE_REQUESTS, "default-1")
OFFERING = Offering(id="kwok-small-a", provider="kwok", server_type="small", location="a", price_per_hour=1.0)
MACHINE = MachineRequest(name="default-1", offering=OFFERING, pool="default")


def a_create(name: str = "default-1", offering: str = "kwok-small-a") -> CreateObject:
    subject = reference_by_name(NODE_REQUESTS, name)
    return CreateObject(
        subject=subject, why="a pod waits", body={"spec": {"pool": "default", "targetOffering": offering}}
    )


def a_patch(node: ObjectReference, *, version: int | None = None, value: str = "x") -> PatchObject:
    body = {"metadata": {"labels": {"growth.dev/pool": value}}}
    return PatchObject(subject=node, why="it is ours", body=body, resource_version=version)


def an_edit(node: ObjectReference) -> EditObject:
    """Take the first taint off a node, if it is the one that was seen there."""
    is_seen = {"op": "test", "path": "/spec/taints/0/key", "value": STARTING}
    return EditObject(subject=node, why="it is ready", operations=(is_seen, {"op": "remove", "path": "/spec/taints/0"}))


def a_delete(subject: ObjectReference) -> DeleteObject:
    return DeleteObject(subject=subject, why="nobody needs it")


def an_eviction(name: str = "web") -> EvictPod:
    return EvictPod(subject=reference_to(PODS, ObjectMeta(name, "shop", f"uid-{name}")), why="its node goes")


def an_event(why: str = "no stock") -> RecordEvent:
    return RecordEvent(subject=REQUEST, why=why, reason="NoCapacity", action="Provisioning")


def a_purchase() -> CreateMachine:
    return CreateMachine(subject=REQUEST, why="the request is new", provider="kwok", request=MACHINE)


class Shop:
    """A provider that counts; ``trouble`` is raised by the next call, ``seconds`` is how long one takes."""

    name = "kwok"

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}
        self.calls: list[str] = []
        self.trouble: ProviderError | None = None
        self.seconds = 0.0

    async def _call(self, what: str) -> None:
        self.calls.append(what)
        await asyncio.sleep(self.seconds)
        trouble, self.trouble = self.trouble, None
        if trouble:
            raise trouble

    async def offerings(self) -> Sequence[Offering]:
        return [OFFERING]

    async def create(self, request: MachineRequest) -> Machine:
        await self._call(f"create {request.name}")
        made = Machine(
            f"id-{request.name}",
            f"kwok://{request.name}",
            request.name,
            OFFERING.id,
            request.pool,
            NOON,
            Power.ON,
            NOON,
        )
        return self.machines.setdefault(request.name, made)

    async def list(self) -> Sequence[Machine]:
        return list(self.machines.values())

    async def delete(self, machine_id: str) -> None:
        await self._call(f"delete {machine_id}")
        self.machines = {name: machine for name, machine in self.machines.items() if machine.id != machine_id}

    async def power(self, machine_id: str) -> PowerReading:
        await self._call(f"power {machine_id}")
        return PowerReading(machine_id, Power.ON, NOON)

    async def fence(self, machine_id: str) -> PowerReading:
        await self._call(f"fence {machine_id}")
        return PowerReading(machine_id, Power.OFF, NOON)


class Workshop:
    """Everything an executor needs, and what came of it."""

    def __init__(self, *, points: EffectHooks | None = None, api: FakeApi | None = None) -> None:
        self.clock = asyncio.get_running_loop().time
        self.api = api or FakeApi()
        self.send = FakeSend(self.api, self.clock)
        self.shop = Shop()
        self.fence = 1e9
        client = Client(self.send)
        self.recorder = EventRecorder(client, "test", now=self.now)
        self.passed: list[tuple[str, EffectPoint, str]] = []
        note = EffectHooks(
            before=lambda point, subject: self.passed.append(("before", point, subject.name)),
            after=lambda point, subject: self.passed.append(("after", point, subject.name)),
        )
        self.doors = Clients(
            client.fenced(lambda: self.fence),
            self.recorder,
            self.now,
            {"kwok": self.shop},
            points or note,
        )
        self.outcomes: list[Outcome] = []
        self.wakes: list[float] = []
        self.loads: list[tuple[int, int]] = []
        self.pulse = CountingPulse()
        self.executor = Executor(
            self.doors, wake=lambda: self.wakes.append(self.clock()), witness=self, pulse=self.pulse
        )

    def now(self) -> datetime:
        return NOON + timedelta(seconds=self.clock())

    def ended(self, outcome: Outcome, seconds: float) -> None:
        assert seconds >= 0
        self.outcomes.append(outcome)

    def load(self, waiting: int, under_way: int) -> None:
        self.loads.append((waiting, under_way))

    @property
    def results(self) -> list[str]:
        return [outcome.result.value for outcome in self.outcomes]

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.send.sent if request.writes and EVENTS.plural not in request.path]

    def a_node(self, name: str = "n") -> ObjectReference:
        spec = {"taints": [{"key": key, "effect": "NoSchedule"} for key in (STARTING, "example.com/gpu")]}
        body = self.api.put(NODES.path(name), {"metadata": {"name": name, "labels": {}}, "spec": spec})
        return reference_to(NODES, ObjectMeta(name, uid=body["metadata"]["uid"]))

    def version_of(self, name: str = "n") -> int:
        return int(self.api.objects[NODES.path(name)]["metadata"]["resourceVersion"])

    def lose_answers(self) -> None:
        """From now on the server does what it is asked and nobody hears of it."""
        self.send.after = _lost


class CountingPulse:
    def __init__(self) -> None:
        self.is_resting = False
        self.beats = 0

    def beat(self) -> None:
        self.is_resting = False
        self.beats += 1

    def rest(self) -> None:
        self.is_resting = True


async def _lost(_: Request) -> None:
    raise Unreachable("the answer was lost", sent=True)
