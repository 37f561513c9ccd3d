"""The servers of this cluster, as the API lists them; and a second look at those that a list suddenly misses.

A server that is missing counts as gone, and what ran on it may then be started elsewhere. A list is weak evidence for
that: pages shift while they are read, and a label that somebody removed hides a server that runs. So whoever was known
and is missing is asked for by its number, once.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from growth.api.machine import Machine
from growth.cloud.hetzner.api_client import PER_PAGE, Api, read_all
from growth.cloud.hetzner.machine_decoding import CLUSTER, machine_from
from growth.cloud.hetzner.provider_errors import NOT_FOUND, ApiRefused
from growth.cloud.hetzner.rate_budget import PollPace
from growth.cloud.hetzner.wire import Server, read


class Inventory:
    """Knows the servers that it has seen, and nothing else about them but who they are."""

    def __init__(self, api: Api, cluster: str, now: Callable[[], datetime], pace: PollPace) -> None:
        self._api, self._cluster = api, cluster
        self._now, self._pace = now, pace
        self._known: dict[int, Server] = {}
        self._terminating: set[int] = set()

    def note(self, server: Server) -> None:
        """It was made, or found: it should be in the next list."""
        self._known[server.id] = server

    def note_deletion(self, server_id: int) -> None:
        """It was deleted at our wish: nobody wonders when it is missing."""
        self._terminating.add(server_id)

    async def machines(self) -> Sequence[Machine]:
        """All servers of this cluster, read after the call began. A long list may have to wait for its turn."""
        await self._pace.wait(self.pages)
        read_at = self._now()
        expected = {number: server for number, server in self._known.items() if number not in self._terminating}
        listed = dict(await self.listed(is_urgent=False))
        for server in await self._still_there(server for server in expected.values() if server.id not in listed):
            listed[server.id] = server
        # What was made while we read may be missing, and is kept for the next list.
        made = {number: server for number, server in self._known.items() if number not in expected}
        self._known = {
            **{number: server for number, server in made.items() if number not in self._terminating},
            **listed,
        }
        self._terminating &= set(listed)
        return tuple(machine_from(server, read_at) for server in listed.values())

    @property
    def pages(self) -> int:
        """How many calls it takes to list all servers, as far as we know."""
        return -(-len(self._known) // PER_PAGE) or 1

    async def listed(self, *, is_urgent: bool = True) -> Mapping[int, Server]:
        """All that have the cluster's label, by number, read after the call began."""
        query = {"label_selector": f"{CLUSTER}={self._cluster}", "sort": "id:asc"}
        servers, pages = await read_all(self._api, "/servers", "servers", Server, query, is_urgent=is_urgent)
        self._pace.note(pages)
        return {server.id: server for server in servers}

    async def find(self, server_id: int, *, is_urgent: bool = True) -> Server | None:
        """This server, whoever it belongs to; None if the API has none of this number."""
        try:
            answer = await self._api.ask("GET", f"/servers/{server_id}", is_urgent=is_urgent)
        except ApiRefused as refused:
            if refused.code == NOT_FOUND:
                return None
            raise
        return read(answer.get("server"), Server, "GET /servers")

    async def find_by_name(self, name: str) -> Server | None:
        """The server of this name, whoever it belongs to: names are unique in a project."""
        answer = await self._api.ask("GET", "/servers", query={"name": name})
        found = read(answer.get("servers"), list[Server], "GET /servers")
        return found[0] if found else None

    async def _still_there(self, missing: Iterable[Server]) -> Sequence[Server]:
        known = list(missing)
        found = await asyncio.gather(*(self.find(server.id, is_urgent=False) for server in known))
        return [
            # Without its labels nobody would know any more what it was bought as.
            msgspec.structs.replace(now, labels={**before.labels, **now.labels})
            for before, now in zip(known, found, strict=True)
            if now is not None
        ]
