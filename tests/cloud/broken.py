"""Providers that break one promise each, as real ones do: each is a mistake that somebody has made before."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from growth.api.machine import Machine, MachineRequest, Power, PowerReading
from growth.api.offering import Offering
from growth.cloud.errors import Invalid, OutOfStock, RateLimited, Unavailable
from growth_lab.provider_contract import Trouble
from tests.cloud.memory import SMALL, MemoryCloud, MemoryProvider


class BuysAgain(MemoryProvider):
    async def known(self, request: MachineRequest) -> Machine | None:
        await super().known(request)
        return None


class RemembersOnlyItself(MemoryProvider):
    """Idempotent, as long as it is not restarted."""

    def __init__(self, cloud: MemoryCloud) -> None:
        super().__init__(cloud)
        self._mine: dict[str, Machine] = {}

    async def known(self, request: MachineRequest) -> Machine | None:
        return self._mine.get(request.name)

    def launched(self, request: MachineRequest) -> Machine:
        machine = self._mine[request.name] = super().launched(request)
        return machine

    async def delete(self, machine_id: str) -> None:
        await super().delete(machine_id)
        self._mine = {name: machine for name, machine in self._mine.items() if machine.id != machine_id}


class LooksThenBuys(MemoryProvider):
    """Two who look at one time both see nothing."""

    async def known(self, request: MachineRequest) -> Machine | None:
        known = await super().known(request)
        await asyncio.sleep(0)
        return known


class NamesItLater(MemoryProvider):
    """A second call gives the machine its name; whoever stops in between has bought something that nobody finds."""

    async def create(self, request: MachineRequest) -> Machine:
        await self.reach()
        known = await self.known(request)
        if known is not None:
            return self.seen(known)
        machine = self.launched(msgspec.structs.replace(request, name="unnamed"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.cloud.machines[machine.id] = msgspec.structs.replace(machine, name=request.name)
        return self.cloud.machines[machine.id]


class CallsAnOutageEmpty(MemoryProvider):
    async def list(self) -> Sequence[Machine]:
        try:
            return await super().list()
        except Unavailable:
            return ()


class SellsNothingInAnOutage(MemoryProvider):
    async def offerings(self) -> Sequence[Offering]:
        return () if self.cloud.trouble is Trouble.OUTAGE else await super().offerings()


class LetsErrorsLeak(MemoryProvider):
    async def reach(self) -> None:
        if self.cloud.trouble is Trouble.OUTAGE:
            raise ConnectionResetError("reset by peer")
        await super().reach()


class CallsAnOutageGone(MemoryProvider):
    """The most dangerous one: it proves machines dead that are alive."""

    async def power(self, machine_id: str) -> PowerReading:
        try:
            return await super().power(machine_id)
        except Unavailable:
            return PowerReading(machine_id, Power.GONE, self.cloud.now)


class CannotDeleteTwice(MemoryProvider):
    async def delete(self, machine_id: str) -> None:
        if machine_id not in self.cloud.machines:
            raise Invalid(f"there is no machine {machine_id}")
        await super().delete(machine_id)


class UsesNamesAsIds(MemoryProvider):
    """Who still means yesterday's machine deletes today's."""

    def launched(self, request: MachineRequest) -> Machine:
        machine = super().launched(request)
        del self.cloud.machines[machine.id]
        named = msgspec.structs.replace(machine, id=machine.name, provider_id=f"memory://{machine.name}")
        self.cloud.machines[named.id] = named
        return named


class DeletesNothing(MemoryProvider):
    async def delete(self, machine_id: str) -> None:
        await self.power(machine_id)


class CutsNames(MemoryProvider):
    async def create(self, request: MachineRequest) -> Machine:
        return await super().create(msgspec.structs.replace(request, name=request.name[:40]))


class TakesAnyName(MemoryProvider):
    async def create(self, request: MachineRequest) -> Machine:
        return self.launched(request) if "_" in request.name else await super().create(request)


class HandsOutWhatIsThere(MemoryProvider):
    async def known(self, request: MachineRequest) -> Machine | None:
        known = await super().known(request)
        return known and msgspec.structs.replace(known, offering=request.offering.id, pool=request.pool)


class ShowsYesterday(MemoryProvider):
    """A cache that hides its age."""

    def seen(self, machine: Machine) -> Machine:
        return msgspec.structs.replace(super().seen(machine), read_at=self.cloud.now - timedelta(minutes=1))


class DoesNotSayInWhichZone(MemoryProvider):
    async def power(self, machine_id: str) -> PowerReading:
        reading = await super().power(machine_id)
        return msgspec.structs.replace(reading, read_at=reading.read_at.replace(tzinfo=None))


class AsksTheSystemToStop(MemoryProvider):
    """A dead system does not answer, and a living one may take its time."""

    async def fence(self, machine_id: str) -> PowerReading:
        reading = await self.power(machine_id)
        return msgspec.structs.replace(reading, power=Power.STOPPING)


class SaysOffTooEarly(MemoryProvider):
    async def fence(self, machine_id: str) -> PowerReading:
        reading = await self.power(machine_id)
        return reading if reading.power is Power.GONE else msgspec.structs.replace(reading, power=Power.OFF)


class DoesNotKnowTheDead(MemoryProvider):
    async def power(self, machine_id: str) -> PowerReading:
        if machine_id not in self.cloud.machines:
            await self.reach()
            raise Invalid(f"there is no machine {machine_id}")
        return await super().power(machine_id)


class LooksAtStockFirst(MemoryProvider):
    """What was bought yesterday cannot be found while nothing is left."""

    async def create(self, request: MachineRequest) -> Machine:
        if self.cloud.trouble is Trouble.OUT_OF_STOCK:
            raise OutOfStock("sold out", offering=request.offering.id)
        return await super().create(request)


class CallsSoldOutUnavailable(MemoryProvider):
    def check_stock(self, request: MachineRequest) -> None:
        if self.cloud.trouble is Trouble.OUT_OF_STOCK:
            raise Unavailable("412", may_have_acted=False)
        super().check_stock(request)


class HurriesUs(MemoryProvider):
    async def reach(self) -> None:
        if self.cloud.trouble is Trouble.RATE_LIMITED:
            raise RateLimited("too often", retry_after=0.0)
        await super().reach()


class DeniesThatItActed(MemoryProvider):
    def lose_answer(self) -> None:
        if self.cloud.trouble is Trouble.LOST_ANSWER:
            raise Unavailable("the answer was lost", may_have_acted=False)


class SellsForNothingKnown(MemoryProvider):
    async def offerings(self) -> Sequence[Offering]:
        return (msgspec.structs.replace(SMALL, price_per_hour=float("nan")),)


class SellsTwiceTheSame(MemoryProvider):
    async def offerings(self) -> Sequence[Offering]:
        return (SMALL, SMALL)


class ForgetsThePool(MemoryProvider):
    def launched(self, request: MachineRequest) -> Machine:
        return super().launched(msgspec.structs.replace(request, pool=""))


class NeverStarts(MemoryProvider):
    async def power(self, machine_id: str) -> PowerReading:
        reading = await super().power(machine_id)
        return msgspec.structs.replace(reading, power=Power.STARTING) if reading.power is Power.ON else reading
