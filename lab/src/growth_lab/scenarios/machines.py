"""Machines for stories: the KWOK provider with a catalogue of the story's own, and the hand that opens their nodes."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

from growth.api.kinds import CONFIG_MAPS
from growth.api.machine import Machine, MachineRequest
from growth.api.taints import STARTING
from growth.cloud.errors import Unavailable
from growth.cloud.kwok.catalog import Catalog, MachineBehavior, shipped_catalogue
from growth.cloud.kwok.faults import faults_from
from growth.cloud.kwok.machine_record import FAULTS, config_map_name
from growth.cloud.kwok.plugin import open_kwok
from growth.cloud.kwok.provider import KwokProvider
from growth.cloud.plugins import ProviderEnvironment
from growth_lab.scenarios.context import STORY_LABEL, Play

POOL: Final = "default"


class Machines:
    """The machines of one story. They live in its namespace, so stories do not see each other's."""

    def __init__(self, play: Play, provider: KwokProvider) -> None:
        self._play, self.provider = play, provider
        self.orders = 0

    async def order(self, name: str, offering: str) -> Machine:
        """A machine of this name, asked for again for as long as the answer is lost."""
        offered = next(one for one in await self.provider.offerings() if one.id == offering)
        labels = {STORY_LABEL: self._play.namespace}
        request = MachineRequest(self._play.full(name), offered, POOL, labels)
        while True:
            self.orders += 1
            try:
                return await self.provider.create(request)
            except Unavailable as lost:
                if not lost.may_have_acted:
                    raise
                self.set_catalogue()

    def set_catalogue(self, boot_seconds: float = 5.0, faults: str = "") -> None:
        """From now on machines boot so fast, and this goes wrong with them."""
        self.provider.catalogue = _catalogue(boot_seconds, faults)

    async def hurt(self, name: str, faults: str) -> None:
        """Something goes wrong with a machine that runs; an empty text mends it."""
        patch = {"metadata": {"annotations": {FAULTS: faults}}}
        await self._play.change(CONFIG_MAPS, config_map_name(self._play.full(name)), patch)

    async def give_back(self, machine: Machine) -> None:
        """Delete a machine; its node goes when the cloud has seen that."""
        await self.provider.delete(machine.id)

    async def open(self, *names: str) -> None:
        """Wait until these nodes are ready and let everybody in, which is Growth's part once it runs."""
        await self._play.ready(*names)
        for name in names:
            await self._play.change_taints(name, lambda taints: [one for one in taints if one.key != STARTING])

    async def all(self) -> Sequence[Machine]:
        """What the provider lists."""
        return await self.provider.list()


@asynccontextmanager
async def machines(play: Play) -> AsyncGenerator[Machines]:
    """A provider that lives as long as the context."""
    async with open_kwok(ProviderEnvironment(play.client, play.namespace, play.now)) as provider:
        found = Machines(play, provider)
        found.set_catalogue()
        yield found


def _catalogue(boot_seconds: float, faults: str) -> Catalog:
    shipped = shipped_catalogue("kwok")
    behaviour = MachineBehavior(timedelta(seconds=boot_seconds), faults_from(faults))
    return Catalog(
        shipped.provider,
        shipped.currency,
        shipped.offerings,
        {offering.id: behaviour for offering in shipped.offerings},
    )
