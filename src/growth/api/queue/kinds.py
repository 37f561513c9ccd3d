"""Where the kinds of the queue are served, and what ``kubectl get`` shows of them."""

from typing import Final, TypeVar

from growth.api.growth_kinds import Column, OwnKind
from growth.api.kinds import Kind
from growth.api.queue.cluster_queues import ClusterQueue, Cohort, LocalQueue, WorkloadPriorityClass
from growth.api.queue.quotas import ResourceFlavor
from growth.api.queue.workload import Workload

GROUP: Final = "kueue.x-k8s.io"
VERSION: Final = "v1beta2"

T = TypeVar("T")


def _queue_kind(plural: str, kind: type[T], *, namespaced: bool) -> Kind[T]:
    """Tolerant: a newer Kueue's definitions may allow values that our classes do not know."""
    return Kind(GROUP, VERSION, plural, kind.__name__, namespaced, kind, is_tolerant=True)


RESOURCE_FLAVORS: Final = _queue_kind("resourceflavors", ResourceFlavor, namespaced=False)
CLUSTER_QUEUES: Final = _queue_kind("clusterqueues", ClusterQueue, namespaced=False)
COHORTS: Final = _queue_kind("cohorts", Cohort, namespaced=False)
LOCAL_QUEUES: Final = _queue_kind("localqueues", LocalQueue, namespaced=True)
WORKLOADS: Final = _queue_kind("workloads", Workload, namespaced=True)
WORKLOAD_PRIORITY_CLASSES: Final = _queue_kind("workloadpriorityclasses", WorkloadPriorityClass, namespaced=False)

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
