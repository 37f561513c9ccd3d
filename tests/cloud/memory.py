"""A provider in memory that keeps every promise, so that the contract can be tried with ones that break one each."""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import msgspec

from growth.api.labels import is_hostname
from growth.api.machine import Machine, MachineRequest, Power, PowerReading
from growth.api.offering import Offering
from growth.cloud.errors import Invalid, OutOfStock, QuotaExceeded, RateLimited, Unauthorized, Unavailable
from growth_lab.provider_contract import Trial, Trouble

BOOT = timedelta(seconds=20)
BEGINNING = datetime(2026, 3, 1, 9, tzinfo=UTC)


def an_offering(server_type: str, price: float = 0.01) -> Offering:
    return Offering(
        id=f"memory-{server_type}-here",
        provider="memory",
        server_type=server_type,
        location="here",
        price_per_hour=price,
        resources={"cpu": "2", "memory": "4Gi"},
    )


SMALL, LARGE = an_offering("small"), an_offering("large", 0.02)


class MemoryCloud:
    """What is there, whichever process asks."""

    def __init__(self) -> None:
        self.now = BEGINNING
        self.machines: dict[str, Machine] = {}
        self.fenced: dict[str, None] = {}
        self.trouble: Trouble | None = None
        self.numbers = itertools.count(1)

    def power_of(self, machine: Machine) -> Power:
        if machine.id in self.fenced:
            return Power.OFF
        return Power.STARTING if self.now < machine.created_at + BOOT else Power.ON


class MemoryProvider:
    """One process that asks."""

    def __init__(self, cloud: MemoryCloud) -> None:
        self.cloud = cloud

    @property
    def name(self) -> str:
        return "memory"

    async def offerings(self) -> Sequence[Offering]:
        return (SMALL, LARGE)

    async def create(self, request: MachineRequest) -> Machine:
        if not is_hostname(request.name):
            raise Invalid(f"no machine can be named {request.name!r}")
        if request.offering.id not in (SMALL.id, LARGE.id):
            raise Invalid(f"{request.offering.id} is not sold")
        await self.reach()
        known = await self.known(request)
        if known is not None:
            if (known.offering, known.pool) != (request.offering.id, request.pool):
                raise Invalid(f"there is another machine {request.name!r}")
            return self.seen(known)
        self.check_stock(request)
        machine = self.launched(request)
        await asyncio.sleep(0)
        self.lose_answer()
        return machine

    async def list(self) -> Sequence[Machine]:
        await self.reach()
        return tuple(map(self.seen, self.cloud.machines.values()))

    async def delete(self, machine_id: str) -> None:
        await self.reach()
        self.cloud.machines.pop(machine_id, None)
        self.lose_answer()

    async def power(self, machine_id: str) -> PowerReading:
        await self.reach()
        machine = self.cloud.machines.get(machine_id)
        power = self.cloud.power_of(machine) if machine else Power.GONE
        return PowerReading(machine_id, power, self.cloud.now)

    async def fence(self, machine_id: str) -> PowerReading:
        await self.reach()
        if machine_id in self.cloud.machines:
            self.cloud.fenced[machine_id] = None
        return await self.power(machine_id)

    # What the broken ones change

    async def reach(self) -> None:
        await asyncio.sleep(0)
        match self.cloud.trouble:
            case Trouble.OUTAGE:
                raise Unavailable("nobody answers", may_have_acted=False)
            case Trouble.UNAUTHORIZED:
                raise Unauthorized("the token is wrong")
            case Trouble.RATE_LIMITED:
                raise RateLimited("too often", retry_after=3.0)
            case _:
                return

    async def known(self, request: MachineRequest) -> Machine | None:
        return next((machine for machine in self.cloud.machines.values() if machine.name == request.name), None)

    def check_stock(self, request: MachineRequest) -> None:
        if self.cloud.trouble is Trouble.OUT_OF_STOCK:
            raise OutOfStock("sold out", offering=request.offering.id)
        if self.cloud.trouble is Trouble.QUOTA_EXCEEDED:
            raise QuotaExceeded("no more")

    def launched(self, request: MachineRequest) -> Machine:
        number, now = next(self.cloud.numbers), self.cloud.now
        machine = Machine(
            id=str(number),
            provider_id=f"memory://{number}",
            name=request.name,
            offering=request.offering.id,
            pool=request.pool,
            created_at=now,
            power=Power.STARTING,
            read_at=now,
        )
        self.cloud.machines[machine.id] = machine
        return machine

    def seen(self, machine: Machine) -> Machine:
        return msgspec.structs.replace(machine, power=self.cloud.power_of(machine), read_at=self.cloud.now)

    def lose_answer(self) -> None:
        if self.cloud.trouble is Trouble.LOST_ANSWER:
            raise Unavailable("the answer was lost", may_have_acted=True)


class MemoryTrial(Trial):
    """Time passes only when somebody waits."""

    def __init__(self, provider: type[MemoryProvider] = MemoryProvider) -> None:
        super().__init__()
        self.cloud = MemoryCloud()
        self._provider = provider

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[MemoryProvider]:
        yield self._provider(self.cloud)

    def request(self, name: str) -> MachineRequest:
        return MachineRequest(name, SMALL, "pool")

    def other_request(self, name: str) -> MachineRequest:
        return MachineRequest(name, LARGE, "pool")

    @asynccontextmanager
    async def trouble(self, trouble: Trouble) -> AsyncGenerator[None]:
        self.cloud.trouble = trouble
        try:
            yield
        finally:
            self.cloud.trouble = None

    def now(self) -> datetime:
        return self.cloud.now

    async def wait(self, seconds: float) -> None:
        self.cloud.now += timedelta(seconds=seconds)
