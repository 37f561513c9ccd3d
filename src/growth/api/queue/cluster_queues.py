"""ClusterQueue, LocalQueue and Cohort: where jobs wait, and how much they may use together."""

from typing import Annotated, ClassVar, Literal

from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.queue.quotas import MAX_FLAVORS, MAX_GROUPS, FlavorFungibility, Preemption, ResourceGroup
from growth.api.schema import Rule, about
from growth.api.selectors import LabelSelector
from growth.api.status import MAX_CONDITIONS, Status, StatusCondition

# Conditions of a queue.
ACTIVE, MAY_BLOCK, SHORT = "Active", "RequeuingMayBlock", "FlavorsOutOfStock"

StopPolicy = Literal["None", "Hold", "HoldAndDrain"]


class ClusterQueueSpec(FrozenValue, frozen=True):
    """Quota, and who may use it in which order."""

    resource_groups: Annotated[tuple[ResourceGroup, ...], about("What there is.", max_length=MAX_GROUPS)] = ()
    cohort_name: Annotated[str, about("Queues of one cohort lend each other what they do not use.", max_length=253)] = (
        ""
    )
    queueing_strategy: Annotated[
        Literal["StrictFIFO", "BestEffortFIFO"],
        about("Whether a workload that cannot be admitted holds up those behind it."),
    ] = "BestEffortFIFO"
    namespace_selector: Annotated[
        LabelSelector | None, about("Namespaces whose workloads may use it; unset means none, {} means all.")
    ] = None
    flavor_fungibility: FlavorFungibility = FlavorFungibility()
    preemption: Preemption = Preemption()
    stop_policy: Annotated[
        StopPolicy, about("Hold admits nobody any more; HoldAndDrain also evicts who was admitted.")
    ] = "None"
    rules: ClassVar = (
        Rule(
            "(has(self.cohortName) && self.cohortName != '') || !has(self.resourceGroups) || self.resourceGroups.all("
            "g, g.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))",
            "borrowingLimit needs a cohort (cohortName)",
        ),
    )


class ResourceUsage(FrozenValue, frozen=True):
    """How much of one resource of a flavor is used."""

    name: Annotated[str, about("The resource.", max_length=317)]
    total: Annotated[int | str, about("So much.")] = 0
    borrowed: Annotated[int | str, about("So much of it is borrowed of the cohort.")] = 0


class FlavorUsage(FrozenValue, frozen=True):
    """How much of one flavor is used."""

    name: Annotated[str, about("The flavor.", max_length=253)]
    resources: Annotated[tuple[ResourceUsage, ...], about("By resource.", max_length=64)] = ()


_CONDITIONS = about("Statements about the queue.", max_length=MAX_CONDITIONS)
_USAGE = about("By flavor.", max_length=MAX_GROUPS * MAX_FLAVORS)


class ClusterQueueStatus(Status, frozen=True):
    """How full it is and who waits."""

    flavors_reservation: Annotated[tuple[FlavorUsage, ...], _USAGE] = ()
    flavors_usage: Annotated[tuple[FlavorUsage, ...], _USAGE] = ()
    pending_workloads: Annotated[int, about("Who waits.", ge=0)] = 0
    reserving_workloads: Annotated[int, about("Who holds quota.", ge=0)] = 0
    admitted_workloads: Annotated[int, about("Who is admitted and has not ended.", ge=0)] = 0
    conditions: Annotated[tuple[StatusCondition, ...], _CONDITIONS] = ()


class ClusterQueue(FrozenValue, frozen=True):
    """Quota of the cluster, and the workloads that wait for it."""

    metadata: ObjectMeta
    spec: ClusterQueueSpec = ClusterQueueSpec()
    status: ClusterQueueStatus = ClusterQueueStatus()


class LocalQueueSpec(FrozenValue, frozen=True):
    """Where its workloads wait."""

    cluster_queue: Annotated[
        str,
        about("The ClusterQueue.", Rule("self == oldSelf", "clusterQueue cannot be changed"), max_length=253),
    ] = ""
    stop_policy: Annotated[StopPolicy, about("As in a ClusterQueue, for this one's workloads.")] = "None"


class LocalQueueStatus(ClusterQueueStatus, frozen=True):
    """How many wait, and what those that were admitted use."""


class LocalQueue(FrozenValue, frozen=True):
    """A namespace's door to a ClusterQueue."""

    metadata: ObjectMeta
    spec: LocalQueueSpec = LocalQueueSpec()
    status: LocalQueueStatus = LocalQueueStatus()


class CohortSpec(FrozenValue, frozen=True):
    """A cohort of cohorts, with quota of its own."""

    parent_name: Annotated[str, about("The cohort that this one belongs to.", max_length=253)] = ""
    resource_groups: Annotated[tuple[ResourceGroup, ...], about("What its members share.", max_length=MAX_GROUPS)] = ()


class Cohort(FrozenValue, frozen=True):
    """Queues that lend each other what they do not use. One that is only named need not exist."""

    metadata: ObjectMeta
    spec: CohortSpec = CohortSpec()


class WorkloadPriorityClass(FrozenValue, frozen=True):
    """A name for how important a workload is, whatever its pods are."""

    metadata: ObjectMeta
    value: Annotated[int, about("Higher comes first.")] = 0
    description: Annotated[str, about("When to use it.", max_length=2048)] = ""
