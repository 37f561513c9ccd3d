"""InterPodAffinity: which pods a pod must be near to, and which must be far from each other.

- Affinity: the node has the topology keys of all terms, and at its value of each stands a pod that matches *all* terms.
  If no such pod stands anywhere, a pod that matches its own terms may be the first.
- Anti-affinity: at the node's value of a term's key stands no pod that matches the term. A node without the key passes.
- Symmetry: the same, asked by the pods that are there about the one that comes.

A term means the pod's own namespace if it names none; the ones it names and those its selector selects together.
"""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from growth.api.kinds import NAMESPACES
from growth.api.pod import Pod, PodAffinityTerm
from growth.api.selectors import selects
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo
from growth.decide.fit.pod_counts import PodFamily, Repellent, add, repelling_terms
from growth.decide.fit.simulated_cluster import SimulatedCluster

FILTER: Final = "InterPodAffinity"

_NO_LABELS: Final[Mapping[str, str]] = {}


def attracting_terms(pod: Pod) -> tuple[PodAffinityTerm, ...]:
    """The affinity that must hold."""
    affinity = pod.spec.affinity
    return affinity.pod_affinity.required if affinity and affinity.pod_affinity else ()


def prepare(simulated: SimulatedCluster, pod: Pod) -> Check | None:
    """The check for pods of these labels, namespace and spec; None if neither they nor the pods there have terms."""
    attracting, repelling = attracting_terms(pod), repelling_terms(pod.spec)
    if not attracting and not repelling and not simulated.has_repellents:
        return None
    counts = simulated.counts
    near = _near(simulated, pod.metadata.namespace, attracting) if attracting else None
    likes_itself = near is not None and near.matches_all(pod.metadata.namespace, pod.metadata.labels)
    far = [_far(simulated, pod.metadata.namespace, term) for term in repelling]
    shy = _Shy(simulated, pod)
    counts.warn(shy)

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        misfit = near.misfit(node_info, likes_itself=likes_itself) if near is not None else None
        if misfit is not None:
            return misfit
        for term in far:
            misfit = term.misfit(node_info)
            if misfit is not None:
                return misfit
        return shy.misfit(node_info)

    return check


def feared_by(simulated: SimulatedCluster, pod: Pod) -> tuple[Repellent, ...]:
    """The anti-affinity of pods that are there, or were, as far as it concerns pods of these labels."""
    shy = _Shy(simulated, pod)
    for repellent in simulated.counts.repellents:
        shy.meet(repellent)
    return tuple(shy.feared)


def presence(simulated: SimulatedCluster, pod: Pod, term: PodAffinityTerm) -> Callable[[NodeInfo], bool]:
    """Whether pods that match a term of this pod stand at a node's value of its key."""
    return _far(simulated, pod.metadata.namespace, term).is_present


class _Nearness(msgspec.Struct, frozen=True):
    """What is counted for affinity."""

    namespace: str
    terms: tuple[PodAffinityTerm, ...]


class _Farness(msgspec.Struct, frozen=True):
    """What is counted for a term of anti-affinity."""

    namespace: str
    term: PodAffinityTerm


def _near(simulated: SimulatedCluster, namespace: str, terms: tuple[PodAffinityTerm, ...]) -> "_Near":
    def make() -> _Near:
        near = _Near([_Term(simulated, namespace, term) for term in terms])
        simulated.counts.follow(near)
        return near

    return simulated.counts.shared(_Nearness(namespace, terms), make)


def _far(simulated: SimulatedCluster, namespace: str, term: PodAffinityTerm) -> "_Far":
    def make() -> _Far:
        far = _Far(_Term(simulated, namespace, term))
        simulated.counts.follow(far)
        return far

    return simulated.counts.shared(_Farness(namespace, term), make)


class _Term:
    """A term of a pod that comes, with its namespaces known by name."""

    def __init__(self, simulated: SimulatedCluster, namespace: str, term: PodAffinityTerm) -> None:
        self.key = term.topology_key
        self._selector = term.label_selector
        self._namespaces = _named(term, namespace)
        wanted = term.namespace_selector
        if wanted is not None:
            self._namespaces |= {
                space.metadata.name for space in simulated.all(NAMESPACES) if wanted.matches(space.metadata.labels)
            }
        # kube-scheduler 1.36 asks the selector once more without any labels. One that is empty means all namespaces;
        # but so does, against its sense, one that only says NotIn or DoesNotExist.
        self._means_all = selects(wanted, _NO_LABELS)

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return (self._means_all or namespace in self._namespaces) and selects(self._selector, labels)


class _Near:
    """How many pods match all affinity terms, by term and value of its key."""

    def __init__(self, terms: list[_Term]) -> None:
        self._terms = terms
        self._values: dict[str, dict[str, int]] = {term.key: {} for term in terms}

    def includes(self, family: PodFamily) -> bool:
        return self.matches_all(family.namespace, family.labels)

    def change(self, node_info: NodeInfo, by: int) -> None:
        for key, values in self._values.items():
            value = node_info.labels.get(key)
            if value is not None:
                add(values, value, by)

    def misfit(self, node_info: NodeInfo, *, likes_itself: bool) -> FilterRefusal | None:
        missing = ""
        for key, values in self._values.items():
            value = node_info.labels.get(key)
            if value is None:
                reason = f"needs certain pods near by {key}, a label that the node does not have"
                return FilterRefusal(FILTER, reason, is_permanent=True)
            if value not in values:
                missing = f"{key}={value}"
        if not missing:
            return None
        if likes_itself and not any(self._values.values()):
            return None  # nobody to be near to: the first of its kind may stand anywhere
        reason = f"needs certain pods near; none of them is at {missing}"
        return FilterRefusal(FILTER, reason, is_permanent=True)

    def matches_all(self, namespace: str, labels: Mapping[str, str]) -> bool:
        return all(term.matches(namespace, labels) for term in self._terms)


class _Far:
    """How many pods match one anti-affinity term of the pod that comes, by value of its key."""

    def __init__(self, term: _Term) -> None:
        self._term = term
        self._values: dict[str, int] = {}

    def includes(self, family: PodFamily) -> bool:
        return self._term.matches(family.namespace, family.labels)

    def change(self, node_info: NodeInfo, by: int) -> None:
        value = node_info.labels.get(self._term.key)
        if value is not None:
            add(self._values, value, by)

    def is_present(self, node_info: NodeInfo) -> bool:
        value = node_info.labels.get(self._term.key)
        return value is not None and value in self._values

    def misfit(self, node_info: NodeInfo) -> FilterRefusal | None:
        value = node_info.labels.get(self._term.key)
        if value is None or value not in self._values:
            return None
        pods = "a pod" if self._values[value] == 1 else f"{self._values[value]} pods"
        reason = f"must be away from {pods} at {self._term.key}={value}"
        return FilterRefusal(FILTER, reason, is_permanent=False)


class _Shy:
    """The anti-affinity of pods that are there, as far as it concerns the pod that comes."""

    def __init__(self, simulated: SimulatedCluster, pod: Pod) -> None:
        self._namespace = pod.metadata.namespace
        self._labels = pod.metadata.labels
        space = simulated.get(NAMESPACES, self._namespace)
        self._namespace_labels: Mapping[str, str] = space.metadata.labels if space is not None else _NO_LABELS
        self.feared: list[Repellent] = []

    def meet(self, repellent: Repellent) -> None:
        term = repellent.term
        means_us = self._namespace in _named(term, repellent.namespace) or selects(
            term.namespace_selector, self._namespace_labels
        )
        if means_us and selects(term.label_selector, self._labels):
            self.feared.append(repellent)

    def misfit(self, node_info: NodeInfo) -> FilterRefusal | None:
        for repellent in self.feared:
            value = node_info.labels.get(repellent.key)
            if value is not None and value in repellent.values:
                reason = f"a pod at {repellent.key}={value} keeps such pods away by its own anti-affinity"
                return FilterRefusal(FILTER, reason, is_permanent=False)
        return None


def _named(term: PodAffinityTerm, own: str) -> set[str]:
    if not term.namespaces and term.namespace_selector is None:
        return {own}
    return set(term.namespaces)
