"""Where a provider is tried: its cloud, what is bought there, and the troubles into which it can be brought."""

import asyncio
import secrets
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from enum import StrEnum

from growth.api.machine import Machine, MachineRequest
from growth.cloud.provider import Provider


class Broken(AssertionError):
    """A promise that the provider did not keep."""


class NotTried(Exception):
    """A check that cannot be made here, because the cloud cannot be brought into that trouble."""


class Trouble(StrEnum):
    """What a cloud can be brought into, for as long as a context lasts."""

    OUTAGE = "nothing is answered, and nothing is done"
    LOST_ANSWER = "what is ordered is done, but no answer comes back"
    UNAUTHORIZED = "the credentials are refused"
    RATE_LIMITED = "everything is refused because we ask too often"
    OUT_OF_STOCK = "what the trial buys is sold out"
    QUOTA_EXCEEDED = "the account may not have more machines"


class Trial(ABC):
    """One cloud, for one check. Only ``opened``, ``request`` and ``other_request`` must be written for a provider."""

    patience_seconds: float = 60.0
    """How long a cloud may take until what it did can be seen."""

    poll_seconds: float = 1.0
    interruptions: int = 15
    """At how many points a purchase is interrupted, twice; each costs a machine for a moment."""

    def __init__(self) -> None:
        self._prefix = f"try-{secrets.token_hex(3)}-"

    @abstractmethod
    def opened(self) -> AbstractAsyncContextManager[Provider]:
        """The provider on this cloud. Opened again, it remembers nothing, as after a crash."""

    @abstractmethod
    def request(self, name: str) -> MachineRequest:
        """Something cheap to buy under this name."""

    @abstractmethod
    def other_request(self, name: str) -> MachineRequest:
        """Something else to buy under this name: another offering."""

    def trouble(self, trouble: Trouble) -> AbstractAsyncContextManager[None]:
        """The cloud in trouble; what it does afterwards is normal again. Raise NotTried where that is impossible."""
        raise NotTried(f"this trial cannot make it happen that {trouble}")

    def now(self) -> datetime:
        """What the clock shows by which the provider says when it read something."""
        return datetime.now(UTC)

    async def wait(self, seconds: float) -> None:
        """Let time pass."""
        await asyncio.sleep(seconds)

    def name(self, suffix: str) -> str:
        """A name of this trial's own, so that machines of others do no harm, nor any is done to them."""
        return f"{self._prefix}{suffix}"

    def is_ours(self, machine: Machine) -> bool:
        """Whether a machine was bought in this trial."""
        return machine.name.startswith(self._prefix)

    async def listed(self, provider: Provider, name: str = "") -> list[Machine]:
        """This trial's machines, or those of one name."""
        machines = await provider.list()
        return [machine for machine in machines if self.is_ours(machine) and name in ("", machine.name)]

    async def until(self, condition: Callable[[], Awaitable[bool]], promise: str) -> None:
        """Wait for a promise to come true, as long as the trial is patient."""
        waited = 0.0
        while not await condition():
            if waited >= self.patience_seconds:
                raise Broken(f"{promise}; {self.patience_seconds:g} s later it still does not")
            await self.wait(self.poll_seconds)
            waited += self.poll_seconds

    async def until_gone(self, provider: Provider, machine: Machine) -> None:
        """A deleted machine may be listed for a while, but not for ever."""

        async def is_gone() -> bool:
            return all(found.id != machine.id for found in await provider.list())

        await self.until(is_gone, "a machine that was deleted leaves the list")


def require(condition: object, promise: str, *found: object) -> None:
    """Raise Broken with the promise, and with what was found instead."""
    if not condition:
        shown = f"; found {', '.join(map(repr, found))}" if found else ""
        raise Broken(f"{promise}{shown}")


def ids_of(machines: Sequence[Machine]) -> list[str]:
    """Their ids, in an order that says nothing."""
    return sorted(machine.id for machine in machines)
