"""The crowd: all pods of a stage as selectors see them, and the counts that are kept of them.

Selectors read only namespace and labels, so pods that agree in those (and in their spec) are kin: whether a count
includes them is decided once for all of them. When a pod comes or goes, exactly the counts that include its kin change,
by one. Nothing is ever counted again for a node.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Protocol, TypeVar, cast

import msgspec

from growth.api.pod import Pod, PodAffinityTerm, PodSpec
from growth.decide.fit.site import Site

K = TypeVar("K")
C = TypeVar("C")

_ENCODE: Final = msgspec.msgpack.Encoder().encode

KinKey = tuple[str, int, int, bool]


class Kin:
    """Pods that no selector can tell apart. Holding labels and spec keeps their identities from being reused."""

    __slots__ = ("by_node", "counts", "is_leaving", "labels", "namespace", "spec")

    def __init__(self, pod: Pod) -> None:
        self.namespace = pod.metadata.namespace
        self.labels: Mapping[str, str] = pod.metadata.labels
        self.spec = pod.spec
        self.is_leaving = pod.metadata.deletion_timestamp is not None
        self.by_node: dict[str, int] = {}
        self.counts: list[Count] = []


class Count(Protocol):
    """Something that is counted by node."""

    def includes(self, kin: Kin) -> bool:
        """Whether these pods count."""
        ...

    def change(self, site: Site, by: int) -> None:
        """So many more of them (or fewer) are on this node now."""
        ...


class Domains(Count, Protocol):
    """A count that also depends on which nodes there are."""

    def open(self, site: Site) -> None:
        """A node came, without pods."""
        ...

    def close(self, site: Site) -> None:
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

    def includes(self, kin: Kin) -> bool:
        """Never asked: a kin brings its own repellents."""
        return kin.namespace == self.namespace and self.term in repelling_terms(kin.spec)

    def change(self, site: Site, by: int) -> None:
        """Pods with this term come to or leave a node; without the key they repel nobody."""
        value = site.labels.get(self.key)
        if value is not None:
            add(self.values, value, by)


class Wary(Protocol):
    """A question that every new repellent may concern."""

    def meet(self, repellent: Repellent) -> None:
        """Pods with this term are there, or will be."""
        ...


class Place(Protocol):
    """Where the crowd is: what a Stage can tell of its nodes."""

    def pods_by_node(self) -> Iterable[tuple[str, Mapping[str, Pod]]]:
        """The pods of every node that has any."""
        ...

    def site(self, name: str) -> Site:
        """One node."""
        ...

    def sites(self) -> Iterable[Site]:
        """Every node."""
        ...


class Crowd:
    """All pods of a stage by kin, with every count that somebody asked for."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._kins: dict[KinKey, Kin] = {}
        self._counts: list[Count] = []
        self._domains: list[Domains] = []
        self._wary: list[Wary] = []
        self._shared: dict[tuple[type, bytes], object] = {}
        self._repellents: dict[tuple[str, bytes], Repellent] = {}
        kins = self._kins
        for name, pods in place.pods_by_node():
            for pod in pods.values():
                meta = pod.metadata
                key = (meta.namespace, id(meta.labels), id(pod.spec), meta.deletion_timestamp is not None)
                kin = kins.get(key) or self._new_kin(key, pod)
                by_node = kin.by_node
                by_node[name] = by_node.get(name, 0) + 1
        for kin in kins.values():
            self._fill(kin.counts, kin)

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
        for kin in self._kins.values():
            if count.includes(kin):
                kin.counts.append(count)
                self._fill((count,), kin)

    def follow_domains(self, count: Domains) -> None:
        """Keep this count up, and tell it which nodes there are."""
        for site in self._place.sites():
            count.open(site)
        self._domains.append(count)
        self.follow(count)

    def warn(self, question: Wary) -> None:
        """Tell this question of all repellents, those there are and those to come."""
        self._wary.append(question)
        for repellent in self.repellents:
            question.meet(repellent)

    def open(self, site: Site) -> None:
        """A node came, without pods."""
        for count in self._domains:
            count.open(site)

    def close(self, site: Site) -> None:
        """A node goes; its pods were taken off it before."""
        for count in self._domains:
            count.close(site)

    def change(self, pod: Pod, site: Site, by: int) -> None:
        """A pod comes to a node (+1) or leaves it (-1)."""
        kin = self._kin(pod)
        add(kin.by_node, site.name, by)
        for count in kin.counts:
            count.change(site, by)

    def _kin(self, pod: Pod) -> Kin:
        meta = pod.metadata
        key = (meta.namespace, id(meta.labels), id(pod.spec), meta.deletion_timestamp is not None)
        return self._kins.get(key) or self._new_kin(key, pod)

    def _new_kin(self, key: KinKey, pod: Pod) -> Kin:
        kin = self._kins[key] = Kin(pod)
        kin.counts += self._repellents_of(kin)
        kin.counts += [count for count in self._counts if count.includes(kin)]
        return kin

    def _repellents_of(self, kin: Kin) -> list[Repellent]:
        return [self._repellent(term, kin.namespace) for term in repelling_terms(kin.spec)]

    def _repellent(self, term: PodAffinityTerm, namespace: str) -> Repellent:
        key = (namespace, _ENCODE(term))
        known = self._repellents.get(key)
        if known is None:
            known = self._repellents[key] = Repellent(term, namespace)
            for question in self._wary:
                question.meet(known)
        return known

    def _fill(self, counts: Sequence[Count], kin: Kin) -> None:
        if not counts:
            return
        for name, number in kin.by_node.items():
            site = self._place.site(name)
            for count in counts:
                count.change(site, number)


def add(counts: dict[K, int], key: K, by: int) -> None:
    """Change a count, and leave no zero behind."""
    left = counts.get(key, 0) + by
    if left:
        counts[key] = left
    else:
        counts.pop(key, None)
