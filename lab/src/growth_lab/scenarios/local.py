"""Stories on a real control plane of this machine, many at a time, with durations in seconds."""

import asyncio
import secrets
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Final

from growth.api.crd import definitions
from growth.api.growth_kinds import OWN_KINDS
from growth.api.queue.kinds import QUEUE_KINDS
from growth.kube.client import Client
from growth.run.runtime import this_process
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.timings import Timings
from growth_lab.scenarios.attacher import Attacher
from growth_lab.scenarios.context import a_play
from growth_lab.scenarios.environment import Backstage
from growth_lab.scenarios.scenario import Telling
from growth_lab.scenarios.trace import Seen

# The pod collector looks every 20 s and leaves orphans alone for 40 s more: the longest that any story waits, twice.
PATIENCE_SECONDS: Final = 180.0


class RealWorld:
    """Control planes with somebody who attaches volumes: one that is shared, and some for scenarios that play alone."""

    def __init__(self, resources: AsyncExitStack, *, stages: int = 1) -> None:
        self._resources = resources
        self._shared: LocalCluster | None = None
        self._free: list[LocalCluster] = []
        self._starting = asyncio.Lock()
        self._stages = asyncio.Semaphore(stages)

    async def play(self, tell: Telling, *, alone: bool = False) -> list[Seen]:
        """Play one scenario to its end; gives what was seen. Scenarios that share a cluster never meet.

        Those that need a cluster for themselves take turns on as many as there are stages.
        """
        if not alone:
            return await play_on(await self._shared_cluster(), tell)
        async with self._stages:
            cluster = self._free.pop() if self._free else await self._another_cluster()
            try:
                return await play_on(cluster, tell, alone=True)
            finally:
                self._free.append(cluster)

    async def _shared_cluster(self) -> LocalCluster:
        async with self._starting:
            if self._shared is None:
                self._shared = await self._resources.enter_async_context(a_real_cluster())
        return self._shared

    async def _another_cluster(self) -> LocalCluster:
        async with self._starting:
            return await self._resources.enter_async_context(a_real_cluster())


async def play_on(cluster: LocalCluster, tell: Telling, *, alone: bool = False) -> list[Seen]:
    """Play one scenario to its end on this cluster."""

    async def install() -> None:
        await cluster.apply(definitions((*OWN_KINDS, *QUEUE_KINDS)))
        await cluster.apply(shipped_roles())
        await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")

    async def client() -> Client:
        return await cluster.client_as(*ACCOUNT)

    async def outage(seconds: float) -> None:
        cluster.pause("kube-apiserver")
        try:
            await asyncio.sleep(seconds)
        finally:
            cluster.resume("kube-apiserver")

    backstage = Backstage(_now, install, client, this_process, outage)
    name = f"story-{secrets.token_hex(3)}"
    async with a_play(cluster.admin, name, patience=PATIENCE_SECONDS, backstage=backstage, alone=alone) as play:
        await tell(play)
        return list(play.trace.seen)


@asynccontextmanager
async def a_real_cluster(kubernetes: str = "", controllers: str = "") -> AsyncGenerator[LocalCluster]:
    """A control plane of these releases on which volumes are attached, for the length of the context."""
    async with LocalCluster(kubernetes=kubernetes, controllers=controllers, timings=Timings.fast()) as cluster:
        attaching = asyncio.create_task(Attacher(cluster.admin).run())
        try:
            yield cluster
        finally:
            attaching.cancel()
            await asyncio.gather(attaching, return_exceptions=True)


def _now() -> datetime:
    return datetime.now(UTC)


@asynccontextmanager
async def a_real_world(*, stages: int = 1) -> AsyncGenerator[RealWorld]:
    """Control planes that live as long as the context; each is started when a scenario first needs it."""
    async with AsyncExitStack() as resources:
        yield RealWorld(resources, stages=stages)
