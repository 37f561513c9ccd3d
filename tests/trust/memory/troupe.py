"""Replicas on a virtual cluster whose API server, watches and processes fail on order, and people who label nodes.

def trouble(troupe): troupe.faults.order(Fault.LOST, verb="patch", resource="nodes", user=GROWTH)
assert played(trouble) == []
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

import msgspec

from growth.api.settings.model import MemorySettings
from growth.kube.client import Client
from growth.run.runtime import played as played_host
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.local_cluster.timings import Timings
from growth_lab.scenarios.simulated import like
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.faults import Faults
from growth_lab.simulator.virtual_loop import run_virtually
from tests.trust.audit import Audit
from tests.trust.chaos.answers import Answers
from tests.trust.chaos.overhearing import overhearing
from tests.trust.chaos.replicas import SETTINGS, Fleet, Ground, Replica
from tests.trust.memory.cast import Cast
from tests.trust.memory.scenes import come_and_go
from tests.trust.mistakes import Mistakes

GROWTH: Final = service_account(*ACCOUNT)
# A request that gets no answer is given up after a minute, and what failed rests for up to another one.
_PATIENCE_SECONDS: Final = 600.0
_LOOK_SECONDS: Final = 0.5


class Troupe:
    """One performance."""

    def __init__(self, cluster: VirtualCluster, replicas: int, memory: MemorySettings) -> None:
        self.faults: Faults = cluster.faults
        self.admin = cluster.admin()
        self.cast = Cast(self.admin, patience=_PATIENCE_SECONDS)
        self._cluster = cluster

        async def client() -> Client:
            return cluster.client(GROWTH)

        now = cluster.clock.now
        ground = Ground(self.admin, client, lambda identity: played_host(identity, now), now)
        answers = Answers(random.Random(0))  # noqa: S311 - a seed, no secret
        self.fleet = Fleet(
            ground,
            replicas,
            lambda _: None,
            failover=SETTINGS.failover,
            memory=memory,
            consolidate=SETTINGS.consolidate,
            answers=answers,
        )
        self._audit = Audit(self.fleet.witness.deeds)
        self.fleet.witness.deeds.sees_every_end = True

    @property
    def replicas(self) -> list[Replica]:
        """All of them."""
        return self.fleet.replicas

    async def play(self, trouble: "Trouble", telling: "Telling") -> list[str]:
        """Nodes come and go while there is trouble; gives what is wrong in the end."""
        mistakes = Mistakes()
        with mistakes.listening(), overhearing(self._cluster.store, self._audit):
            async with self.fleet.running():
                await asyncio.sleep(1)
                trouble(self)
                await telling(self.cast)
                await self.cast.until_done()
                await self.cast.check()
        return [*mistakes.observed, *self.fleet.failures, *self._audit.violations(), *self._audit.missing()]


Trouble = Callable[[Troupe], None]
Telling = Callable[[Cast], Awaitable[None]]


def played(
    trouble: Trouble, *, replicas: int = 3, seed: int = 0, is_held: bool = False, telling: Telling = come_and_go
) -> list[str]:
    """What is wrong in the end with this trouble. Where a node can go unseen it must be held by the finalizer."""
    memory = msgspec.structs.replace(SETTINGS.memory, finalizer=is_held, finalizer_deadline=timedelta(hours=1))

    async def play() -> list[str]:
        cluster = VirtualCluster(seed, timings=like(Timings.fast()), roles=shipped_roles())
        cluster.faults.whose = GROWTH
        return await Troupe(cluster, replicas, memory).play(trouble, telling)

    return run_virtually(play())
