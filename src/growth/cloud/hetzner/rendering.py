"""The user data of one machine: read from its Secret when it is bought, with a join token if it asks for one."""

from collections.abc import Callable
from datetime import datetime

import msgspec

from growth.api.machine import MachineRequest
from growth.cloud.hetzner.join_tokens import STAND_IN, JoinTokens
from growth.cloud.hetzner.secret_reading import place_of, secret_text
from growth.cloud.hetzner.user_data import JOIN_TOKEN, placeholders_in, rendered, start_of
from growth.kube.client import Client


class Renderer:
    """Makes user data. What it makes holds secrets: hand it to the server, and show it to nobody."""

    def __init__(self, client: Client, namespace: str, cluster: str, now: Callable[[], datetime]) -> None:
        self._client = client
        self._namespace = namespace
        self._cluster = cluster
        self._tokens = JoinTokens(client, now)

    async def render(self, request: MachineRequest) -> str:
        """The user data of this machine; empty if its pool names none. Raises a ``ProviderError``.

        All that can be wrong with the text is told before a token is made for it.
        """
        if request.user_data_secret is None:
            return ""
        name, key = request.user_data_secret.name, request.user_data_secret.key
        start = start_of(request, self._cluster)
        text = await secret_text(self._client, self._namespace, name, key)
        where = place_of(self._namespace, name, key)
        told = rendered(text, msgspec.structs.replace(start, join_token=STAND_IN), where)
        if JOIN_TOKEN not in placeholders_in(text, where):
            return told
        token = await self._tokens.token_for(request)
        return rendered(text, msgspec.structs.replace(start, join_token=token), where)
