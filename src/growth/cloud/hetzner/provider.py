"""The provider of servers at Hetzner: the six questions, each as a few calls."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from growth.api.labels import is_hostname
from growth.api.machine import Machine, MachineRequest, Power, PowerReading
from growth.api.offering import Offering
from growth.cloud.errors import Invalid
from growth.cloud.hetzner.action_polling import ActionPoller
from growth.cloud.hetzner.api_client import Api
from growth.cloud.hetzner.catalog import PROVIDER, CatalogPoller
from growth.cloud.hetzner.deletion import ServerDeletion
from growth.cloud.hetzner.inventory import Inventory
from growth.cloud.hetzner.machine_decoding import number_of, reading_from
from growth.cloud.hetzner.placement_groups import PlacementGroups
from growth.cloud.hetzner.provider_errors import as_provider_errors
from growth.cloud.hetzner.rate_budget import PollPace
from growth.cloud.hetzner.server_creation import Renderer, ServerCreation


class HetznerProvider:
    """Servers of one cluster in one Hetzner project. ``close`` it."""

    def __init__(
        self, api: Api, cluster: str, renderer: Renderer, now: Callable[[], datetime], catalogue_every: timedelta
    ) -> None:
        clock = asyncio.get_running_loop().time
        self._api, self._now = api, now
        self._following = ActionPoller(api)
        self._inventory = Inventory(api, cluster, now, PollPace(clock))
        spreading = PlacementGroups(api, cluster)
        self._deletion = ServerDeletion(
            api, cluster, inventory=self._inventory, following=self._following, spreading=spreading, now=now
        )
        self._purchases = ServerCreation(
            api,
            cluster,
            inventory=self._inventory,
            following=self._following,
            deletion=self._deletion,
            spreading=spreading,
            renderer=renderer,
            now=now,
        )
        self._stocktaking = CatalogPoller(api, catalogue_every, now, clock)

    @property
    def name(self) -> str:
        """What its offerings' ids begin with."""
        return PROVIDER

    async def offerings(self) -> Sequence[Offering]:
        """What is sold, as of some minutes ago at most; if it cannot be read, each says how old it is."""
        return await self._stocktaking.offerings()

    async def create(self, request: MachineRequest) -> Machine:
        """The server of this name, made if there is none; if making it fails half-way, it is given back."""
        if not is_hostname(request.name):
            expected = "expected up to 63 small letters, digits and '-', beginning and ending with a letter or digit"
            raise Invalid(f"no server can be named {request.name!r}: {expected}")
        with as_provider_errors(f"create {request.name}", offering=request.offering.id):
            await self._stocktaking.check(request.offering)
            return await self._purchases.launch(request)

    async def list(self) -> Sequence[Machine]:
        """All servers that have the cluster's label. The more there are, the longer this may wait for its turn."""
        with as_provider_errors("list"):
            await self._api.refresh_token()
            return await self._inventory.machines()

    async def delete(self, machine_id: str) -> None:
        """Remove this server, if it is there and ours."""
        number = number_of(machine_id)
        if number is not None:
            with as_provider_errors(f"delete {machine_id}"):
                await self._deletion.delete(number)

    async def power(self, machine_id: str) -> PowerReading:
        """This server's power now."""
        read_at, number = self._now(), number_of(machine_id)
        with as_provider_errors(f"power {machine_id}"):
            server = await self._inventory.find(number) if number is not None else None
        return reading_from(server, read_at) if server else PowerReading(machine_id, Power.GONE, read_at)

    async def fence(self, machine_id: str) -> PowerReading:
        """Cut this server's power, if it is ours, and prove it."""
        number = number_of(machine_id)
        if number is None:
            return PowerReading(machine_id, Power.GONE, self._now())
        with as_provider_errors(f"fence {machine_id}"):
            return await self._deletion.fence(number)

    async def close(self) -> None:
        """Follow nothing any more."""
        await self._deletion.close()
        await self._following.close()
