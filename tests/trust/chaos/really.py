"""The same on a real control plane, in real time: providers, machines and Growth fail, and the server is restarted.

There is no way to lose a single answer of a real API server on order; all that is virtual only is in ``troubles``.
"""

import asyncio
import time
from datetime import UTC, datetime
from typing import Final

from growth.api.crd import definitions
from growth.api.growth_kinds import OWN_KINDS
from growth.api.kinds import LEASES, NAMESPACES
from growth.api.queue.kinds import QUEUE_KINDS
from growth.kube.client import Client
from growth.run.runtime import this_process
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.timings import Timings
from growth_lab.scenarios.attacher import Attacher
from growth_lab.scenarios.cleanup import sweep
from tests.trust.chaos.replicas import SETTINGS, Ground
from tests.trust.chaos.run import Chaos, Run, Say
from tests.trust.chaos.stage import Tempo

# Minutes are dear here.
BRISK: Final = Tempo(trouble=30.0, patience=200.0, quiet=15.0)


async def play_really(seed: int, seconds: float, say: Say, *, tempo: Tempo = BRISK) -> list[Run]:
    """One run after the other, until the time is over; gives those that went wrong."""
    began, wrong = time.monotonic(), list[Run]()
    async with LocalCluster(timings=Timings.fast()) as cluster:
        await cluster.apply(definitions((*OWN_KINDS, *QUEUE_KINDS)))
        await cluster.apply(shipped_roles())
        await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        while not wrong and time.monotonic() - began < seconds:
            run = await _run(cluster, seed, say, tempo)
            how = "FAILED" if run.problems else "well"
            say(f"{how}: seed {seed}, {run.virtual_seconds:.0f} s, {run.launched} nodes")
            for problem in run.problems:
                say(f"    {problem}")
            if run.problems:
                wrong.append(run)
            seed += 1
    return wrong


async def _run(cluster: LocalCluster, seed: int, say: Say, tempo: Tempo) -> Run:
    async def client() -> Client:
        return await cluster.client_as(*ACCOUNT)

    async def restart() -> None:
        await cluster.restart("kube-apiserver")

    ground = Ground(cluster.admin, client, this_process, lambda: datetime.now(UTC))
    chaos = Chaos(seed, ground, say, tempo=tempo, restart_server=restart)
    attaching = asyncio.create_task(Attacher(cluster.admin).run())
    try:
        return await chaos.play()
    finally:
        attaching.cancel()
        await asyncio.gather(attaching, return_exceptions=True)
        await sweep(cluster.admin)
        await cluster.admin.delete(NAMESPACES, chaos.namespace)
        await cluster.admin.delete(LEASES, SETTINGS.leader_election.lease_name, SETTINGS.namespace)
