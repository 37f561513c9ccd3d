"""A provider whose answers come late, or not at all, and are timed by the clock of whoever asked."""

import asyncio
import random
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import TypeVar

import msgspec

from growth.api.machine import Machine, MachineRequest, PowerReading
from growth.api.offering import Offering
from growth.cloud.errors import Unavailable
from growth.cloud.kwok.provider import KwokProvider

Timed = TypeVar("Timed", Machine, PowerReading)


class Answers:
    """How it answers questions about machines from now on."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.failing = 0.0
        """So great a share of them by an error."""
        self.latest_seconds = 0.0
        """How long an answer may be on its way."""

    def be_well(self) -> None:
        """At once, and all of them."""
        self.failing = self.latest_seconds = 0.0

    async def travel(self, what: str) -> None:
        """An answer was given, and is on its way."""
        if self.latest_seconds:
            await asyncio.sleep(self._chance.random() * self.latest_seconds)
        if self.failing and self._chance.random() < self.failing:
            raise Unavailable(f"{what}: no answer", may_have_acted=True)


class Answering:
    """The provider as one replica sees it."""

    def __init__(self, provider: KwokProvider, answers: Answers, skew: Callable[[], timedelta]) -> None:
        self._provider, self._answers, self._skew = provider, answers, skew

    @property
    def name(self) -> str:
        """The provider's."""
        return self._provider.name

    async def offerings(self) -> Sequence[Offering]:
        """What is sold."""
        return await self._provider.offerings()

    async def create(self, request: MachineRequest) -> Machine:
        """Buy."""
        return await self._provider.create(request)

    async def list(self) -> Sequence[Machine]:
        """All machines."""
        skew = self._skew()
        machines = await self._provider.list()
        await self._answers.travel("list")
        return [_timed(machine, skew) for machine in machines]

    async def delete(self, machine_id: str) -> None:
        """Give back."""
        await self._provider.delete(machine_id)

    async def power(self, machine_id: str) -> PowerReading:
        """One machine's power."""
        skew = self._skew()
        reading = await self._provider.power(machine_id)
        await self._answers.travel("power")
        return _timed(reading, skew)

    async def fence(self, machine_id: str) -> PowerReading:
        """Cut its power."""
        reading = await self._provider.fence(machine_id)
        skew = self._skew()
        await self._answers.travel("fence")
        return _timed(reading, skew)


def _timed(answer: Timed, skew: timedelta) -> Timed:
    return msgspec.structs.replace(answer, read_at=answer.read_at + skew)
