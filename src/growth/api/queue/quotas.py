"""How much of what may be used: resource groups, their flavors and the quota of each."""

from typing import Annotated, ClassVar, Literal

import msgspec

from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.schema import Rule, about
from growth.api.tolerations import EFFECTS, Taint, Toleration

Name = Annotated[str, msgspec.Meta(max_length=253)]
MAX_GROUPS = 16
MAX_FLAVORS = 64
MAX_RESOURCES = 64

_TAINTS = Rule(
    "self.all(t, t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])",
    f"every taint needs an effect: {', '.join(EFFECTS)}",
)
_TOLERATIONS = Rule(
    "self.all(t, (has(t.key) && t.key != '') || (has(t.operator) && t.operator == 'Exists')) "
    "&& self.all(t, !has(t.operator) || t.operator != 'Exists' || !has(t.value) || t.value == '')",
    "a toleration without a key needs the operator Exists, and one with the operator Exists has no value",
)


class ResourceFlavorSpec(FrozenValue, frozen=True):
    """What sets these nodes apart from others."""

    node_labels: Annotated[
        dict[str, str], about("Labels of the nodes: jobs that use the flavor are bound to them.", max_length=8)
    ] = {}
    node_taints: Annotated[
        tuple[Taint, ...], about("Taints of the nodes: jobs must tolerate them.", _TAINTS, max_length=8)
    ] = ()
    tolerations: Annotated[
        tuple[Toleration, ...],
        about("Tolerations that are given to jobs that use the flavor.", _TOLERATIONS, max_length=8),
    ] = ()


class ResourceFlavor(FrozenValue, frozen=True):
    """One kind of nodes that quota can be given for."""

    metadata: ObjectMeta
    spec: ResourceFlavorSpec = ResourceFlavorSpec()


class ResourceQuota(FrozenValue, frozen=True):
    """How much of one resource of one flavor."""

    name: Annotated[str, about("The resource, such as cpu.", max_length=317)]
    nominal_quota: Annotated[int | str, about("So much is the queue's own.")] = 0
    borrowing_limit: Annotated[
        int | str | None, about("So much may be borrowed of the cohort; unset means any amount.")
    ] = None
    lending_limit: Annotated[int | str | None, about("So much may be lent to the cohort; unset means all.")] = None


class FlavorQuotas(FrozenValue, frozen=True):
    """The quota of one flavor."""

    name: Annotated[str, about("The ResourceFlavor.", max_length=253)]
    resources: Annotated[tuple[ResourceQuota, ...], about("One for each resource.", max_length=MAX_RESOURCES)] = ()


class ResourceGroup(FrozenValue, frozen=True):
    """Resources that are taken from the same flavor."""

    covered_resources: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=317)], ...],
        about("The resources.", max_length=MAX_RESOURCES),
    ] = ()
    flavors: Annotated[
        tuple[FlavorQuotas, ...], about("Flavors, in the order in which they are tried.", max_length=MAX_FLAVORS)
    ] = ()
    rules: ClassVar = (
        Rule(
            "self.flavors.all(x, size(x.resources) == size(self.coveredResources))",
            "every flavor needs a quota for every resource in coveredResources, and for no other",
        ),
    )


class FlavorFungibility(FrozenValue, frozen=True):
    """Whether the next flavor is tried before something is borrowed or somebody preempted."""

    when_can_borrow: Annotated[
        Literal["MayStopSearch", "TryNextFlavor"], about("What to do where borrowing would do.")
    ] = "MayStopSearch"
    when_can_preempt: Annotated[
        Literal["MayStopSearch", "TryNextFlavor"], about("What to do where preemption would do.")
    ] = "TryNextFlavor"
    preference: (
        Annotated[
            Literal["BorrowingOverPreemption", "PreemptionOverBorrowing"],
            about("What is better among flavors that all need one of them."),
        ]
        | None
    ) = None
    rules: ClassVar = (
        Rule(
            "!has(self.preference) || "
            "(self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')",
            "a preference needs whenCanBorrow and whenCanPreempt to be TryNextFlavor",
        ),
    )


class BorrowWithinCohort(FrozenValue, frozen=True):
    """Whether others may be preempted for something borrowed."""

    policy: Annotated[Literal["Never", "LowerPriority"], about("Who may be.")] = "Never"
    max_priority_threshold: Annotated[int | None, about("Nobody above this priority.")] = None


class Preemption(FrozenValue, frozen=True):
    """Who may be sent back to the queue for somebody else."""

    within_cluster_queue: Annotated[
        Literal["Never", "LowerPriority", "LowerOrNewerEqualPriority"], about("Workloads of the same queue.")
    ] = "Never"
    reclaim_within_cohort: Annotated[
        Literal["Never", "LowerPriority", "Any"], about("Workloads of other queues that use what is this one's own.")
    ] = "Never"
    borrow_within_cohort: Annotated[
        BorrowWithinCohort | None, about("Workloads of other queues, for something borrowed.")
    ] = None
    rules: ClassVar = (
        Rule(
            "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) "
            "&& self.borrowWithinCohort.policy != 'Never')",
            "borrowWithinCohort needs reclaimWithinCohort",
        ),
    )
