"""One purchase: what is sent, and what becomes of it until the server runs, is found again, or is given back."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import datetime
from typing import Any, Final, Protocol

from growth.api.machine import Machine, MachineRequest
from growth.cloud.errors import Invalid, OutOfStock, ProviderError, QuotaExceeded, Unavailable
from growth.cloud.hetzner.action_polling import ActionPoller, reason_of
from growth.cloud.hetzner.api_client import Api, Json
from growth.cloud.hetzner.deletion import ServerDeletion
from growth.cloud.hetzner.inventory import Inventory
from growth.cloud.hetzner.machine_decoding import DELETING, check_is_asked_for, labels_for, machine_from
from growth.cloud.hetzner.placement_groups import PlacementGroups
from growth.cloud.hetzner.provider_errors import GROUP_FULL, NAME_TAKEN, ApiRefused, NoAnswer, error_from
from growth.cloud.hetzner.resource_ids import ResourceIds
from growth.cloud.hetzner.wire import Action, Created, Server, read

# A server that takes longer is handed out as it is: starting. Who buys has a patience of 180 s, and one that fails must
# be given back within it.
_FOLLOWED_SECONDS: Final = 60.0
# A group that we thought had room has none: others buy, too.
_GROUPS_TRIED: Final = 3


class Renderer(Protocol):
    """Who makes user data."""

    async def render(self, request: MachineRequest) -> str:
        """What this machine is told when it first boots; raises a ProviderError, and never shows what is in it."""
        ...


class ServerCreation:
    """Buys servers. One name is one server: whoever asks again finds what is there."""

    def __init__(
        self,
        api: Api,
        cluster: str,
        *,
        inventory: Inventory,
        following: ActionPoller,
        deletion: ServerDeletion,
        spreading: PlacementGroups,
        renderer: Renderer,
        now: Callable[[], datetime],
    ) -> None:
        self._api, self._cluster, self._now = api, cluster, now
        self._inventory, self._following, self._deletion = inventory, following, deletion
        self._renderer, self._spreading = renderer, spreading
        self._naming = ResourceIds(api, asyncio.get_running_loop().time)

    async def launch(self, request: MachineRequest) -> Machine:
        """The server of this name, made if there is none; raises Refused, Silent or a ProviderError."""
        body = await self._body(request)
        try:
            made, read_at = await self._made(request, body)
        except ApiRefused as refused:
            if refused.code == NAME_TAKEN:
                return await self._adopted(request)
            error = error_from(f"create {request.name}", refused, offering=request.offering.id)
            if isinstance(error, OutOfStock | QuotaExceeded):
                # Which of two reasons a refusal tells first is not promised: it may have been bought before.
                known = await self._known(request)
                if known is not None:
                    return known
            if isinstance(error, Invalid):
                self._naming.forget()
            raise
        self._inventory.note(made.server)
        failed = await self._following.failures(made.actions, _FOLLOWED_SECONDS)
        if failed:
            await self._give_back(request, made.server, failed)
        return machine_from(made.server, read_at)

    async def _body(self, request: MachineRequest) -> dict[str, Any]:
        """What is sent, but for the placement group."""
        offering, pool = request.offering, request.pool
        body: dict[str, Any] = {
            "name": request.name,
            "server_type": offering.server_type,
            "location": offering.location,
            "image": await self._naming.image(request.image, offering.arch, pool),
            "labels": labels_for(request, self._cluster),
            "start_after_create": True,
            "public_net": {"enable_ipv4": request.public_ipv4, "enable_ipv6": request.public_ipv6},
        }
        if request.ssh_keys:
            body["ssh_keys"] = list(request.ssh_keys)
        if request.network:
            body["networks"] = [await self._naming.network(request.network, pool)]
        if request.firewalls:
            numbers = await self._naming.firewalls(request.firewalls, pool)
            body["firewalls"] = [{"firewall": number} for number in numbers]
        # The last, because it may hold a token that was made for this server alone.
        user_data = await self._renderer.render(request)
        if user_data:
            body["user_data"] = user_data
        return body

    async def _made(self, request: MachineRequest, body: Json) -> tuple[Created, datetime]:
        for attempt in range(_GROUPS_TRIED):
            async with self._place(request) as group:
                placed = {**body, "placement_group": group} if group else body
                read_at = self._now()
                try:
                    answer = await self._api.ask("POST", "/servers", body=placed)
                except ApiRefused as refused:
                    if refused.code != GROUP_FULL or attempt + 1 == _GROUPS_TRIED:
                        raise
                    self._spreading.forget(request.pool)
                    continue
                made = read(answer, Created, "POST /servers")
                if group:
                    self._spreading.note(request.pool, group, made.server.id)
                return made, read_at
        raise AssertionError("the last attempt returns or raises")

    def _place(self, request: MachineRequest) -> AbstractAsyncContextManager[int]:
        return self._spreading.place(request.pool) if request.spread else nullcontext(0)

    async def _adopted(self, request: MachineRequest) -> Machine:
        """The server that has the name: ours from before, or bought by another replica just now."""
        known = await self._known(request)
        if known is None:
            raise Unavailable(f"create {request.name}: the name was taken, and is free again", may_have_acted=False)
        return known

    async def _known(self, request: MachineRequest) -> Machine | None:
        """The server of this name, if it is the one that is asked for. Raises Invalid if it is another one."""
        read_at = self._now()
        server = await self._inventory.find_by_name(request.name)
        if server is None:
            return None
        check_is_asked_for(server, request, self._cluster)
        if server.status == DELETING:
            raise Unavailable(
                f"create {request.name}: the server of this name ({server.id}) is being deleted", may_have_acted=False
            )
        self._inventory.note(server)
        return machine_from(server, read_at)

    async def _give_back(self, request: MachineRequest, server: Server, failed: Sequence[Action]) -> None:
        """A server that failed to come about costs money, and holds the name: it goes, and its reason is told."""
        what = f"create {request.name}: {reason_of(failed)}"
        try:
            await self._deletion.delete(server.id)
        except (ApiRefused, NoAnswer, ProviderError) as error:
            raise Unavailable(
                f"{what}; what is left of it ({server.id}) stays: {error}", may_have_acted=True
            ) from error
        # One action may have failed because of the other: the first that says more than that is the reason.
        told = [one for one in (_meant(one, request) for one in failed) if isinstance(one, OutOfStock | QuotaExceeded)]
        raise told[0] if told else Unavailable(what, may_have_acted=False)


def _meant(action: Action, request: MachineRequest) -> ProviderError:
    """What an action's failure would mean if the call itself had been refused for it."""
    code, message = (action.error.code, action.error.message) if action.error else ("", "")
    refused = ApiRefused(code, f"{action.command} failed: {message}", writes=False)
    return error_from(f"create {request.name}", refused, offering=request.offering.id)
