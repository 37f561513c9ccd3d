"""Three replicas of memory as people run them, on a real control plane: killed, paused and woken, in a storm of other
writers, and with the API server restarted under them. Every node is what it was, and stays what people make of it."""

import asyncio
import itertools
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from bench.growth_process import GrowthProcess, install, start
from growth.api.kinds import NODES
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.timings import Timings
from tests.trust.memory.cast import Cast

pytestmark = pytest.mark.cluster

REPLICAS = 3
LEASE_SECONDS = 3.0
SETTINGS = {
    "leaderElection": {"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"},
    "memory": {"checkpointAfter": "1s"},
}


@asynccontextmanager
async def replicas(cluster: LocalCluster) -> AsyncGenerator[list[GrowthProcess]]:
    kubeconfig = await install(cluster)
    names = [f"growth-{number}" for number in range(REPLICAS)]
    running = [start(cluster, kubeconfig, SETTINGS, name=name, only="memory") for name in names]
    try:
        for one in running:
            await one.wait_until_ready()
        yield running
    finally:
        for one in running:
            one.kill()


@asynccontextmanager
async def storm(cast: Cast, *names: str) -> AsyncGenerator[None]:
    """Somebody else changes each of these nodes twenty times a second."""

    async def change(name: str) -> None:
        for number in itertools.count():
            patch = MergePatch({"metadata": {"annotations": {"example.com/beat": str(number)}}})
            await cast.client.patch(NODES, name, patch)
            await asyncio.sleep(0.05)

    tasks = [asyncio.create_task(change(name)) for name in names]
    try:
        yield
        assert not any(task.done() for task in tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def leave_and_return(cast: Cast, *names: str) -> None:
    await asyncio.gather(*(cast.unregister(name) for name in names))
    await asyncio.gather(*(cast.register(name) for name in names))


async def test_no_label_is_lost_or_resurrected_or_given_twice() -> None:
    async with LocalCluster("memory-faults", timings=Timings.fast()) as cluster, replicas(cluster) as running:
        cast, names = Cast(cluster.admin), [f"node-{number}" for number in range(6)]
        for name in names:
            await cast.register(name, team="blue", spare="yes")
        for name in names:
            await cast.until_noted(name)
            await cast.label(name, spare=None, rack=name)

        await leave_and_return(cast, *names[:3])
        running[0].kill()
        await cast.until_marked()
        await cast.check()

        for one in running[1:]:
            os.kill(one.pid, signal.SIGSTOP)
        await leave_and_return(cast, *names[3:])
        await asyncio.sleep(LEASE_SECONDS + 1)  # their Leases run out while they sleep
        for one in running[1:]:
            os.kill(one.pid, signal.SIGCONT)
        await cast.until_marked()
        await cast.check()

        await leave_and_return(cast, *names)
        await cluster.restart("kube-apiserver")
        await cast.until_marked()
        await cast.check()

        await leave_and_return(cast, "node-0", "node-1")
        async with storm(cast, "node-0", "node-1"):
            await cast.until_marked("node-0", "node-1")
            await cast.label("node-0", team="red")
            await cast.label("node-1", team=None)

        await cast.until_done()
        await cast.check()
        for one in running[1:]:
            one.check()
