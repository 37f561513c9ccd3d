"""Two queues on a busy afternoon, with a workload in every state: for a picture and for tests."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.core import Namespace
from growth.api.kinds import NAMESPACES, Kind
from growth.api.meta import ObjectMeta, OwnerReference
from growth.api.queue.cluster_queues import (
    ClusterQueue,
    ClusterQueueSpec,
    ClusterQueueStatus,
    LocalQueue,
    LocalQueueSpec,
)
from growth.api.queue.job import QUEUED_JOBS, QueuedJob, QueuedJobSpec, QueuedJobStatus
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.quotas import FlavorQuotas, ResourceFlavor, ResourceFlavorSpec, ResourceGroup, ResourceQuota
from growth.api.queue.workload import (
    QUEUE_NAME,
    Admission,
    PodSet,
    PodSetAssignment,
    RequeueState,
    Workload,
    WorkloadSpec,
    WorkloadStatus,
)
from growth.api.selectors import LabelSelector
from growth.api.settings.model import QueueSettings, Settings
from growth.api.settings.queue import RequeuingStrategySettings, WaitForPodsReadySettings
from growth.api.status import StatusCondition
from growth.observe.cache import ClusterCache

NOW: Final = datetime(2026, 11, 16, 14, 2, tzinfo=UTC)
SETTINGS: Final = Settings(
    queue=QueueSettings(
        enabled=True,
        wait_for_pods_ready=WaitForPodsReadySettings(
            enable=True, requeuing_strategy=RequeuingStrategySettings(backoff_limit_count=4)
        ),
    )
)
Objects = dict[Kind[Any], list[Any]]
_DOORS: Final = {"ml": ("research", "train"), "shop": ("shop", "jobs")}


def said(kind: str, status: Literal["True", "False"], reason: str, message: str, ago: float = 0) -> StatusCondition:
    """A statement that holds since so many minutes."""
    at = NOW - timedelta(minutes=ago)
    return StatusCondition(
        kind, msgspec.convert(status, StatusCondition.__annotations__["status"]), reason, message, at
    )


def a_queue(name: str, quotas: Mapping[str, Mapping[str, str]], *, strategy: str = "BestEffortFIFO") -> ClusterQueue:
    """A ClusterQueue that is at work, with quota by flavor and resource."""
    resources = tuple(dict.fromkeys(one for quota in quotas.values() for one in quota))
    flavors = tuple(
        FlavorQuotas(flavor, tuple(ResourceQuota(resource, amount) for resource, amount in quota.items()))
        for flavor, quota in quotas.items()
    )
    spec = ClusterQueueSpec((ResourceGroup(resources, flavors),), namespace_selector=LabelSelector())
    status = ClusterQueueStatus(conditions=(said("Active", "True", "Ready", "it can admit workloads", 900),))
    if strategy == "StrictFIFO":
        spec = msgspec.structs.replace(spec, queueing_strategy="StrictFIFO")
    return ClusterQueue(ObjectMeta(name=name, uid=name), spec, status)


def a_workload(
    job: str,
    asks: Mapping[str, str],
    *conditions: StatusCondition,
    namespace: str = "ml",
    age: float = 60,
    pods: int = 1,
    flavor: str = "",
    priority: int = 0,
    active: bool = True,
    state: RequeueState | None = None,
    doors: Mapping[str, tuple[str, str]] = _DOORS,
) -> Workload:
    """One that was made so many minutes ago for a Job; with a flavor it is admitted. By ``doors`` each namespace has a
    ClusterQueue and a LocalQueue."""
    queue, door = doors[namespace]
    container = {"name": "main", "image": "main", "resources": {"requests": dict(asks)}}
    template = msgspec.Raw(msgspec.json.encode({"spec": {"containers": [container]}}))
    usage: dict[str, int | str] = {name: str(_sum(amount, pods)) for name, amount in asks.items()}
    given = PodSetAssignment(flavors=dict.fromkeys(asks, flavor), resource_usage=usage, count=pods)
    meta = ObjectMeta(
        name=f"job-{job}-5f1c2",
        namespace=namespace,
        uid=f"workload-{job}",
        resource_version=7,
        creation_timestamp=NOW - timedelta(minutes=age),
        owner_references=(OwnerReference(kind="Job", name=job, uid=f"job-{job}", controller=True),),
    )
    status = WorkloadStatus(Admission(queue, (given,)) if flavor else None, state, conditions=conditions)
    return Workload(meta, WorkloadSpec((PodSet(template, count=pods),), door, None, priority, active), status)


def _sum(amount: str, pods: int) -> str:
    digits = amount.rstrip("Gi")
    return f"{int(digits) * pods}{amount[len(digits) :]}"


def job_of(workload: Workload) -> QueuedJob:
    """The Job for which it was made: it runs if its workload is admitted."""
    owner, (pod_set, *_) = workload.metadata.owner_references[0], workload.spec.pod_sets
    meta = ObjectMeta(
        name=owner.name,
        namespace=workload.metadata.namespace,
        uid=owner.uid,
        creation_timestamp=workload.metadata.creation_timestamp,
        labels={QUEUE_NAME: workload.spec.queue_name},
    )
    runs = workload.is_reserving
    spec = QueuedJobSpec(pod_set.template, pod_set.count, pod_set.count, suspend=not runs)
    ready = pod_set.count if workload.holds("PodsReady") else 0
    return QueuedJob(meta, spec, QueuedJobStatus(active=pod_set.count, ready=ready) if runs else QueuedJobStatus())


def _admitted(ago: float, ready: StatusCondition) -> tuple[StatusCondition, ...]:
    return (
        said("QuotaReserved", "True", "QuotaReserved", "it has quota", ago),
        said("Admitted", "True", "Admitted", "it is admitted", ago),
        ready,
    )


def ready(ago: float) -> tuple[StatusCondition, ...]:
    words = "all its pods are ready or have succeeded"
    return _admitted(ago + 1, said("PodsReady", "True", "Started", words, ago))


def waits(reason: str, why: str, ago: float = 10) -> StatusCondition:
    return said("QuotaReserved", "False", reason, why, ago)


def an_afternoon() -> Objects:
    """Everything that there is."""
    missing = "0 of 4 pods are ready or have succeeded"
    spent = f"{missing}, and it was put back 4 times already"
    gpu = {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"}
    workloads = [
        a_workload("train-llm", gpu, *ready(214), pods=8, flavor="gpu", priority=100, age=231),
        a_workload("embed-0412", gpu, *ready(18), pods=2, flavor="gpu", age=64),
        a_workload(
            "sweep-7",
            gpu,
            *_admitted(2, said("PodsReady", "False", "WaitForStart", "1 of 4 pods are ready or have succeeded", 2)),
            pods=4,
            flavor="spot",
            age=49,
        ),
        a_workload(
            "distill",
            gpu,
            waits(
                "WaitingForQuota",
                "main: 48 cpu are asked for, and of flavor gpu are left 16 cpu; "
                "48 cpu are asked for, and flavor spot never has more than 32 cpu",
            ),
            pods=6,
            priority=100,
            age=31,
        ),
        a_workload(
            "sweep-8",
            gpu,
            waits(
                "WaitingForQuota",
                "main: 32 cpu are asked for, and of flavor gpu are left 16 cpu; "
                "32 cpu are asked for, and of flavor spot are left 0 cpu",
            ),
            pods=4,
            age=48,
        ),
        a_workload(
            "label-images",
            gpu,
            waits("PendingEvaluation", "it was evicted: PodsReadyTimeout", 1),
            said("Evicted", "True", "PodsReadyTimeout", f"not ready in time: {missing}", 1.2),
            said("Requeued", "False", "PodsReadyTimeout", "it waits until what it was evicted for is over", 1),
            pods=4,
            age=26,
            state=RequeueState(2, NOW + timedelta(minutes=3)),
        ),
        a_workload(
            "old-cuda",
            gpu,
            waits("Deactivated", "it is not active: set spec.active to true to queue it", 180),
            said("DeactivationTarget", "True", "RequeuingLimitExceeded", spent, 181),
            said("Evicted", "True", "WorkloadInactive", spent, 180),
            pods=4,
            age=410,
            active=False,
            state=RequeueState(4),
        ),
        a_workload("invoices", {"cpu": "4", "memory": "8Gi"}, *ready(6), namespace="shop", flavor="any", age=9),
        a_workload("stock", {"cpu": "8", "memory": "8Gi"}, *ready(1), namespace="shop", flavor="any", age=8),
        a_workload(
            "year-end",
            {"cpu": "8", "memory": "16Gi"},
            waits("WaitingForQuota", "main: 8 cpu are asked for, and of flavor any are left 4 cpu"),
            namespace="shop",
            age=7,
        ),
        *(
            a_workload(
                f"mails-{number}",
                {"cpu": "1", "memory": "1Gi"},
                waits("WaitingForQuota", "job-year-end-5f1c2 is before it, and the queue is StrictFIFO"),
                namespace="shop",
                age=6 - number / 10,
            )
            for number in range(1, 6)
        ),
    ]
    gpus = {"cpu": "96", "memory": "384Gi", "nvidia.com/gpu": "12"}
    spot = {"cpu": "32", "memory": "128Gi", "nvidia.com/gpu": "4"}
    return {
        NAMESPACES: [Namespace(ObjectMeta(name=name)) for name in _DOORS],
        RESOURCE_FLAVORS: [
            ResourceFlavor(ObjectMeta(name=name), ResourceFlavorSpec({"kind": name})) for name in ("gpu", "spot", "any")
        ],
        CLUSTER_QUEUES: [
            a_queue("research", {"gpu": gpus, "spot": spot}),
            a_queue("shop", {"any": {"cpu": "16", "memory": "64Gi"}}, strategy="StrictFIFO"),
        ],
        LOCAL_QUEUES: [
            LocalQueue(ObjectMeta(name=door, namespace=name), LocalQueueSpec(queue))
            for name, (queue, door) in _DOORS.items()
        ],
        QUEUED_JOBS: [job_of(one) for one in workloads],
        WORKLOADS: workloads,
    }


def world_of(objects: Objects) -> ClusterCache:
    """What one knows when there is this."""
    world = ClusterCache(lambda: NOW, queues=True)
    for kind, items in objects.items():
        world.listeners()[kind]([Change(ChangeType.ADDED, one, None) for one in items])
    return world
