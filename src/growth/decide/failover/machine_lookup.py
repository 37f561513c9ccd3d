"""Which machine a node runs on, and what its provider said about it without being asked.

By providerID alone: a machine that bears the node's name may be another one.
"""

from collections.abc import Mapping
from functools import cached_property

import msgspec

from growth.api.machine import Machine, PowerReading
from growth.api.provider_state import ProviderState


class MachineLocation(msgspec.Struct, frozen=True):
    """Whom to ask about a machine."""

    provider: str
    machine_id: str


class MachineLookup:
    """What the providers listed."""

    def __init__(self, clouds: Mapping[str, ProviderState]) -> None:
        self._clouds = clouds

    @cached_property
    def _by_id(self) -> dict[str, tuple[str, Machine]]:
        return {
            machine.provider_id: (name, machine) for name, cloud in self._clouds.items() for machine in cloud.machines
        }

    @cached_property
    def _prefixes(self) -> list[tuple[str, str]]:
        """What providerIDs begin with, and whose. One that lists nothing is not known: nor is it believed."""
        return [
            (machine.provider_id.removesuffix(machine.id), name)
            for name, cloud in self._clouds.items()
            for machine in cloud.machines[:1]
        ]

    def place(self, provider_id: str) -> MachineLocation | None:
        """Whom to ask about this machine; None if no provider is known to have such ones.

        Of two whose machines look alike (two projects of one provider), the one that does not have it would say that it
        is gone. So only the one that lists it is asked.
        """
        if provider_id in self._by_id:
            provider, machine = self._by_id[provider_id]
            return MachineLocation(provider, machine.id)
        fitting = [one for one in self._prefixes if one[0] and provider_id.startswith(one[0])]
        if len(fitting) != 1:
            return None
        prefix, provider = fitting[0]
        return MachineLocation(provider, provider_id.removeprefix(prefix))

    def listed(self, provider_id: str) -> Machine | None:
        """The machine, if some provider listed it when it last answered."""
        found = self._by_id.get(provider_id)
        return found[1] if found is not None else None

    def reading(self, provider_id: str) -> PowerReading | None:
        """What the last list says about this machine; None of a provider that is silent.

        That it is not in a list proves nothing: a list holds what was bought for this cluster, and a node may run on
        something else. Whether a machine is gone is asked about that machine alone.
        """
        place, machine = self.place(provider_id), self.listed(provider_id)
        cloud = self._clouds.get(place.provider) if place is not None else None
        return machine.reading if machine is not None and cloud is not None and cloud.answers else None

    def pages(self, provider: str, per_page: int) -> int:
        """How many calls a list of all its machines takes."""
        cloud = self._clouds.get(provider)
        return max(1, -(-len(cloud.machines) // per_page)) if cloud is not None else 1
