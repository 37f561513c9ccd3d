"""Servers, looked up by their numbers before they are deleted: those of all who ask at once together, a page at a time.

Where one server goes, often a hundred do: a list of all that are ours costs fewer calls than one look at each. Whoever
the list misses is asked for by its number, so that a server of others is told from one that is gone.
"""

import asyncio
from collections.abc import Mapping
from typing import Final

from growth.cloud.errors import ProviderError
from growth.cloud.hetzner.inventory import Inventory
from growth.cloud.hetzner.refusals import Refused, Silent
from growth.cloud.hetzner.wire import Server

# So long the first one waits for others. A deletion itself takes seconds.
_TOGETHER_SECONDS: Final = 0.2

Waiting = Mapping[int, asyncio.Future[Server | None]]


class LookingUp:
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
        _tell_all({**self._asked, **self._waiting}, Silent("the provider is closed", may_have_acted=False))

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
                except (Refused, Silent, ProviderError) as error:
                    _tell_all(waiting, error)
                    continue
            await asyncio.gather(*(self._tell(number, one, known) for number, one in waiting.items()))

    async def _tell(self, number: int, waiting: asyncio.Future[Server | None], known: Mapping[int, Server]) -> None:
        try:
            server = known.get(number) or await self._inventory.find(number)
        except (Refused, Silent, ProviderError) as error:
            _tell_all({number: waiting}, error)
        else:
            if not waiting.done():
                waiting.set_result(server)


def _tell_all(waiting: Waiting, error: Exception) -> None:
    for one in waiting.values():
        if not one.done():
            one.set_exception(error)
            one.exception()  # whoever asked may have gone; then nobody misses it
