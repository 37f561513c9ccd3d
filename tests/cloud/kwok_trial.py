"""The KWOK provider on trial, on whatever answers as an API server: the real one, or the virtual one."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Final

import msgspec

from growth.api.machine import MachineRequest, request_for
from growth.api.meta import ObjectMeta
from growth.api.node_pool import MachineTemplate as MachineSettings
from growth.api.node_pool import NodePool, NodePoolSpec, Reserved, ServerType
from growth.api.tolerations import NO_EXECUTE, NO_SCHEDULE, Taint
from growth.cloud.kwok.catalog import Catalog, read_catalogue
from growth.cloud.kwok.faults import Fault, FaultType
from growth.cloud.kwok.provider import KwokProvider
from growth.kube.client import Client
from growth.kube.errors import Unreachable
from growth.kube.transport import Request, Response, Send, Stream
from growth_lab.provider_contract import Trial, Trouble

CATALOGUE: Final = read_catalogue("""
provider: kwok
bootDelay: 1s
locations:
  fsn1: {zone: fsn1-dc14}
serverTypes:
  - name: small
    resources: {cpu: 2, memory: 4Gi, ephemeral-storage: 40G}
    labels: {disk: fast}
    prices: {fsn1: 0.01}
  - name: gpu
    arch: arm64
    resources: {cpu: 20, memory: 64Gi, ephemeral-storage: 3840G, nvidia.com/gpu: 1}
    prices: {fsn1: 0.25}
""")
SMALL, GPU = CATALOGUE.offerings
POOL: Final = NodePool(
    ObjectMeta(name="default", uid="pool-uid"),
    NodePoolSpec(
        server_types=(ServerType("small"), ServerType("gpu")),
        labels={"team": "web"},
        taints=(Taint("dedicated", "web", NO_SCHEDULE),),
        startup_taints=(Taint("example.org/agent", "", NO_EXECUTE),),
        machine=MachineSettings(reserved=Reserved(cpu="100m", memory="512Mi")),
    ),
)


def with_faults(catalogue: Catalog, *faults: Fault) -> Catalog:
    """The same catalogue, in which this goes wrong with everything."""
    behaviours = {
        name: msgspec.structs.replace(behaviour, faults=faults) for name, behaviour in catalogue.behaviours.items()
    }
    return msgspec.structs.replace(catalogue, behaviours=behaviours)


class TroubledSend:
    """A way to the server on which things go wrong."""

    def __init__(self, send: Send) -> None:
        self.trouble: Trouble | None = None
        self._send = send

    async def send(self, request: Request) -> Response:
        match self.trouble:
            case Trouble.OUTAGE:
                raise Unreachable("connection refused", sent=False)
            case Trouble.UNAUTHORIZED:
                return Response(401, b'{"code": 401, "reason": "Unauthorized", "message": "Unauthorized"}')
            case Trouble.RATE_LIMITED:
                return Response(429, b'{"code": 429, "reason": "TooManyRequests", "message": "too many requests"}')
            case Trouble.LOST_ANSWER if request.writes:
                await self._send.send(request)
                raise Unreachable("the connection was reset", sent=True)
            case _:
                return await self._send.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._send.stream(request)

    def clock(self) -> float:
        return self._send.clock()

    async def close(self) -> None:
        """The sender belongs to somebody else."""


class KwokTrial(Trial):
    """Played machines; the cloud that makes nodes of them is no part of the contract and does not run."""

    poll_seconds = 0.25
    patience_seconds = 20.0

    def __init__(
        self,
        send: Send,
        namespace: str,
        now: Callable[[], datetime],
        wait: Callable[[float], Awaitable[None]],
    ) -> None:
        super().__init__()
        self._send = TroubledSend(send)
        self._namespace = namespace
        self._now, self._wait = now, wait
        self._providers: list[KwokProvider] = []

    @asynccontextmanager
    async def opened(self) -> AsyncGenerator[KwokProvider]:
        self._providers.append(KwokProvider(Client(self._send), self._namespace, CATALOGUE, self._now))
        yield self._providers[-1]

    def request(self, name: str) -> MachineRequest:
        return request_for(name, POOL, SMALL)

    def other_request(self, name: str) -> MachineRequest:
        return request_for(name, POOL, GPU)

    @asynccontextmanager
    async def trouble(self, trouble: Trouble) -> AsyncGenerator[None]:
        faults = {Trouble.OUT_OF_STOCK: FaultType.NO_STOCK, Trouble.QUOTA_EXCEEDED: FaultType.QUOTA}
        if trouble in faults:
            self._sell(with_faults(CATALOGUE, Fault(faults[trouble])))
        else:
            self._send.trouble = trouble
        try:
            yield
        finally:
            self._sell(CATALOGUE)
            self._send.trouble = None

    def _sell(self, catalogue: Catalog) -> None:
        for provider in self._providers:
            provider.catalogue = catalogue

    def now(self) -> datetime:
        return self._now()

    async def wait(self, seconds: float) -> None:
        await self._wait(seconds)
