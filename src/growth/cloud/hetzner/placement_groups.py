"""Spread placement groups: servers of a pool on different hosts, ten to a group; then the next group is opened.

A group goes with its last server. One that is left behind (a server that somebody else deleted, a call that failed)
costs nothing, and is the first that is filled again.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec

from growth.api.offering import POOL
from growth.cloud.errors import ProviderError
from growth.cloud.hetzner.api_client import Api, read_all
from growth.cloud.hetzner.machine_decoding import CLUSTER, is_ours
from growth.cloud.hetzner.provider_errors import NAME_TAKEN, ApiRefused, NoAnswer
from growth.cloud.hetzner.wire import PlacementGroup, read

MOST_IN_GROUP: Final = 10
# Two replicas open the same group at once, or fill one that we thought had room.
_ATTEMPTS: Final = 5


class PlacementGroups:
    """Groups of one cluster, named ``{cluster}-{pool}-{n}``. Counted here, because the API tells of a server late."""

    def __init__(self, api: Api, cluster: str) -> None:
        self._api, self._cluster = api, cluster
        self._groups: dict[str, list[PlacementGroup]] = {}
        self._taken: dict[int, int] = {}
        """How many purchases are under way into a group."""
        self._entered: list[tuple[int, int]] = []
        """Groups and the servers that came into them since a list was asked for, which may not tell of them."""
        self._left: dict[int, set[int]] = {}
        """Servers that went, by group: of several that go at once none sees that it is the last."""
        self._turn = asyncio.Lock()

    @asynccontextmanager
    async def place(self, pool: str) -> AsyncGenerator[int]:
        """The group in which the next server of this pool belongs; its place is kept as long as the context lasts."""
        async with self._turn:
            group = await self._with_room(pool)
            self._taken[group.id] = self._taken.get(group.id, 0) + 1
        try:
            yield group.id
        finally:
            self._taken[group.id] -= 1

    def note(self, pool: str, group_id: int, server: int) -> None:
        """A server stands in a group now."""
        self._entered.append((group_id, server))
        self._groups[pool] = [_with(one, [(group_id, server)]) for one in self._groups.get(pool, [])]

    async def leave(self, group: PlacementGroup, server: int) -> None:
        """A server went that stood in this group, of which this was said before; the last one takes it along."""
        gone = self._left.setdefault(group.id, set())
        gone.add(server)
        if not is_ours(group.labels, self._cluster) or not gone.issuperset(group.servers):
            return
        async with self._turn:
            # Nobody gets a place in it meanwhile. Nothing depends on this, so what is refused is let be.
            with suppress(ApiRefused, NoAnswer, ProviderError):
                await self._close(group.id)

    async def _close(self, group_id: int) -> None:
        came = {server for entered, server in self._entered if entered == group_id}
        if self._taken.get(group_id, 0) or came - self._left.get(group_id, set()):
            return
        path = f"/placement_groups/{group_id}"
        answer = await self._api.ask("GET", path, is_urgent=False)
        group = read(answer.get("placement_group"), PlacementGroup, "GET /placement_groups")
        if group.servers or not is_ours(group.labels, self._cluster):
            return
        for pool, known in self._groups.items():
            self._groups[pool] = [one for one in known if one.id != group_id]
        await self._api.ask("DELETE", path, is_urgent=False)
        self._left.pop(group_id, None)

    def forget(self, pool: str) -> None:
        """What we believe about the pool's groups is wrong."""
        self._groups.pop(pool, None)

    async def _with_room(self, pool: str) -> PlacementGroup:
        for _ in range(_ATTEMPTS):
            # What is remembered is asked again before another group is opened: servers may have gone.
            found = self._first_with_room(pool)
            if found is None:
                self._groups[pool] = await self._listed(pool)
                found = self._first_with_room(pool) or await self._opened(pool)
            if found is not None:
                return found
        raise ApiRefused("conflict", f"the placement groups of {pool} change under our hands", writes=False)

    def _first_with_room(self, pool: str) -> PlacementGroup | None:
        groups = sorted(self._groups.get(pool, []), key=lambda one: (len(one.name), one.name))
        return next((one for one in groups if len(one.servers) + self._taken.get(one.id, 0) < MOST_IN_GROUP), None)

    async def _listed(self, pool: str) -> list[PlacementGroup]:
        query = {"label_selector": f"{CLUSTER}={self._cluster},{POOL}={pool}"}
        self._entered.clear()
        groups, _ = await read_all(self._api, "/placement_groups", "placement_groups", PlacementGroup, query)
        return [_with(one, self._entered) for one in groups]

    async def _opened(self, pool: str) -> PlacementGroup | None:
        """The next group; None if somebody else opened it just now."""
        names = {one.name for one in self._groups[pool]}
        number = next(one for one in range(1, len(names) + 2) if self._name(pool, one) not in names)
        body = {
            "name": self._name(pool, number),
            "type": "spread",
            "labels": {CLUSTER: self._cluster, POOL: pool},
        }
        try:
            answer = await self._api.ask("POST", "/placement_groups", body=body)
        except ApiRefused as refused:
            if refused.code == NAME_TAKEN:
                return None
            raise
        group = read(answer.get("placement_group"), PlacementGroup, "POST /placement_groups")
        self._groups[pool].append(group)
        return group

    def _name(self, pool: str, number: int) -> str:
        return f"{self._cluster}-{pool}-{number}"


def _with(group: PlacementGroup, entered: Iterable[tuple[int, int]]) -> PlacementGroup:
    """The group with those that came into it."""
    new = [server for group_id, server in entered if group_id == group.id and server not in group.servers]
    return msgspec.structs.replace(group, servers=(*group.servers, *new)) if new else group
