"""Workload: one job in the queue, from the wish for quota to its end.

Its pods' template is kept as the text that the API server sent: it is given back to a job as it was, and nothing that
we do not read may be lost on the way.
"""

from datetime import datetime
from functools import lru_cache
from typing import Annotated, ClassVar, Final

import msgspec

from growth.api.interning import kept
from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.schema import Rule, about
from growth.api.status import MAX_CONDITIONS, Status, StatusCondition, condition_of
from growth.api.workloads import PodTemplate

QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
MAX_EXECUTION_TIME: Final = "kueue.x-k8s.io/max-exec-time-seconds"
JOB_UID: Final = "kueue.x-k8s.io/job-uid"

MAIN: Final = "main"
MAX_POD_SETS: Final = 18

# Conditions of a Workload, and the reasons that are decided on.
QUOTA_RESERVED, ADMITTED, EVICTED, FINISHED = "QuotaReserved", "Admitted", "Evicted", "Finished"
PODS_READY, REQUEUED, DEACTIVATION_TARGET = "PodsReady", "Requeued", "DeactivationTarget"
PODS_READY_TIMEOUT, WORKLOAD_INACTIVE, LIMIT_EXCEEDED = (
    "PodsReadyTimeout",
    "WorkloadInactive",
    "RequeuingLimitExceeded",
)
PREEMPTED, WAITS_FOR_PREEMPTED = "Preempted", "WaitingForPreemptedWorkloads"
ON_STANDING_NODES: Final = "OnStandingNodes"
"""Said of whoever was admitted although no machines of its flavor can be had, until its pods run there."""
WAIT_FOR_RECOVERY: Final = "WaitForRecovery"
"""Reason of PodsReady: the pods were ready and are not any more."""
TIME_EXCEEDED: Final = "MaximumExecutionTimeExceeded"

_TEMPLATES: Final = msgspec.json.Decoder(PodTemplate, strict=False)


@lru_cache(8192)
def read_template(template: bytes) -> PodTemplate:
    """A template, as far as we read it."""
    return _TEMPLATES.decode(template)


class PodSet(FrozenValue, frozen=True):
    """Pods of one template."""

    template: Annotated[msgspec.Raw, about("What the pods are made from.")]
    name: Annotated[str, about("Its name within the workload.", max_length=63)] = MAIN
    count: Annotated[int, about("How many.", ge=0)] = 1
    min_count: Annotated[int, about("With how many it could begin; Growth admits all or none.", ge=1)] | None = None

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "template", kept(self.template))

    @property
    def pods(self) -> PodTemplate:
        """The template, as far as we read it."""
        return read_template(bytes(self.template))


class PriorityClassRef(FrozenValue, frozen=True):
    """Which class the priority came from."""

    group: Annotated[str, about("kueue.x-k8s.io or scheduling.k8s.io.", max_length=253)]
    kind: Annotated[str, about("WorkloadPriorityClass or PriorityClass.", max_length=63)]
    name: Annotated[str, about("Its name.", max_length=253)]
    rules: ClassVar = (
        Rule(
            "(self.group == 'kueue.x-k8s.io' && self.kind == 'WorkloadPriorityClass') || "
            "(self.group == 'scheduling.k8s.io' && self.kind == 'PriorityClass')",
            "must be a WorkloadPriorityClass of kueue.x-k8s.io or a PriorityClass of scheduling.k8s.io",
        ),
    )


class WorkloadSpec(FrozenValue, frozen=True):
    """What a job wants."""

    pod_sets: Annotated[tuple[PodSet, ...], about("Its pods.", max_length=MAX_POD_SETS)] = ()
    queue_name: Annotated[str, about("The LocalQueue in which it waits.", max_length=253)] = ""
    priority_class_ref: Annotated[PriorityClassRef | None, about("Where its priority comes from.")] = None
    priority: Annotated[int | None, about("Higher comes first.")] = None
    active: Annotated[bool, about("Whether it may be admitted; false evicts it.")] = True
    maximum_execution_time_seconds: (
        Annotated[int, about("It may run for so long, then it is deactivated.", ge=1)] | None
    ) = None
    rules: ClassVar = (
        Rule("!has(self.priorityClassRef) || has(self.priority)", "a priorityClassRef needs a priority beside it"),
    )


class PodSetAssignment(FrozenValue, frozen=True):
    """What one pod set was given."""

    name: Annotated[str, about("The pod set.", max_length=63)] = MAIN
    flavors: Annotated[dict[str, str], about("By resource, its flavor.", max_length=64)] = {}
    resource_usage: Annotated[dict[str, int | str], about("By resource, how much in all.", max_length=64)] = {}
    count: Annotated[int, about("How many pods.", ge=0)] | None = None


class Admission(FrozenValue, frozen=True):
    """What it was given, and by which queue."""

    cluster_queue: Annotated[str, about("The ClusterQueue.", max_length=253)]
    pod_set_assignments: Annotated[
        tuple[PodSetAssignment, ...], about("One for each pod set.", max_length=MAX_POD_SETS)
    ] = ()


class RequeueState(FrozenValue, frozen=True):
    """How often it could not start, and when it may be tried again."""

    count: Annotated[int, about("How many times it was put back.", ge=0)] | None = None
    requeue_at: Annotated[datetime | None, about("When it will be requeued, or was; null once it is admitted.")] = None


class ReclaimablePods(FrozenValue, frozen=True):
    """Pods of a pod set that have ended, so that their quota is free again."""

    name: Annotated[str, about("The pod set.", max_length=63)]
    count: Annotated[int, about("How many.", ge=0)] = 0


class PodSetRequest(FrozenValue, frozen=True):
    """What one pod set asks for, as it is counted."""

    name: Annotated[str, about("The pod set.", max_length=63)]
    resources: Annotated[dict[str, int | str], about("By resource, how much in all.", max_length=64)] = {}


class EvictionCount(FrozenValue, frozen=True):
    """How often it was evicted for one reason."""

    reason: Annotated[str, about("As in the condition Evicted.", max_length=316)]
    underlying_cause: Annotated[str, about("What is behind the reason, or nothing.", max_length=316)]
    count: Annotated[int, about("How often.", ge=0)]


MAX_EVICTION_REASONS: Final = 32


class SchedulingStats(FrozenValue, frozen=True):
    """What is counted over the whole life of a workload."""

    evictions: Annotated[
        tuple[EvictionCount, ...], about("By reason; never forgotten.", max_length=MAX_EVICTION_REASONS)
    ] = ()


class WorkloadStatus(Status, frozen=True):
    """How far it is."""

    admission: Annotated[Admission | None, about("What it was given.")] = None
    requeue_state: Annotated[RequeueState | None, about("What became of it when it could not start.")] = None
    reclaimable_pods: Annotated[
        tuple[ReclaimablePods, ...], about("What it does not need any more.", max_length=MAX_POD_SETS)
    ] = ()
    resource_requests: Annotated[
        tuple[PodSetRequest, ...], about("What it asks for, while it waits.", max_length=MAX_POD_SETS)
    ] = ()
    accumulated_past_execution_time_seconds: (
        Annotated[int, about("How long it was admitted, in all, before it was evicted.", ge=0)] | None
    ) = None
    scheduling_stats: Annotated[SchedulingStats | None, about("What became of it so far, in numbers.")] = None
    conditions: Annotated[tuple[StatusCondition, ...], about("Statements about it.", max_length=MAX_CONDITIONS)] = ()


class Workload(FrozenValue, frozen=True):
    """One job in the queue."""

    metadata: ObjectMeta
    spec: WorkloadSpec = WorkloadSpec()
    status: WorkloadStatus = WorkloadStatus()

    def condition(self, kind: str) -> StatusCondition | None:
        """The statement of this type, if there is one."""
        return condition_of(self.status.conditions, kind)

    def holds(self, kind: str) -> bool:
        """Whether this is said of it."""
        condition = self.condition(kind)
        return condition is not None and condition.status == "True"

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, well or badly."""
        return self.holds(FINISHED)

    @property
    def is_reserving(self) -> bool:
        """Whether quota is counted as its own: also while its pods, evicted, have not gone yet.

        What was given is the truth; statements that do not fit were edited by hand and are mended.
        """
        return self.status.admission is not None and not self.is_finished

    @property
    def priority(self) -> int:
        """Its priority; 0 if nobody said one."""
        return self.spec.priority or 0
