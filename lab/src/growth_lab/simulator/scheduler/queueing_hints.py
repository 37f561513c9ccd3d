"""Hints: which change in the cluster may help a pod that was refused, as each filter of kube-scheduler 1.36 answers it.

A pod is asked again only if a filter that refused it gives the hint. Some hints never come where one would expect them:
a new node does not wake a pod that only others' anti-affinity or only volume limits keep away (such pods wait for the
flush). Each function here and in ``node_hints`` and ``volume_hints`` is a part of a filter's ``EventsToRegister``.
"""

from collections.abc import Callable, Mapping
from typing import Final

from growth.api.pod import Pod, PodAffinityTerm
from growth.api.selectors import selects
from growth.api.taints import tolerations_of
from growth.api.tolerations import tolerates
from growth.decide.fit.inter_pod_affinity import attracting_terms
from growth.decide.fit.node_ports import PortsInUse, host_ports
from growth.decide.fit.pod_counts import repelling_terms
from growth.decide.fit.taint_toleration import CORDON
from growth.decide.fit.topology_spread import effective_selector, hard_constraints
from growth.decide.fit.volume_restrictions import is_conflict
from growth.observe.pod_requests import Requests, requests_of
from growth_lab.simulator.scheduler.cache import PodChange

_NO_LABELS: Final[Mapping[str, str]] = {}


def pod_hint(filter_name: str, pod: Pod, change: PodChange) -> bool:
    """Whether a change of another pod, which has a node or room on one, may help a pod that this filter refused."""
    hint = _POD_HINTS.get(filter_name)
    return hint is not None and hint(pod, change)


def own_hint(filter_name: str, before: Pod, now: Pod) -> bool:
    """The same for a change of the refused pod itself."""
    gained = len(tolerations_of(before)) != len(tolerations_of(now))
    relabelled = before.metadata.labels != now.metadata.labels
    match filter_name:
        case "TaintToleration":
            return gained
        case "NodeUnschedulable":
            return gained and any(tolerates(known, CORDON) for known in now.spec.tolerations)
        case "InterPodAffinity":
            return relabelled
        case "PodTopologySpread":
            honours = any(known.node_taints_policy == "Honor" for known in hard_constraints(now))
            return (gained and honours) or (relabelled and _spread_changes(now, before, now))
        case "NodeResourcesFit":
            old, new = requests_of(before.spec), requests_of(now.spec)
            return any(amount > new.get(name, 0) for name, amount in old.items())
        case _:
            return False


def _after_ports(pod: Pod, change: PodChange) -> bool:
    gone = _gone(change)
    if gone is None:
        return False
    freed = PortsInUse()
    freed.take(host_ports(gone.spec))
    return any(freed.collision(port) for port in host_ports(pod.spec))


def _after_requests(pod: Pod, change: PodChange) -> bool:
    before, now = change
    if before is None:
        return False
    if now is None:
        return True
    wanted = requests_of(pod.spec)
    return before.spec is not now.spec and _any_less(wanted, requests_of(before.spec), requests_of(now.spec))


def _any_less(wanted: Requests, old: Requests, new: Requests) -> bool:
    return any(old.get(name, 0) > new.get(name, 0) for name in wanted)


def _after_disks(pod: Pod, change: PodChange) -> bool:
    gone = _gone(change)
    if gone is None or gone.metadata.namespace != pod.metadata.namespace:
        return False
    if any(is_conflict(one, other) for one in pod.spec.volumes for other in gone.spec.volumes):
        return True
    claims = [known.persistent_volume_claim for known in pod.spec.volumes if known.persistent_volume_claim]
    return any(known.persistent_volume_claim in claims for known in gone.spec.volumes if known.persistent_volume_claim)


def _after_volumes(_: Pod, change: PodChange) -> bool:
    gone = _gone(change)
    return gone is not None and any(volume.is_claim for volume in gone.spec.volumes)


def _gone(change: PodChange) -> Pod | None:
    return change.before if change.now is None else None


def _after_neighbours(pod: Pod, change: PodChange) -> bool:
    before, now = change
    near, far = attracting_terms(pod), repelling_terms(pod.spec)
    if before is not None and now is not None:
        return (not _all_mean(near, pod, before) and _all_mean(near, pod, now)) or (
            _all_mean(far, pod, before) and not _all_mean(far, pod, now)
        )
    if now is not None:
        return _all_mean(near, pod, now)
    if before is None:
        return False
    return _all_mean(far, pod, before) or _all_mean(repelling_terms(before.spec), before, pod)


def _all_mean(terms: tuple[PodAffinityTerm, ...], owner: Pod, other: Pod) -> bool:
    """Whether all terms of the owner mean the other; the scheduler knows no labels of namespaces here."""
    return bool(terms) and all(_means(term, owner, other) for term in terms)


def _means(term: PodAffinityTerm, owner: Pod, other: Pod) -> bool:
    spaces = term.namespaces
    if not spaces and term.namespace_selector is None:
        spaces = (owner.metadata.namespace,)
    is_there = other.metadata.namespace in spaces or selects(term.namespace_selector, _NO_LABELS)
    return is_there and selects(term.label_selector, other.metadata.labels)


def _after_crowding(pod: Pod, change: PodChange) -> bool:
    before, now = change
    one = now or before
    if one is None or one.metadata.namespace != pod.metadata.namespace:
        return False
    if before is not None and now is not None:
        return before.metadata.labels != now.metadata.labels and _spread_changes(pod, before, now)
    selectors = [effective_selector(constraint, pod) for constraint in hard_constraints(pod)]
    return all(selects(selector, one.metadata.labels) for selector in selectors)


def _spread_changes(pod: Pod, before: Pod, now: Pod) -> bool:
    selectors = [effective_selector(constraint, pod) for constraint in hard_constraints(pod)]
    return any(selects(known, before.metadata.labels) != selects(known, now.metadata.labels) for known in selectors)


_PodHint = Callable[[Pod, PodChange], bool]
_POD_HINTS: Final[dict[str, _PodHint]] = {
    "NodePorts": _after_ports,
    "NodeResourcesFit": _after_requests,
    "VolumeRestrictions": _after_disks,
    "NodeVolumeLimits": _after_volumes,
    "PodTopologySpread": _after_crowding,
    "InterPodAffinity": _after_neighbours,
}
