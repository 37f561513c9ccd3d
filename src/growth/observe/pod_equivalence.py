"""Families: the pods on nodes that no selector can tell apart, and how many of each every node has.

Spread and affinity between pods ask which pods a selector means. It reads nothing but namespace and labels, so it is
asked once for a family, not once for a pod: 150,000 pods of 300 templates are 300 questions.

Labels and specs are shared (``api.interning``), so those of two pods are equal exactly if they are the same object.
Pods that are being deleted are families of their own, because spread does not count them.

Shapes: the distinct specs among all pods, how many pods have each, and what each asks for.

Requests are worked out once for a shape, not once for a pod. Specs are shared (``api.interning``), so two pods have the
same shape exactly if they hold the same spec object, and looking one up costs no comparison.
"""

from collections.abc import Iterator, Mapping

from growth.api.pod import Pod, PodSpec
from growth.observe.pod_requests import Requests, requests_of

FamilyKey = tuple[str, int, int, bool]
"""Namespace, identity of the labels, identity of the spec, whether they are leaving."""


def family_key(pod: Pod) -> FamilyKey:
    """Which family a pod belongs to."""
    meta = pod.metadata
    return meta.namespace, id(meta.labels), id(pod.spec), meta.deletion_timestamp is not None


class Family:
    """Pods that no selector can tell apart. Holding labels and spec keeps their identities from being reused."""

    __slots__ = ("by_node", "is_terminating", "labels", "namespace", "spec")

    def __init__(
        self, namespace: str, labels: Mapping[str, str], spec: PodSpec, by_node: dict[str, int], *, is_terminating: bool
    ) -> None:
        self.namespace, self.labels, self.spec = namespace, labels, spec
        self.is_terminating = is_terminating
        self.by_node = by_node

    def copy(self) -> "Family":
        """One that goes its own way."""
        return Family(self.namespace, self.labels, self.spec, self.by_node.copy(), is_terminating=self.is_terminating)


def family_of(pod: Pod) -> Family:
    """The family of a pod, still without members."""
    meta = pod.metadata
    return Family(meta.namespace, meta.labels, pod.spec, {}, is_terminating=meta.deletion_timestamp is not None)


class PodFamilies:
    """All families that have a pod on some node, whether that node is known or not."""

    def __init__(self) -> None:
        self._by_key: dict[FamilyKey, Family] = {}

    def add(self, pod: Pod) -> None:
        """A pod is on its node."""
        key = family_key(pod)
        family = self._by_key.get(key)
        if family is None:
            family = self._by_key[key] = family_of(pod)
        by_node, node = family.by_node, pod.node_name
        by_node[node] = by_node.get(node, 0) + 1

    def remove(self, pod: Pod) -> None:
        """A pod is no longer on its node; the last one takes the family along."""
        key = family_key(pod)
        by_node, node = self._by_key[key].by_node, pod.node_name
        if by_node[node] > 1:
            by_node[node] -= 1
            return
        del by_node[node]
        if not by_node:
            del self._by_key[key]

    def items(self) -> Iterator[tuple[FamilyKey, Family]]:
        """Every family with its key."""
        return iter(self._by_key.items())

    def copy(self) -> "PodFamilies":
        """A copy that later changes leave alone."""
        fresh = PodFamilies()
        fresh._by_key = {key: family.copy() for key, family in self._by_key.items()}
        return fresh


class Shape:
    """One distinct spec."""

    __slots__ = ("pods", "requests", "spec")

    def __init__(self, spec: PodSpec) -> None:
        self.spec = spec
        self.requests: Requests = requests_of(spec)
        self.pods = 0


class PodShapes:
    """All shapes that some pod has. Holding the spec keeps its identity from being reused while it counts."""

    def __init__(self) -> None:
        self._by_identity: dict[int, Shape] = {}

    def of(self, spec: PodSpec) -> Shape:
        """The shape of a spec that has been added."""
        return self._by_identity[id(spec)]

    def requests_of(self, spec: PodSpec) -> Requests:
        """What a pod of this spec asks for; also where no pod has it yet."""
        shape = self._by_identity.get(id(spec))
        return requests_of(spec) if shape is None else shape.requests

    def add(self, spec: PodSpec) -> Shape:
        """One more pod has this spec."""
        shape = self._by_identity.get(id(spec))
        if shape is None:
            shape = self._by_identity[id(spec)] = Shape(spec)
        shape.pods += 1
        return shape

    def remove(self, spec: PodSpec) -> None:
        """One pod less has this spec; the last one takes the shape along."""
        shape = self._by_identity[id(spec)]
        shape.pods -= 1
        if not shape.pods:
            del self._by_identity[id(spec)]

    def __iter__(self) -> Iterator[Shape]:
        return iter(self._by_identity.values())

    def __len__(self) -> int:
        return len(self._by_identity)
