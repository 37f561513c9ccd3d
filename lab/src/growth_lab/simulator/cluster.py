"""A whole virtual cluster: store, API server, scheduler, controllers and kubelets, from one seed.

Make it inside a running ``VirtualLoop``; from then on it lives by itself whenever somebody waits. Everything that it
does follows from the seed, from what is sent to it, and from the order of both.
"""

import random
from collections.abc import Iterable, Mapping
from typing import Any

from growth.kube.client import Client
from growth_lab.simulator.api.rbac import ADMIN
from growth_lab.simulator.api.server import VirtualApiServer
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.disruption import Budgets
from growth_lab.simulator.faults import Faults
from growth_lab.simulator.garbage import Garbage
from growth_lab.simulator.node_lifecycle import NodeLifecycle
from growth_lab.simulator.nodes import Heartbeats, Kubelets
from growth_lab.simulator.pod_garbage import PodCollector
from growth_lab.simulator.pods_by_node import PodsByNode
from growth_lab.simulator.scheduler.scheduler import Scheduler
from growth_lab.simulator.served_kinds import LEASES
from growth_lab.simulator.store import Store
from growth_lab.simulator.taint_eviction import TaintEviction
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.volumes import Volumes
from growth_lab.simulator.workloads import Workloads


class VirtualCluster:
    """Everything, wired. ``api.connect(user)`` is the way in for the product, ``admin()`` for stories."""

    def __init__(
        self,
        seed: int = 0,
        *,
        timings: Timings | None = None,
        roles: Iterable[Mapping[str, Any]] = (),
    ) -> None:
        self.seed = seed
        timings = timings or Timings()
        self.clock = Clock()
        self.store = Store(self.clock, self._chance("store"))
        self.faults = Faults(self._chance("faults"))
        self.api = VirtualApiServer(self.clock, self.store, timings=timings, faults=self.faults, roles=roles)
        pods = PodsByNode(self.store)
        heartbeats = Heartbeats(self.clock, self.store, timings)
        self.api.computed.shown_as(LEASES, heartbeats.as_of_now)
        self.api.computed.when_watched(LEASES, heartbeats.be_watched)
        self.kubelets = Kubelets(self.clock, self.store, timings, heartbeats, pods)
        self.node_lifecycle = NodeLifecycle(self.clock, self.store, timings, heartbeats, pods)
        self.taint_eviction = TaintEviction(self.clock, self.store, pods)
        self.pod_collector = PodCollector(self.clock, self.store, timings, pods)
        self.scheduler = Scheduler(self.clock, self.store, timings, self._chance("scheduler"))
        self.workloads = Workloads(self.clock, self.store, timings)
        self.volumes = Volumes(self.clock, self.store, timings)
        self.budgets = Budgets(self.clock, self.store, timings)
        self.garbage = Garbage(self.clock, self.store, timings)

    def admin(self) -> Client:
        """A client that may do everything."""
        return self.client(ADMIN)

    def client(self, user: str) -> Client:
        """A client of this user, whose back-off follows from the seed, too."""
        return Client(self.api.connect(user), jitter=self._chance(f"client of {user}"))

    def _chance(self, whose: str) -> random.Random:
        """Chance of its own for each who needs some, so that one more draw of one does not change all others."""
        return random.Random(f"{self.seed}/{whose}")  # noqa: S311 - a seed, no secret
