"""The provider on a sandbox, on virtual time: Hetzner's client runs in place, since threads live on real time."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Final

import msgspec
from hcloud import Client

from growth.api.machine import Machine, MachineRequest, request_for
from growth.api.meta import ObjectMeta
from growth.api.node_pool import MachineTemplate as MachineSettings
from growth.api.node_pool import NodePool, NodePoolSpec
from growth.api.offering import Offering
from growth.cloud.hetzner.api_client import Api, connect_to
from growth.cloud.hetzner.provider import HetznerProvider
from growth.cloud.hetzner.rate_budget import RateBudget
from growth_lab.hetzner_sandbox.messages import request_from
from growth_lab.hetzner_sandbox.records import Server
from growth_lab.hetzner_sandbox.requests_adapter import ENDPOINT, Adapter
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Right, Sandbox
from growth_lab.scenarios.hetzner import in_place
from growth_lab.simulator.clock import Clock

Json = Any
"""Whatever JSON can be."""

CLUSTER: Final = "shop"
READER: Final = "reader"


def an_offering(server_type: str = "cax11", location: str = "fsn1", arch: str = "arm64") -> Offering:
    return Offering(f"hetzner-{server_type}-{location}", "hetzner", server_type, location, 0.01, arch=arch)


def a_request(
    name: str = "web-1", offering: Offering | None = None, pool: str = "web", **machine: Json
) -> MachineRequest:
    settings = msgspec.structs.replace(MachineSettings(image="debian-13"), **machine)
    node_pool = NodePool(ObjectMeta(name=pool), NodePoolSpec(machine=settings))
    return request_for(name, node_pool, offering or an_offering())


class Rig:
    """A Hetzner project, and providers on it. Servers are created in 2 s and started in 3 s more."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.sandbox = Sandbox(self.clock.now, tokens={TOKEN: Right.READ_WRITE, READER: Right.READ})
        self.token = TOKEN
        self.user_data = "#cloud-config"
        self.tokens_read = 0

    @asynccontextmanager
    async def opened(self, cluster: str = CLUSTER) -> AsyncGenerator[HetznerProvider]:
        budget = RateBudget(asyncio.get_running_loop().time)
        connect = connect_to(ENDPOINT, budget)

        def in_the_box(token: str) -> Client:
            client = connect(token)
            client._client._session.mount(ENDPOINT, Adapter(self.sandbox))  # pyright: ignore[reportPrivateUsage]
            return client

        api = Api(in_the_box, self.read_token, budget, in_place)
        provider = HetznerProvider(api, cluster, self, self.clock.now, timedelta(minutes=10))
        try:
            yield provider
        finally:
            await provider.close()

    async def read_token(self) -> str:
        self.tokens_read += 1
        return self.token

    async def render(self, request: MachineRequest) -> str:
        """User data, as somebody else makes it."""
        return f"{self.user_data} {request.name}"

    # What is there

    def ask(self, method: str, path: str, body: object = None) -> Json:
        """A person at the console: not counted, but for the limit."""
        content = b"" if body is None else msgspec.json.encode(body)
        answer = self.sandbox.answer(request_from(method, f"/v1{path}", f"Bearer {TOKEN}", content))
        assert answer.status < 300, answer
        self.sandbox.calls.pop()
        return answer.body

    def server(self, name: str) -> Server:
        return next(one for one in self.sandbox.servers() if one.name == name)

    @property
    def names(self) -> list[str]:
        return sorted(server.name for server in self.sandbox.servers())

    @property
    def calls(self) -> Counter[str]:
        """How often each was called."""
        return Counter(f"{call.method} {call.route}" for call in self.sandbox.calls)


async def launched(provider: HetznerProvider, *requests: MachineRequest) -> list[Machine]:
    return list(await asyncio.gather(*(provider.create(request) for request in requests)))
