"""Which flavor serves which part of a workload, if any does.

For each resource group the flavors are tried in the order in which the queue names them; all resources of a group that
a pod set asks for come from the same flavor. A flavor does if the pods may go to its nodes (labels, taints) and enough
of it is left, or would be if somebody else went. ``flavorFungibility`` says whether to look further where something
would have to be borrowed or somebody to go; of all that were looked at the best one is taken.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final

import msgspec

from growth.api.pod import PodSpec
from growth.api.queue.cluster_queues import ClusterQueue
from growth.api.queue.quotas import FlavorFungibility, ResourceFlavor, ResourceGroup
from growth.api.queue.workload import Workload
from growth.api.selectors import NodeSelectorTerm
from growth.api.tolerations import untolerated
from growth.decide.queue.failed_flavors import NOTHING_TRIED, FailedFlavors
from growth.decide.queue.pod_defaults import PodDefaults
from growth.decide.queue.quota_tree import QuotaNode, Slot

PODS: Final = "pods"
OUT_OF_STOCK: Final = "FlavorOutOfStock"
NO_PLACEMENT: Final = "NoPlacement"
"""Why it is not admitted on a flavor: a plan had no place there for all of its pods."""
_NONE: Final[Mapping[str, str]] = {}
_AS_WRITTEN: Final = PodDefaults()


class PodSetNeeds(msgspec.Struct, frozen=True):
    """What the pods of one set ask for together."""

    name: str
    count: int
    spec: PodSpec
    amounts: Mapping[str, int]


class AssignmentMode(IntEnum):
    """How something can be had; the better the higher."""

    NOBODY_TO_GO = 0
    """It is within the quota, and others use it who may not be sent back."""
    SOMEBODY_GOES = 1
    OTHERS_GO = 2
    """Only workloads of other queues, which use more than their own."""
    FREE = 3


class FlavorRank(msgspec.Struct, frozen=True):
    """How something can be had, and how far up one has to borrow for it."""

    way: AssignmentMode = AssignmentMode.FREE
    height: int = 0


Oracle = Callable[[Slot, int], FlavorRank]
"""What it would take to have so much, when that is not free."""


def nobody_goes(_slot: Slot, _amount: int) -> FlavorRank:
    """Where nobody is ever sent back."""
    return FlavorRank(AssignmentMode.NOBODY_TO_GO)


class PodSetAssigned(msgspec.Struct, frozen=True):
    """What one pod set gets."""

    needs: PodSetNeeds
    flavors: Mapping[str, str]
    """By resource."""


Lack = Callable[[Sequence[PodSetAssigned]], str | None]
"""Why nodes that stand have no room for all pods of these sets, as the end of a sentence; None if they have."""


def nothing_stands(_sets: Sequence[PodSetAssigned]) -> str | None:
    """Where nobody looks at nodes."""
    return ""


class Assignment(msgspec.Struct, frozen=True):
    """What a workload gets: all of it."""

    sets: tuple[PodSetAssigned, ...]
    price: FlavorRank = FlavorRank()
    short: frozenset[Slot] = frozenset()
    """What is not free."""
    why: str = ""
    """Why it is not."""
    chosen: tuple[str, ...] = ()
    """The flavors, one for each pod set and group, in the order in which they were chosen."""

    @property
    def usage(self) -> dict[Slot, int]:
        """How much of what it uses."""
        total: dict[Slot, int] = {}
        for assigned in self.sets:
            for resource, flavor in assigned.flavors.items():
                slot = (flavor, resource)
                total[slot] = total.get(slot, 0) + assigned.needs.amounts[resource]
        return total


class AssignmentRefusal(msgspec.Struct, frozen=True):
    """Why it gets nothing now: a reason of the condition QuotaReserved, and a sentence."""

    reason: str
    why: str
    is_final: bool = False
    """Whether no other workload's end could change it."""


def needs_of(workload: Workload, filling: PodDefaults = _AS_WRITTEN) -> tuple[PodSetNeeds, ...]:
    """What a workload asks for, without what it does not need any more."""
    spare = {one.name: one.count for one in workload.status.reclaimable_pods}
    found: list[PodSetNeeds] = []
    for pod_set in workload.spec.pod_sets:
        count = max(0, pod_set.count - spare.get(pod_set.name, 0))
        spec, requests = filling.pod_of(pod_set, workload.metadata.namespace)
        amounts = {name: amount * count for name, amount in requests.items()}
        found.append(PodSetNeeds(pod_set.name, count, spec, amounts))
    return tuple(found)


def bound_to(spec: PodSpec, flavors: Iterable[ResourceFlavor]) -> PodSpec:
    """A pod as it is made for whoever has these flavors: it goes to their nodes."""
    known = list(flavors)
    selector = {label: value for flavor in known for label, value in flavor.spec.node_labels.items()}
    tolerations = tuple(one for flavor in known for one in flavor.spec.tolerations)
    return msgspec.structs.replace(
        spec, node_selector={**spec.node_selector, **selector}, tolerations=(*spec.tolerations, *tolerations)
    )


def asks_for_pods(needs: Sequence[PodSetNeeds]) -> AssignmentRefusal | None:
    """Pods are counted, not asked for; no API server takes a pod with such a request."""
    for one in needs:
        containers = (*one.spec.containers, *one.spec.init_containers)
        if any(PODS in container.resources.requests for container in containers):
            why = f"a container of {one.name} asks for the resource pods, which are counted by themselves: take it out"
            return AssignmentRefusal("Misconfigured", why, is_final=True)
    return None


def assign(
    queue: ClusterQueue,
    member: QuotaNode,
    flavors: Mapping[str, ResourceFlavor],
    needs: Sequence[PodSetNeeds],
    *,
    oracle: Oracle = nobody_goes,
    closed: Mapping[str, str] = _NONE,
    lack: Lack = nothing_stands,
    tried: FailedFlavors = NOTHING_TRIED,
    promised: Sequence[str] = (),
) -> Assignment | AssignmentRefusal:
    """Flavors for all pod sets, or why there are none. Nothing is used by asking.

    ``closed`` are flavors whose machines cannot be had now, and why: they do for whom nodes that stand do not ``lack``
    room. ``tried`` are those on which it could not start: the same holds for those on which it had no place. Where some
    are ``promised`` no others are looked at.
    """
    groups = {resource: group for group in queue.spec.resource_groups for resource in group.covered_resources}
    taken: dict[Slot, int] = {}
    sets: list[PodSetAssigned] = []
    offers: list[_Offer] = []
    for one in needs:
        chosen: dict[str, str] = {}
        for group in _groups_for(one, groups):
            if isinstance(group, AssignmentRefusal):
                return group
            if promised:
                group = _as_promised(group, promised[len(offers) : len(offers) + 1])  # noqa: PLW2901 - the same, less
            bound = {key: value for name in chosen.values() for key, value in flavors[name].spec.node_labels.items()}
            named = {quotas.name for quotas in group.flavors} & flavors.keys()
            misfits = {name: _misfit(flavors[name], one, bound) for name in named}
            for name in named if closed or tried.refused else ():
                given = PodSetAssigned(one, {**chosen, **dict.fromkeys(_covered(group, one), name)})
                is_whole = len(given.flavors) == sum(resource in groups for resource in one.amounts)
                misfits[name] = misfits[name] or _closed([*sets, given], closed, tried, lack, is_whole=is_whole)
            found = _Search(queue, member, oracle, group, one, taken, tried).best(misfits)
            if isinstance(found, AssignmentRefusal):
                return found
            offers.append(found)
            for resource in _covered(group, one):
                chosen[resource] = found.flavor
                slot = (found.flavor, resource)
                taken[slot] = taken.get(slot, 0) + one.amounts[resource]
        sets.append(PodSetAssigned(one, chosen))
    if tried.are_spent(flavor for one in sets for flavor in one.flavors.values()):
        return AssignmentRefusal("WaitingForQuota", "it could not start on these flavors, and its backoff is not over")
    return Assignment(
        tuple(sets),
        _dearest([offer.price for offer in offers]),
        frozenset[Slot]().union(*(offer.short for offer in offers)),
        "; ".join(offer.why for offer in offers if offer.why),
        tuple(offer.flavor for offer in offers),
    )


def _as_promised(group: ResourceGroup, flavors: Sequence[str]) -> ResourceGroup:
    return msgspec.structs.replace(group, flavors=tuple(one for one in group.flavors if one.name in flavors))


def _groups_for(needs: PodSetNeeds, groups: Mapping[str, ResourceGroup]) -> Sequence[ResourceGroup | AssignmentRefusal]:
    """The groups that it needs something of, in the queue's order, so that any two replicas choose alike."""
    for resource, amount in sorted(needs.amounts.items()):
        if resource not in groups and amount and resource != PODS:
            why = f"the pods of {needs.name} ask for {resource}, of which the queue has no quota"
            return [AssignmentRefusal("NoMatchingFlavor", why, is_final=True)]
    found: list[ResourceGroup | AssignmentRefusal] = []
    for resource, group in groups.items():
        if resource in needs.amounts and group not in found:
            found.append(group)
    return found


def _covered(group: ResourceGroup, needs: PodSetNeeds) -> list[str]:
    return [resource for resource in group.covered_resources if resource in needs.amounts]


class _Offer(msgspec.Struct, frozen=True):
    """One flavor for one pod set."""

    flavor: str
    price: FlavorRank
    short: frozenset[Slot]
    why: str


class _Search(msgspec.Struct, frozen=True):
    """The search for a flavor for what one pod set needs of one group; ``taken`` is what the sets before it got."""

    queue: ClusterQueue
    member: QuotaNode
    oracle: Oracle
    group: ResourceGroup
    needs: PodSetNeeds
    taken: Mapping[Slot, int]
    tried: FailedFlavors

    def best(self, misfits: Mapping[str, AssignmentRefusal | None]) -> _Offer | AssignmentRefusal:
        """The best offer; ``misfits`` says of each flavor that there is why these pods may not go to its nodes."""
        fungibility, refusals, reported = self.queue.spec.flavor_fungibility, list[AssignmentRefusal](), list[str]()
        best: _Offer | None = None
        for quotas in self.tried.ordered(self.group.flavors):
            missing = AssignmentRefusal("Misconfigured", f"flavor {quotas.name} does not exist", is_final=True)
            found = misfits.get(quotas.name, missing) or self._offer(quotas.name)
            reported.append(found.why)
            if isinstance(found, AssignmentRefusal):
                refusals.append(found)
                continue
            if best is None or _worth(found.price, fungibility) > _worth(best.price, fungibility):
                best = found
            if _is_enough(found.price, fungibility):
                break
        if best is None:
            return self._refusal(refusals)
        why = f"{self.needs.name}: {'; '.join(filter(None, reported))}" if best.short else ""
        return msgspec.structs.replace(best, why=why)

    def _offer(self, flavor: str) -> _Offer | AssignmentRefusal:
        prices: list[FlavorRank] = []
        short: dict[Slot, str] = {}
        for resource in _covered(self.group, self.needs):
            slot = (flavor, resource)
            amount = self.needs.amounts[resource] + self.taken.get(slot, 0)
            most, left = self.member.capacity(slot), self.member.available(slot)
            if amount > most:
                words = f"{_shown(resource, amount)} are asked for, and flavor {flavor} never has more than"
                return AssignmentRefusal("ExceedsMaxQuota", f"{words} {_shown(resource, most)}", is_final=True)
            if amount <= left:
                prices.append(FlavorRank(AssignmentMode.FREE, self.member.reach(slot, amount).height))
                continue
            words = f"{_shown(resource, amount)} are asked for, and of flavor {flavor} are left"
            short[slot] = f"{words} {_shown(resource, max(0, left))}"
            if not self._may_send_back(slot, amount):
                return AssignmentRefusal("WaitingForQuota", short[slot])
            prices.append(self.oracle(slot, amount))
        return _Offer(flavor, _dearest(prices), frozenset(short), next(iter(short.values()), ""))

    def _may_send_back(self, slot: Slot, amount: int) -> bool:
        """Whether it is worth a look who could go: if a part of the tree has a right to so much, or may borrow it."""
        borrowing = self.queue.spec.preemption.borrow_within_cohort
        is_ours = amount <= self.member.nominal(slot) or self.member.reach(slot, amount).parent is not None
        return is_ours or (borrowing is not None and borrowing.policy != "Never")

    def _refusal(self, refusals: Sequence[AssignmentRefusal]) -> AssignmentRefusal:
        waiting = [one for one in refusals if not one.is_final]
        # Whoever waits for quota of one flavor may hold up a queue, whether or not another one has a place for it.
        reported = [one for one in waiting if one.reason != NO_PLACEMENT] or waiting or refusals
        reason = reported[0].reason if reported else "NoMatchingFlavor"
        why = "; ".join(one.why for one in refusals) or "the queue has no flavors"
        return AssignmentRefusal(reason, f"{self.needs.name}: {why}", is_final=not waiting)


def _dearest(prices: Sequence[FlavorRank]) -> FlavorRank:
    """What several things cost together."""
    return FlavorRank(
        min((price.way for price in prices), default=AssignmentMode.FREE),
        max((price.height for price in prices), default=0),
    )


def _worth(price: FlavorRank, fungibility: FlavorFungibility) -> tuple[int, int]:
    """The better the higher: first that nobody has to go, then that nothing is borrowed, or the other way round."""
    if fungibility.preference == "PreemptionOverBorrowing":
        return -price.height, price.way
    return price.way, -price.height


def _is_enough(price: FlavorRank, fungibility: FlavorFungibility) -> bool:
    """Whether to look no further."""
    if price.way is AssignmentMode.NOBODY_TO_GO:
        return False
    if price.way is not AssignmentMode.FREE and fungibility.when_can_preempt == "TryNextFlavor":
        return False
    return price.height == 0 or fungibility.when_can_borrow != "TryNextFlavor"


def _misfit(flavor: ResourceFlavor, needs: PodSetNeeds, bound: Mapping[str, str]) -> AssignmentRefusal | None:
    """Why these pods cannot go to the nodes of this flavor. Of their wishes only those count that it says something of:
    nodes have many labels that no flavor names. ``bound`` are labels of flavors that they have for other resources."""
    name, labels = flavor.metadata.name, flavor.spec.node_labels
    taint = untolerated(flavor.spec.node_taints, (*needs.spec.tolerations, *flavor.spec.tolerations))
    if taint is not None:
        return AssignmentRefusal(
            "NoMatchingFlavor", f"flavor {name} has the taint {taint}, not tolerated", is_final=True
        )
    for key, value in (*needs.spec.node_selector.items(), *bound.items()):
        if labels.get(key, value) != value:
            words = f"flavor {name} does not have the label {key}={value} that is asked for"
            return AssignmentRefusal("NoMatchingFlavor", words, is_final=True)
    affinity = needs.spec.affinity.node_affinity if needs.spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    if required is not None and not any(_meets(labels, term) for term in required.node_selector_terms):
        return AssignmentRefusal(
            "NoMatchingFlavor", f"flavor {name} does not meet the required node affinity", is_final=True
        )
    return None


def _closed(
    sets: Sequence[PodSetAssigned], closed: Mapping[str, str], tried: FailedFlavors, lack: Lack, *, is_whole: bool
) -> AssignmentRefusal | None:
    """Why the last of these sets cannot be given what it would be: there are no machines for it, nor do nodes stand.

    It was refused what it had then as a whole: one of these flavors may do beside another one.
    """
    flavors = dict.fromkeys(sets[-1].flavors.values())
    shut = [flavor for flavor in flavors if flavor in closed]
    is_refused = is_whole and tried.refused.issuperset(flavors)
    if not shut and not is_refused:
        return None
    missed = not tried.missed.isdisjoint(shut or flavors)
    why = "it found no place on the nodes that stand" if missed else lack(sets)
    if why is None:
        return None
    if shut:
        return AssignmentRefusal(
            OUT_OF_STOCK, ", and ".join(filter(None, (f"flavor {shut[0]}: {closed[shut[0]]}", why)))
        )
    reported = f"flavor {', '.join(flavors)}: machines for all of its pods cannot be launched now"
    return AssignmentRefusal(NO_PLACEMENT, ", and ".join(filter(None, (reported, why))))


def _meets(labels: Mapping[str, str], term: NodeSelectorTerm) -> bool:
    """Whether nodes with these labels may meet a term. One that says nothing of these keys holds for every flavor."""
    return all(one.matches(labels) for one in term.match_expressions if one.key in labels)


def _shown(resource: str, amount: int) -> str:
    if resource == "cpu":
        return f"{amount / 1000:g} cpu"
    if resource == "memory" and amount >= 2**20:
        return f"{amount / 2**30:.3g} Gi of memory"
    return f"{amount} {resource}"
