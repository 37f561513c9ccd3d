"""Replicas of ``growth run --only memory`` on a virtual cluster, each of which can be killed, paused and cut off.

A replica that is killed is followed by another of another name, as in a Deployment. A paused one sends and hears
nothing and does not know it; one that is cut off waits for its requests' time-outs.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from growth.api.settings.model import Settings
from growth.decide.pipeline import chosen
from growth.kube.client import Client
from growth.kube.errors import KubeError, Unreachable
from growth.kube.transport import Request, Response, Send, Stream
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import played
from growth.run.shipped_manifests import ACCOUNT
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from tests.trust.chaos.valve import Valve

GROWTH: Final = service_account(*ACCOUNT)
_CONNECT_SECONDS: Final = 10.0  # that of growth.kube.http
# A process that ended by itself, because the API server refused its start.
_RESTART_SECONDS: Final = 10.0


class Cable:
    """``growth.kube.transport.Send`` that can be cut: then nothing arrives, and requests run into their time-outs."""

    def __init__(self, inner: Send) -> None:
        self._valve = Valve(inner, lambda _: None)

    def cut(self) -> None:
        """From now on nothing gets through."""
        self._valve.pause()

    def join(self) -> None:
        """It is whole again; streams go on where they were."""
        self._valve.resume()

    async def send(self, request: Request) -> Response:
        """Send one, and wait for no longer than its time-out."""
        try:
            async with asyncio.timeout(request.timeout_seconds):
                return await self._valve.send(request)
        except TimeoutError:
            raise Unreachable("the API server is unreachable: it did not answer in time", sent=True) from None

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream]:
        """Connect within the time-out of connections; silence after that is the reader's to notice."""
        async with AsyncExitStack() as stack:
            try:
                async with asyncio.timeout(_CONNECT_SECONDS):
                    stream = await stack.enter_async_context(self._valve.stream(request))
            except TimeoutError:
                raise Unreachable("the API server is unreachable: no connection", sent=False) from None
            yield stream

    def clock(self) -> float:
        """The clock of the one inside."""
        return self._valve.clock()

    async def close(self) -> None:
        """Break all streams."""
        await self._valve.close()


class Replica:
    """One place in the Deployment: a process, and after its end the next one."""

    def __init__(self, number: int, cluster: VirtualCluster, settings: Settings) -> None:
        self.starts = 0
        self._number, self._cluster, self._settings = number, cluster, settings
        self._rest_seconds = 0.0
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._next_process()

    def _next_process(self) -> None:
        self._client = self._cluster.client(GROWTH)
        self._cable = Cable(self._client.transport)
        self._valve = Valve(self._cable, lambda _: None)
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def kill(self, away_seconds: float) -> None:
        """End the process in this instant; the next one starts after that time."""
        self._rest_seconds = max(self._rest_seconds, away_seconds)
        self._valve.kill()

    def pause(self, seconds: float) -> None:
        """Stop the process for a while."""
        self._valve.pause()
        self._for(seconds, "pause", self._valve.resume)

    def cut_off(self, seconds: float) -> None:
        """Cut the network of the process for a while."""
        self._cable.cut()
        self._for(seconds, "cut", self._cable.join)

    def _for(self, seconds: float, what: str, end: Callable[[], None]) -> None:
        """Call ``end`` after that time, or when the longest of those that overlap is over."""
        loop, before = asyncio.get_running_loop(), self._timers.get(what)
        if before is not None and before.when() > loop.time() + seconds:
            return
        if before is not None:
            before.cancel()
        self._timers[what] = loop.call_later(seconds, end)

    async def break_watches(self) -> None:
        """Break all its connections that are open; the next ones work."""
        await self._client.transport.close()

    async def run(self) -> None:
        """One process after the other, until cancelled."""
        ending = set[asyncio.Task[None]]()
        try:
            while True:
                self.starts += 1
                life, killed = asyncio.create_task(self._live()), asyncio.create_task(self._valve.killed.wait())
                ending.add(life)
                life.add_done_callback(ending.discard)
                await asyncio.wait({life, killed}, return_when=asyncio.FIRST_COMPLETED)
                killed.cancel()
                if life.done():
                    _check_end(life)
                    self._rest_seconds = _RESTART_SECONDS
                life.cancel()  # what it still tidies up does not reach the server
                await asyncio.sleep(self._rest_seconds)
                self._rest_seconds = 0.0
                self._next_process()
        finally:
            for life in ending:
                life.cancel()
            await asyncio.gather(*ending, return_exceptions=True)

    async def _live(self) -> None:
        client = Client(self._valve, sharing=self._client.sharing, jitter=self._client.jitter)
        plant = ReplicaConfig(
            client=client,
            lease_client=client,
            settings=self._settings,
            capabilities=chosen(["memory"]),
            host=played(f"growth-{self._number}-{self.starts}", self._cluster.clock.now),
        )
        await control(plant, new_health())


def _check_end(life: asyncio.Task[None]) -> None:
    """Raise what ended a process by itself, unless it is the API server that refused its start."""
    error = life.exception()
    if error is None:
        raise RuntimeError("a replica ended without being asked to")
    if not isinstance(error, KubeError):
        raise error
