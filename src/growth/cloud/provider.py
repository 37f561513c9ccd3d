"""What Growth expects of whoever has machines: six questions, all of which may be asked again.

The names make that possible. The name of a NodeRequest is the name of its machine and of its node, and a provider has
at most one machine of a name: so a purchase that was interrupted anywhere is simply made again, and finds itself.
How to prove that a provider keeps these promises: ``growth_lab.provider_contract``.
"""

from collections.abc import Sequence
from typing import Protocol

from growth.api.machine import Machine, MachineRequest, PowerReading
from growth.api.offering import Offering


class Provider(Protocol):
    """Somebody who has machines. Every method raises a ``ProviderError`` and nothing else if it cannot answer."""

    @property
    def name(self) -> str:
        """What its offerings' ids begin with, such as ``hetzner``."""
        ...

    async def offerings(self) -> Sequence[Offering]:
        """What is sold, also what is sold out just now (``stock`` 0)."""
        ...

    async def create(self, request: MachineRequest) -> Machine:
        """The machine of this name, made if there is none; it may still be starting.

        A machine of this name that was made for another offering or pool is never handed out: ``Invalid``. Whoever is
        stopped in here, or gets no answer, finds in ``list`` what was made, and asks again.
        """
        ...

    async def list(self) -> Sequence[Machine]:
        """All machines that were made for this cluster, each with its power, as read after the call began."""
        ...

    async def delete(self, machine_id: str) -> None:
        """Remove this machine, and none that has its name by now. One that is gone already is no error.

        It may be listed for a while as stopping.
        """
        ...

    async def power(self, machine_id: str) -> PowerReading:
        """This machine's power now; ``Power.GONE`` if the provider has no such machine."""
        ...

    async def fence(self, machine_id: str) -> PowerReading:
        """Cut this machine's power for good, not asking its system, and say what its power is then.

        Returns when the provider is sure: ``Power.OFF``, or ``Power.GONE`` for a machine that it does not have.
        """
        ...
