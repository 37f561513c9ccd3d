"""Two queues of one cohort, one of which takes back its own, and a flavor that is out of stock: for a picture.

Why somebody waits is written nowhere in it: that is what the decider says.
"""

from typing import Final

import msgspec

from bench.queue_scene import Objects, a_queue, a_workload, job_of, ready, said, waits
from growth.api.core import Namespace
from growth.api.kinds import NAMESPACES
from growth.api.meta import ObjectMeta
from growth.api.queue.cluster_queues import SHORT, ClusterQueue, Cohort, CohortSpec, LocalQueue, LocalQueueSpec
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.quotas import FlavorQuotas, Preemption, ResourceFlavor, ResourceGroup, ResourceQuota
from growth.api.queue.workload import EVICTED, PREEMPTED, Workload

_DOORS: Final = {"web": ("web", "jobs"), "batch": ("batch", "jobs")}
_SOLD_OUT: Final = "none of its machines can be had now (cpx51 in fsn1, cpx51 in nbg1): resource_unavailable"


def an_evening() -> Objects:
    """Everything that there is."""
    workloads = _workloads()
    own = ResourceGroup(("cpu",), (FlavorQuotas("any", (ResourceQuota("cpu", "8"),)),))
    return {
        NAMESPACES: [Namespace(ObjectMeta(name=name)) for name in _DOORS],
        RESOURCE_FLAVORS: [ResourceFlavor(ObjectMeta(name=name)) for name in ("any", "spot")],
        COHORTS: [
            Cohort(ObjectMeta(name="company"), CohortSpec(resource_groups=(own,))),
            Cohort(ObjectMeta(name="night"), CohortSpec("company")),
        ],
        CLUSTER_QUEUES: [_web(), _batch()],
        LOCAL_QUEUES: [
            LocalQueue(ObjectMeta(name=door, namespace=name), LocalQueueSpec(queue))
            for name, (queue, door) in _DOORS.items()
        ],
        QUEUED_JOBS: [job_of(one) for one in workloads],
        WORKLOADS: workloads,
    }


def _web() -> ClusterQueue:
    queue = a_queue("web", {"any": {"cpu": "24"}})
    preemption = Preemption(reclaim_within_cohort="Any")
    return msgspec.structs.replace(
        queue, spec=msgspec.structs.replace(queue.spec, cohort_name="company", preemption=preemption)
    )


def _batch() -> ClusterQueue:
    queue = a_queue("batch", {"any": {"cpu": "16"}, "spot": {"cpu": "16"}})
    short = said(SHORT, "True", "FlavorOutOfStock", f"flavor spot: {_SOLD_OUT}", 12)
    status = msgspec.structs.replace(queue.status, conditions=(*queue.status.conditions, short))
    return msgspec.structs.replace(queue, spec=msgspec.structs.replace(queue.spec, cohort_name="night"), status=status)


def _workloads() -> list[Workload]:
    not_yet = waits("PendingEvaluation", "nobody has looked at it yet", 0.1)
    gave_way = "web/job-checkout-5f1c2 gets its quota"
    return [
        a_workload("search", {"cpu": "8"}, *ready(64), namespace="web", flavor="any", age=66, doors=_DOORS),
        a_workload("checkout", {"cpu": "16"}, not_yet, namespace="web", age=0.2, doors=_DOORS),
        a_workload("report-1", {"cpu": "10"}, *ready(41), namespace="batch", flavor="any", age=44, doors=_DOORS),
        a_workload("report-2", {"cpu": "10"}, *ready(30), namespace="batch", flavor="any", age=43, doors=_DOORS),
        a_workload(
            "report-3",
            {"cpu": "10"},
            *ready(20),
            said(EVICTED, "True", PREEMPTED, gave_way, 0.1),
            said(PREEMPTED, "True", "InCohortReclamation", gave_way, 0.1),
            namespace="batch",
            flavor="any",
            age=42,
            doors=_DOORS,
        ),
        a_workload("report-4", {"cpu": "6"}, not_yet, namespace="batch", age=14, doors=_DOORS),
    ]
