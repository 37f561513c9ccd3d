"""The provider of servers at Hetzner on a sandbox in this process, on any clock: nothing blocks, nothing is sent.

Hetzner's client blocks, and threads live on real time; so here it runs in place, on a sandbox that answers at once.
"""

import asyncio
import base64
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final, TypeVar

import msgspec
from hcloud import Client as HetznerClient

from growth.api.kinds import SECRETS
from growth.cloud.hetzner.api_client import Connect, connect_to
from growth.cloud.hetzner.plugin import opened
from growth.cloud.hetzner.provider import HetznerProvider
from growth.cloud.hetzner.rate_budget import RateBudget
from growth.cloud.plugins import CLUSTER_OPTION, ENDPOINT_OPTION, TOKEN_SECRET_OPTION, ProviderEnvironment
from growth.cloud.provider import Provider
from growth.kube.client import Client
from growth.kube.errors import AlreadyExists
from growth.kube.patches import MergePatch
from growth.run.provider_poller import OpenProvider
from growth_lab.hetzner_sandbox.kwok_nodes import KwokNodes
from growth_lab.hetzner_sandbox.messages import request_from
from growth_lab.hetzner_sandbox.requests_adapter import ENDPOINT, Adapter
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Sandbox
from growth_lab.hetzner_sandbox.timings import Timings, boots_in
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import a_pool

T = TypeVar("T")

CLUSTER: Final = "story"
NAMESPACE: Final = "growth-system"
TOKEN_SECRET: Final = "growth-hetzner"  # noqa: S105 - the name of a Secret
USER_DATA_SECRET: Final = "growth-user-data"  # noqa: S105
_USER_DATA: Final = "--node-labels=__GROWTH_LABELS__ --register-with-taints=__GROWTH_TAINTS__"
QUICK_SERVERS: Final = boots_in(1.0)
_FIRST_REFUSAL: Final = 300


@asynccontextmanager
async def open_in_sandbox(surroundings: ProviderEnvironment, sandbox: Sandbox) -> AsyncGenerator[HetznerProvider]:
    """As Growth opens it, but for the way to the API."""

    def connect_here(endpoint: str, budget: RateBudget) -> Connect:
        connect = connect_to(endpoint, budget)

        def connect_to_sandbox(token: str) -> HetznerClient:
            client = connect(token)
            session = client._client._session  # pyright: ignore[reportPrivateUsage] # noqa: SLF001 - no other way in
            session.mount(endpoint, Adapter(sandbox))
            return client

        return connect_to_sandbox

    async with opened(surroundings, in_place, connect_here) as provider:
        yield provider


async def in_place(work: Callable[[], T], /) -> T:
    """Do it here and now. Others get their turn before and after, as they do with threads."""
    await asyncio.sleep(0)
    try:
        return work()
    finally:
        await asyncio.sleep(0)


class Project:
    """A Hetzner project in a story: its sandbox, and how Growth opens the provider on it (``growing(others=...)``)."""

    def __init__(self, play: Play, timings: Timings) -> None:
        self._play = play
        self.sandbox = Sandbox(play.now, timings=timings)

    @property
    def others(self) -> Mapping[str, OpenProvider]:
        """The provider, for Growth."""
        return {"hetzner": self._open}

    def _open(self, client: Client) -> AbstractAsyncContextManager[Provider]:
        options = {CLUSTER_OPTION: CLUSTER, TOKEN_SECRET_OPTION: TOKEN_SECRET, ENDPOINT_OPTION: ENDPOINT}
        return open_in_sandbox(ProviderEnvironment(client, NAMESPACE, self._play.now, options), self.sandbox)

    async def set_secrets(self, token: str = TOKEN, *, kubelet: str = "") -> None:
        """The token and the user data, where Growth looks for them; ``kubelet`` is what else kubelets are told."""
        await self._set_secret(TOKEN_SECRET, {"token": token})
        await self._set_secret(USER_DATA_SECRET, {"user-data": f"{_USER_DATA} {kubelet}"})

    async def pool(self, types: str = "cx23", **spec: Any) -> None:  # noqa: ANN401
        """A pool of servers in two locations, with whatever else its spec should say, in camelCase."""
        machine = {"image": "debian-13", "userDataSecret": {"name": USER_DATA_SECRET}, **spec.pop("machine", {})}
        stated: dict[str, Any] = {"provider": "hetzner", "locations": ["fsn1", "nbg1"], **spec, "machine": machine}
        await a_pool(self._play, types=types, **stated)

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> None:
        """Somebody does something by hand; raises ValueError if it is refused."""
        content = b"" if body is None else msgspec.json.encode(body)
        answer = self.sandbox.answer(request_from(method, f"/v1{path}", f"Bearer {TOKEN}", content))
        if answer.status >= _FIRST_REFUSAL:
            raise ValueError(f"the sandbox refused {method} {path}: {answer.body}")

    @property
    def names(self) -> list[str]:
        """All servers."""
        return sorted(server.name for server in self.sandbox.servers())

    async def _set_secret(self, name: str, texts: Mapping[str, str]) -> None:
        data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        try:
            await self._play.client.create(SECRETS, {"metadata": {"name": name}, "data": data}, NAMESPACE)
        except AlreadyExists:
            await self._play.client.patch(SECRETS, name, MergePatch({"data": data}), NAMESPACE)


@asynccontextmanager
async def a_project(play: Play, timings: Timings = QUICK_SERVERS) -> AsyncGenerator[Project]:
    """A project whose servers become nodes of the story's cluster, as long as the context lasts."""
    project = Project(play, timings)
    nodes = asyncio.create_task(KwokNodes(play.client, project.sandbox).run(), name="nodes of servers")
    try:
        yield project
    finally:
        nodes.cancel()
        await asyncio.wait([nodes])
