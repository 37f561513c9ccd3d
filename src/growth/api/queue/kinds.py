"""Where the kinds of the queue are served, and what ``kubectl get`` shows of them."""

from typing import Final

from growth.api.growth_kinds import Column, OwnKind
from growth.api.kinds import Kind
from growth.api.queue.queues import ClusterQueue, Cohort, LocalQueue, WorkloadPriorityClass
from growth.api.queue.quotas import ResourceFlavor
from growth.api.queue.workload import Workload

GROUP: Final = "kueue.x-k8s.io"
VERSION: Final = "v1beta2"

RESOURCE_FLAVORS: Final = Kind(
    GROUP, VERSION, "resourceflavors", "ResourceFlavor", namespaced=False, type=ResourceFlavor
)
CLUSTER_QUEUES: Final = Kind(GROUP, VERSION, "clusterqueues", "ClusterQueue", namespaced=False, type=ClusterQueue)
COHORTS: Final = Kind(GROUP, VERSION, "cohorts", "Cohort", namespaced=False, type=Cohort)
LOCAL_QUEUES: Final = Kind(GROUP, VERSION, "localqueues", "LocalQueue", namespaced=True, type=LocalQueue)
WORKLOADS: Final = Kind(GROUP, VERSION, "workloads", "Workload", namespaced=True, type=Workload)
WORKLOAD_PRIORITY_CLASSES: Final = Kind(
    GROUP, VERSION, "workloadpriorityclasses", "WorkloadPriorityClass", namespaced=False, type=WorkloadPriorityClass
)

_PENDING: Final = Column("Pending Workloads", ".status.pendingWorkloads", "integer")
_AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")


def _said(name: str) -> Column:
    return Column(name, f'.status.conditions[?(@.type=="{name}")].status')


QUEUE_KINDS: Final = (
    OwnKind(RESOURCE_FLAVORS, ("rf", "flavor", "flavors"), (_AGE,)),
    OwnKind(
        CLUSTER_QUEUES,
        ("cq",),
        (
            Column("Cohort", ".spec.cohortName"),
            Column("Strategy", ".spec.queueingStrategy", is_wide=True),
            _PENDING,
            Column("Admitted Workloads", ".status.admittedWorkloads", "integer", is_wide=True),
        ),
    ),
    OwnKind(COHORTS, ("co",), (_AGE,)),
    OwnKind(
        LOCAL_QUEUES,
        ("lq", "queue", "queues"),
        (
            Column("ClusterQueue", ".spec.clusterQueue"),
            _PENDING,
            Column("Admitted Workloads", ".status.admittedWorkloads", "integer"),
        ),
    ),
    OwnKind(
        WORKLOADS,
        ("kwl", "kueueworkload", "kueueworkloads"),
        (
            Column("Queue", ".spec.queueName"),
            Column("Reserved in", ".status.admission.clusterQueue"),
            _said("Admitted"),
            _said("Finished"),
            _AGE,
        ),
    ),
    OwnKind(WORKLOAD_PRIORITY_CLASSES, ("wpc",), (Column("Value", ".value", "integer"),)),
)
