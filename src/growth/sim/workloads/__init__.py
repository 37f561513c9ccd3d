"""What makes pods: Deployments, ReplicaSets, StatefulSets, DaemonSets and Jobs, as kube-controller-manager runs them.

Law of the room: a controller looks at what is there and takes the next step; it remembers nothing that could not be
seen again, so it works for objects that are older than itself.
"""

from growth.sim.clock import Clock
from growth.sim.store import Store
from growth.sim.timings import Timings
from growth.sim.workloads.daemon_sets import DaemonSets
from growth.sim.workloads.deployments import Deployments
from growth.sim.workloads.families import Families
from growth.sim.workloads.finished_jobs import FinishedJobs
from growth.sim.workloads.jobs import Jobs
from growth.sim.workloads.replica_sets import ReplicaSets
from growth.sim.workloads.stateful_sets import StatefulSets


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
