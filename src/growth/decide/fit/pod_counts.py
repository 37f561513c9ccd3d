"""The crowd: all pods of a stage as selectors see them, and the counts that are kept of them.

Selectors read only namespace and labels, so whether a count includes a pod is decided once for its whole family
(``observe.pod_equivalence``), its kin. When a pod comes or goes, exactly the counts that include its kin change, by
one. Nothing is ever counted again for a node, and families are not gathered here: the World keeps them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar, cast

import msgspec

from growth.api.pod import Pod, PodAffinityTerm, PodSpec
from growth.decide.fit.node_info import NodeInfo
from growth.observe.pod_equivalence import Family, FamilyKey, family_key, family_of

K = TypeVar("K")
C = TypeVar("C")

_ENCODE: Final = msgspec.msgpack.Encoder().encode


class PodFamily:
    """A family on a stage: how many of it are on each node there, and the counts that include them."""

    __slots__ = ("_is_own", "by_node", "counts", "is_terminating", "labels", "namespace", "spec")

    def __init__(self, family: Family) -> None:
        self.namespace = family.namespace
        self.labels = family.labels
        self.spec = family.spec
        self.is_terminating = family.is_terminating
        self.by_node: Mapping[str, int] = family.by_node
        self.counts: list[Count] = []
        self._is_own = False

    def change(self, node: str, by: int) -> None:
        """So many more (or fewer) are on this node; what the World counts stays as it is."""
        if not self._is_own:
            self.by_node, self._is_own = dict(self.by_node), True
        add(cast("dict[str, int]", self.by_node), node, by)


class Count(Protocol):
    """Something that is counted by node."""

    def includes(self, family: PodFamily) -> bool:
        """Whether these pods count."""
        ...

    def change(self, node_info: NodeInfo, by: int) -> None:
        """So many more of them (or fewer) are on this node now."""
        ...


class Domains(Count, Protocol):
    """A count that also depends on which nodes there are."""

    def open(self, node_info: NodeInfo) -> None:
        """A node came, without pods."""
        ...

    def close(self, node_info: NodeInfo) -> None:
        """A node, whose pods are gone already, goes."""
        ...


def repelling_terms(spec: PodSpec) -> tuple[PodAffinityTerm, ...]:
    """The anti-affinity by which pods of this spec keep others away."""
    affinity = spec.affinity
    return affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()


class Repellent:
    """One anti-affinity term of pods that are there, with the values of its topology key at which they stand."""

    __slots__ = ("key", "namespace", "term", "values")

    def __init__(self, term: PodAffinityTerm, namespace: str) -> None:
        self.term = term
        self.namespace = namespace
        self.key = term.topology_key
        self.values: dict[str, int] = {}

    def includes(self, family: PodFamily) -> bool:
        """Never asked: a kin brings its own repellents."""
        return family.namespace == self.namespace and self.term in repelling_terms(family.spec)

    def change(self, node_info: NodeInfo, by: int) -> None:
        """Pods with this term come to or leave a node; without the key they repel nobody."""
        value = node_info.labels.get(self.key)
        if value is not None:
            add(self.values, value, by)


class RepellentQuery(Protocol):
    """A question that every new repellent may concern."""

    def meet(self, repellent: Repellent) -> None:
        """Pods with this term are there, or will be."""
        ...


class Placement(Protocol):
    """Where the crowd is: what a Stage can tell of its nodes."""

    def families(self) -> Iterable[tuple[FamilyKey, Family]]:
        """All families, as the snapshot shows them."""
        ...

    def departures(self) -> Iterable[tuple[str, Iterable[Pod], Iterable[Pod]]]:
        """Each node that has other pods than the snapshot's families say: those they count, and those it has."""
        ...

    def node_info(self, name: str) -> NodeInfo:
        """One node."""
        ...

    def sites(self) -> Iterable[NodeInfo]:
        """Every node."""
        ...


class PodCounts:
    """All pods of a stage by kin, with every count that somebody asked for."""

    def __init__(self, place: Placement) -> None:
        self._place = place
        self._kins: dict[FamilyKey, PodFamily] = {}
        self._counts: list[Count] = []
        self._domains: list[Domains] = []
        self._wary: list[RepellentQuery] = []
        self._shared: dict[tuple[type, bytes], object] = {}
        self._repellents: dict[tuple[str, bytes], Repellent] = {}
        for key, family in place.families():
            self._new_family(key, family)
        for name, counted, here in place.departures():
            for pod in counted:
                self._family(pod).change(name, -1)
            for pod in here:
                self._family(pod).change(name, +1)
        for pod_family in self._kins.values():
            self._fill(pod_family.counts, pod_family)

    @property
    def repellents(self) -> Iterable[Repellent]:
        """Every anti-affinity term of pods that are or were there."""
        return self._repellents.values()

    def shared(self, meaning: msgspec.Struct, make: Callable[[], C]) -> C:
        """The one count of this meaning, so that pods that differ only in other things share it."""
        key = (type(meaning), _ENCODE(meaning))
        known = self._shared.get(key)
        if known is None:
            known = self._shared[key] = make()
        return cast("C", known)

    def follow(self, count: Count) -> None:
        """Keep this count up from now on, beginning with the pods that are there."""
        self._counts.append(count)
        for family in self._kins.values():
            if count.includes(family):
                family.counts.append(count)
                self._fill((count,), family)

    def follow_domains(self, count: Domains) -> None:
        """Keep this count up, and tell it which nodes there are."""
        for node_info in self._place.sites():
            count.open(node_info)
        self._domains.append(count)
        self.follow(count)

    def warn(self, question: RepellentQuery) -> None:
        """Tell this question of all repellents, those there are and those to come."""
        self._wary.append(question)
        for repellent in self.repellents:
            question.meet(repellent)

    def open(self, node_info: NodeInfo) -> None:
        """A node came, without pods."""
        for count in self._domains:
            count.open(node_info)

    def close(self, node_info: NodeInfo) -> None:
        """A node goes; its pods were taken off it before."""
        for count in self._domains:
            count.close(node_info)

    def change(self, pod: Pod, node_info: NodeInfo, by: int) -> None:
        """A pod comes to a node (+1) or leaves it (-1)."""
        family = self._family(pod)
        family.change(node_info.name, by)
        for count in family.counts:
            count.change(node_info, by)

    def _family(self, pod: Pod) -> PodFamily:
        key = family_key(pod)
        return self._kins.get(key) or self._new_family(key, family_of(pod))

    def _new_family(self, key: FamilyKey, family: Family) -> PodFamily:
        pod_family = self._kins[key] = PodFamily(family)
        pod_family.counts += self._repellents_of(pod_family)
        pod_family.counts += [count for count in self._counts if count.includes(pod_family)]
        return pod_family

    def _repellents_of(self, family: PodFamily) -> list[Repellent]:
        return [self._repellent(term, family.namespace) for term in repelling_terms(family.spec)]

    def _repellent(self, term: PodAffinityTerm, namespace: str) -> Repellent:
        key = (namespace, _ENCODE(term))
        known = self._repellents.get(key)
        if known is None:
            known = self._repellents[key] = Repellent(term, namespace)
            for question in self._wary:
                question.meet(known)
        return known

    def _fill(self, counts: Sequence[Count], family: PodFamily) -> None:
        if not counts:
            return
        for name, number in family.by_node.items():
            node_info = self._place.node_info(name)
            for count in counts:
                count.change(node_info, number)


def add(counts: dict[K, int], key: K, by: int) -> None:
    """Change a count, and leave no zero behind."""
    left = counts.get(key, 0) + by
    if left:
        counts[key] = left
    else:
        counts.pop(key, None)
