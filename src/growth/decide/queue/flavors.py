"""Which flavor serves which part of a workload, if any does.

For each resource group the flavors are tried in the order in which the queue names them; all resources of a group that
a pod set asks for come from the same flavor. A flavor does if the pods may go to its nodes (labels, taints) and enough
of it is left.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from growth.api.pod import PodSpec
from growth.api.queue.queues import ClusterQueue
from growth.api.queue.quotas import FlavorQuotas, ResourceFlavor, ResourceGroup
from growth.api.queue.workload import Workload
from growth.api.selectors import NodeSelectorTerm
from growth.api.tolerations import untolerated
from growth.decide.queue.filling import Filling
from growth.decide.queue.tree import Member, Slot

PODS: Final = "pods"
_AS_WRITTEN: Final = Filling()


class PodSetNeeds(msgspec.Struct, frozen=True):
    """What the pods of one set ask for together."""

    name: str
    count: int
    spec: PodSpec
    amounts: Mapping[str, int]


class Assigned(msgspec.Struct, frozen=True):
    """What one pod set gets."""

    needs: PodSetNeeds
    flavors: Mapping[str, str]
    """By resource."""


class Assignment(msgspec.Struct, frozen=True):
    """What a workload gets: all of it."""

    sets: tuple[Assigned, ...]

    @property
    def usage(self) -> dict[Slot, int]:
        """How much of what it uses."""
        total: dict[Slot, int] = {}
        for assigned in self.sets:
            for resource, flavor in assigned.flavors.items():
                slot = (flavor, resource)
                total[slot] = total.get(slot, 0) + assigned.needs.amounts[resource]
        return total


class Refusal(msgspec.Struct, frozen=True):
    """Why it gets nothing now: a reason of the condition QuotaReserved, and a sentence."""

    reason: str
    why: str
    is_final: bool = False
    """Whether no other workload's end could change it."""


def needs_of(workload: Workload, filling: Filling = _AS_WRITTEN) -> tuple[PodSetNeeds, ...]:
    """What a workload asks for, without what it does not need any more."""
    spare = {one.name: one.count for one in workload.status.reclaimable_pods}
    found: list[PodSetNeeds] = []
    for pod_set in workload.spec.pod_sets:
        count = max(0, pod_set.count - spare.get(pod_set.name, 0))
        spec, requests = filling.pod_of(pod_set, workload.metadata.namespace)
        amounts = {name: amount * count for name, amount in requests.items()}
        found.append(PodSetNeeds(pod_set.name, count, spec, amounts))
    return tuple(found)


def asks_for_pods(needs: Sequence[PodSetNeeds]) -> Refusal | None:
    """Pods are counted, not asked for; no API server takes a pod with such a request."""
    for one in needs:
        containers = (*one.spec.containers, *one.spec.init_containers)
        if any(PODS in container.resources.requests for container in containers):
            why = f"a container of {one.name} asks for the resource pods, which are counted by themselves: take it out"
            return Refusal("Misconfigured", why, is_final=True)
    return None


def assign(
    queue: ClusterQueue, member: Member, flavors: Mapping[str, ResourceFlavor], needs: Sequence[PodSetNeeds]
) -> Assignment | Refusal:
    """Flavors for all pod sets, or why there are none. Nothing is used by asking."""
    groups = {resource: group for group in queue.spec.resource_groups for resource in group.covered_resources}
    taken: dict[Slot, int] = {}
    sets: list[Assigned] = []
    for one in needs:
        chosen: dict[str, str] = {}
        for group in _groups_for(one, groups):
            if isinstance(group, Refusal):
                return group
            bound = {key: value for name in chosen.values() for key, value in flavors[name].spec.node_labels.items()}
            named = {quotas.name for quotas in group.flavors} & flavors.keys()
            misfits = {name: _misfit(flavors[name], one, bound) for name in named}
            found = _choose(group, member, misfits, one, taken)
            if isinstance(found, Refusal):
                return found
            for resource in _covered(group, one):
                chosen[resource] = found.name
                slot = (found.name, resource)
                taken[slot] = taken.get(slot, 0) + one.amounts[resource]
        sets.append(Assigned(one, chosen))
    return Assignment(tuple(sets))


def _groups_for(needs: PodSetNeeds, groups: Mapping[str, ResourceGroup]) -> Sequence[ResourceGroup | Refusal]:
    """The groups that it needs something of, in the queue's order, so that any two replicas choose alike."""
    for resource, amount in sorted(needs.amounts.items()):
        if resource not in groups and amount and resource != PODS:
            why = f"the pods of {needs.name} ask for {resource}, of which the queue has no quota"
            return [Refusal("NoMatchingFlavor", why, is_final=True)]
    found: list[ResourceGroup | Refusal] = []
    for resource, group in groups.items():
        if resource in needs.amounts and group not in found:
            found.append(group)
    return found


def _covered(group: ResourceGroup, needs: PodSetNeeds) -> list[str]:
    return [resource for resource in group.covered_resources if resource in needs.amounts]


def _choose(
    group: ResourceGroup,
    member: Member,
    misfits: Mapping[str, Refusal | None],
    needs: PodSetNeeds,
    taken: Mapping[Slot, int],
) -> FlavorQuotas | Refusal:
    """The first flavor that does; ``misfits`` says of each that there is why these pods may not go to its nodes."""
    refusals: list[Refusal] = []
    for quotas in group.flavors:
        missing = Refusal("Misconfigured", f"flavor {quotas.name} does not exist", is_final=True)
        refusal = misfits.get(quotas.name, missing) or _shortage(quotas.name, group, member, needs, taken)
        if refusal is None:
            return quotas
        refusals.append(refusal)
    waiting = [one for one in refusals if not one.is_final]
    told = waiting or refusals
    reason = told[0].reason if told else "NoMatchingFlavor"
    why = "; ".join(one.why for one in refusals) or "the queue has no flavors"
    return Refusal(reason, f"{needs.name}: {why}", is_final=not waiting)


def _misfit(flavor: ResourceFlavor, needs: PodSetNeeds, bound: Mapping[str, str]) -> Refusal | None:
    """Why these pods cannot go to the nodes of this flavor. Of their wishes only those count that it says something of:
    nodes have many labels that no flavor names. ``bound`` are labels of flavors that they have for other resources."""
    name, labels = flavor.metadata.name, flavor.spec.node_labels
    taint = untolerated(flavor.spec.node_taints, (*needs.spec.tolerations, *flavor.spec.tolerations))
    if taint is not None:
        return Refusal("NoMatchingFlavor", f"flavor {name} has the taint {taint}, not tolerated", is_final=True)
    for key, value in (*needs.spec.node_selector.items(), *bound.items()):
        if labels.get(key, value) != value:
            words = f"flavor {name} does not have the label {key}={value} that is asked for"
            return Refusal("NoMatchingFlavor", words, is_final=True)
    affinity = needs.spec.affinity.node_affinity if needs.spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    if required is not None and not any(_meets(labels, term) for term in required.node_selector_terms):
        return Refusal("NoMatchingFlavor", f"flavor {name} does not meet the required node affinity", is_final=True)
    return None


def _meets(labels: Mapping[str, str], term: NodeSelectorTerm) -> bool:
    """Whether nodes with these labels may meet a term. One that says nothing of these keys holds for every flavor."""
    return all(one.matches(labels) for one in term.match_expressions if one.key in labels)


def _shortage(
    flavor: str, group: ResourceGroup, member: Member, needs: PodSetNeeds, taken: Mapping[Slot, int]
) -> Refusal | None:
    for resource in _covered(group, needs):
        slot = (flavor, resource)
        amount = needs.amounts[resource] + taken.get(slot, 0)
        if amount > member.capacity(slot):
            words = f"{_shown(resource, amount)} are asked for, and flavor {flavor} never has more than"
            return Refusal("ExceedsMaxQuota", f"{words} {_shown(resource, member.capacity(slot))}", is_final=True)
        left = member.available(slot)
        if amount > left:
            words = f"{_shown(resource, amount)} are asked for, and of flavor {flavor} are left"
            return Refusal("WaitingForQuota", f"{words} {_shown(resource, max(0, left))}")
    return None


def _shown(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount / 1000:g} cpu"
    if resource == "memory" and amount >= 2**20:
        return f"{amount / 2**30:.3g} Gi of memory"
    return f"{amount} {resource}"
