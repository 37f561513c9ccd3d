"""Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs, as kube-controller-manager runs them.

Law of the package: a controller looks at what is there and takes the next step; it remembers nothing that could not be
seen again, so it works for objects that are older than itself.
"""

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.store import Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.workloads.daemon_sets import DaemonSets
from growth_lab.simulator.workloads.deployments import Deployments
from growth_lab.simulator.workloads.finished_jobs import FinishedJobs
from growth_lab.simulator.workloads.jobs import Jobs
from growth_lab.simulator.workloads.owned_pods import Families
from growth_lab.simulator.workloads.replica_sets import ReplicaSets
from growth_lab.simulator.workloads.stateful_sets import StatefulSets


class Workloads:
    """All controllers that make pods, on one index of pods by owner."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self.families = Families(store)
        self.replica_sets = ReplicaSets(clock, store, timings, self.families)
        self.deployments = Deployments(clock, store, timings)
        self.stateful_sets = StatefulSets(clock, store, timings, self.families)
        self.daemon_sets = DaemonSets(clock, store, timings)
        self.jobs = Jobs(clock, store, timings, self.families)
        self.finished_jobs = FinishedJobs(clock, store)
