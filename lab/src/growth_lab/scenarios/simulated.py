"""Stories on a virtual cluster: the same durations as on the real one, without waiting for any of them."""

import asyncio
import math
from typing import Final

from growth.kube.client import Client
from growth.run.runtime import played
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.local_cluster.timings import Timings as LocalTimings
from growth_lab.scenarios.context import a_play
from growth_lab.scenarios.environment import Backstage
from growth_lab.scenarios.local import PATIENCE_SECONDS
from growth_lab.scenarios.scenario import Telling
from growth_lab.scenarios.trace import Seen
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.faults import Fault
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.virtual_loop import run_virtually

NAME = "story"
_ALWAYS: Final = 1_000_000


def like(local: LocalTimings) -> Timings:
    """A virtual cluster as patient as a control plane that was started with these timings."""
    return Timings(
        node_monitor_period=local.node_monitor_period_seconds,
        node_monitor_grace=local.node_monitor_grace_seconds,
        node_startup_grace=local.node_startup_grace_seconds,
        node_lease=local.node_lease_seconds,
        node_evictions_per_second=local.node_evictions_per_second,
        default_toleration=local.toleration_seconds,
    )


def play_virtually(tell: Telling, seed: int = 0, *, speed: float = math.inf, alone: bool = False) -> list[Seen]:
    """Play one story on a cluster of its own; gives what was seen."""

    async def play() -> list[Seen]:
        cluster = VirtualCluster(seed, timings=like(LocalTimings.fast()), roles=shipped_roles())

        async def install() -> None:
            """A virtual cluster serves our kinds, and was told the role."""

        growth, clients = service_account(*ACCOUNT), list[Client]()

        async def client() -> Client:
            clients.append(cluster.client(growth))
            return clients[-1]

        async def outage(seconds: float) -> None:
            """For Growth alone: who looks on must miss nothing."""
            away = cluster.faults.order(Fault.REFUSED, user=growth, times=_ALWAYS)
            for one in clients:
                await one.transport.close()
            await asyncio.sleep(seconds)
            away.times = 0

        now = cluster.clock.now
        backstage = Backstage(now, install, client, lambda identity: played(identity, now), outage)
        async with a_play(cluster.admin(), NAME, patience=PATIENCE_SECONDS, backstage=backstage, alone=alone) as play:
            await tell(play)
            return list(play.trace.seen)

    return run_virtually(play(), speed=speed)
