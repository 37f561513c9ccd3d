"""Servers, looked up by their numbers before they are deleted: those of all who ask at once together, a page at a time.

Where one server goes, often a hundred do: a list of all that are ours costs fewer calls than one look at each. Whoever
the list misses is asked for by its number, so that a server of others is told from one that is gone.

Deleting and cutting power: only what is ours, and only when nobody else is at it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Final

from growth.api.machine import Power, PowerReading
from growth.cloud.errors import Invalid, ProviderError, Unavailable
from growth.cloud.hetzner.action_polling import ActionPoller, reason_of
from growth.cloud.hetzner.api_client import Api, Json
from growth.cloud.hetzner.inventory import Inventory
from growth.cloud.hetzner.machine_decoding import CLUSTER, DELETING, is_ours, reading_from
from growth.cloud.hetzner.placement_groups import PlacementGroups
from growth.cloud.hetzner.provider_errors import LOCKED, NOT_FOUND, ApiRefused, NoAnswer
from growth.cloud.hetzner.wire import Action, Server, read

# So long the first one waits for others. A deletion itself takes seconds.
_TOGETHER_SECONDS: Final = 0.2

Waiting = Mapping[int, asyncio.Future[Server | None]]


class ServerLookup:
    """Looks for everybody who waits; there is no task as long as nobody does."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._waiting: dict[int, asyncio.Future[Server | None]] = {}
        self._asked: Waiting = {}
        self._task: asyncio.Task[None] | None = None

    async def find(self, server_id: int) -> Server | None:
        """This server as it is now, whoever it belongs to; None if the API has none of this number."""
        loop = asyncio.get_running_loop()
        found = self._waiting.get(server_id)
        if found is None:
            found = self._waiting[server_id] = loop.create_future()
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._look(), name="hetzner servers")
        # Another one may wait for the same: who goes does not take the answer along.
        return await asyncio.shield(found)

    async def close(self) -> None:
        """Whoever waits is told that nobody looks any more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        _tell_all({**self._asked, **self._waiting}, NoAnswer("the provider is closed", may_have_acted=False))

    async def _look(self) -> None:
        while self._waiting:
            await asyncio.sleep(_TOGETHER_SECONDS)
            # Who comes from now on did not ask before this was read, and waits for the next look.
            waiting = self._asked = self._waiting
            self._waiting = {}
            known: Mapping[int, Server] = {}
            if len(waiting) > self._inventory.pages:
                try:
                    known = await self._inventory.listed()
                except (ApiRefused, NoAnswer, ProviderError) as error:
                    _tell_all(waiting, error)
                    continue
            await asyncio.gather(*(self._tell(number, one, known) for number, one in waiting.items()))

    async def _tell(self, number: int, waiting: asyncio.Future[Server | None], known: Mapping[int, Server]) -> None:
        try:
            server = known.get(number) or await self._inventory.find(number)
        except (ApiRefused, NoAnswer, ProviderError) as error:
            _tell_all({number: waiting}, error)
        else:
            if not waiting.done():
                waiting.set_result(server)


def _tell_all(waiting: Waiting, error: Exception) -> None:
    for one in waiting.values():
        if not one.done():
            one.set_exception(error)
            one.exception()  # whoever asked may have gone; then nobody misses it


# Another action has the server for itself: it is being created, attached or started. Growth asks again after that.
_LOCKED_PAUSES_SECONDS: Final = (1.0, 2.0, 3.0, 5.0, 8.0, 10.0)
_FOLLOWED_SECONDS: Final = 60.0
# How often a power reading is looked at while something else moves the server.
_LOOKS: Final = 10
_LOOK_PAUSE_SECONDS: Final = 3.0


class ServerDeletion:
    """Removes servers and cuts their power; raises Refused, Silent or a ProviderError."""

    def __init__(
        self,
        api: Api,
        cluster: str,
        *,
        inventory: Inventory,
        following: ActionPoller,
        spreading: PlacementGroups,
        now: Callable[[], datetime],
    ) -> None:
        self._api, self._cluster, self._now = api, cluster, now
        self._inventory, self._following, self._spreading = inventory, following, spreading
        self._looking_up = ServerLookup(inventory)

    async def delete(self, server_id: int) -> None:
        """It goes; one that is gone already is no error."""
        server = await self._looking_up.find(server_id)
        if server is None:
            return
        self._check_is_ours(server)
        if server.status == DELETING:
            return
        if server.protection.delete:
            raise Invalid(
                f"server {server_id} ({server.name}) is protected against deletion: somebody must lift that at Hetzner"
            )
        answer = await self._unlocked(lambda: self._api.ask("DELETE", f"/servers/{server_id}"))
        self._inventory.note_deletion(server_id)
        if answer is not None:
            await self._follow(answer, f"delete {server_id}")
        if server.placement_group is not None:
            await self._spreading.leave(server.placement_group, server_id)

    async def fence(self, server_id: int) -> PowerReading:
        """Cut its power and look until it is seen without. Raises Unavailable if it is not, after a while."""
        is_cut = False
        for _ in range(_LOOKS):
            read_at = self._now()
            server = await self._inventory.find(server_id)
            if server is None:
                return PowerReading(str(server_id), Power.GONE, read_at)
            self._check_is_ours(server)
            reading = reading_from(server, read_at)
            if reading.power is Power.OFF and not reading.is_changing:
                return reading
            if is_cut or server.status == DELETING:
                await asyncio.sleep(_LOOK_PAUSE_SECONDS)
                continue
            answer = await self._unlocked(lambda: self._api.ask("POST", f"/servers/{server_id}/actions/poweroff"))
            if answer is not None:
                await self._follow(answer, f"fence {server_id}")
            is_cut = True
        raise Unavailable(f"fence {server_id}: it was not seen without power", may_have_acted=True)

    async def close(self) -> None:
        """Look for nobody any more."""
        await self._looking_up.close()

    def _check_is_ours(self, server: Server) -> None:
        if not is_ours(server.labels, self._cluster):
            owner = server.labels.get(CLUSTER)
            whose = f"of the cluster {owner!r}" if owner else f"without the label {CLUSTER}"
            raise Invalid(f"server {server.id} ({server.name}) is left alone: {whose}, expected {self._cluster!r}")

    async def _unlocked(self, ask: Callable[[], Awaitable[Json]]) -> Json | None:
        """Ask, and again while another action runs; None if the server is gone meanwhile."""
        for pause in (*_LOCKED_PAUSES_SECONDS, None):
            try:
                return await ask()
            except ApiRefused as refused:
                if refused.code == NOT_FOUND:
                    return None
                if refused.code != LOCKED or pause is None:
                    raise
                await asyncio.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    async def _follow(self, answer: Json, what: str) -> None:
        action = read(answer.get("action"), Action, what)
        failed = await self._following.failures([action], _FOLLOWED_SECONDS)
        if failed:
            raise Unavailable(f"{what}: {reason_of(failed)}", may_have_acted=True)
