"""Families: the pods on nodes that no selector can tell apart, and how many of each every node has.

Spread and affinity between pods ask which pods a selector means. It reads nothing but namespace and labels, so it is
asked once for a family, not once for a pod: 150,000 pods of 300 templates are 300 questions.

Labels and specs are shared (``api.interning``), so those of two pods are equal exactly if they are the same object.
Pods that are being deleted are families of their own, because spread does not count them.
"""

from collections.abc import Iterator, Mapping

from growth.api.pod import Pod, PodSpec

FamilyKey = tuple[str, int, int, bool]
"""Namespace, identity of the labels, identity of the spec, whether they are leaving."""


def family_key(pod: Pod) -> FamilyKey:
    """Which family a pod belongs to."""
    meta = pod.metadata
    return meta.namespace, id(meta.labels), id(pod.spec), meta.deletion_timestamp is not None


class Family:
    """Pods that no selector can tell apart. Holding labels and spec keeps their identities from being reused."""

    __slots__ = ("by_node", "is_leaving", "labels", "namespace", "spec")

    def __init__(
        self, namespace: str, labels: Mapping[str, str], spec: PodSpec, by_node: dict[str, int], *, is_leaving: bool
    ) -> None:
        self.namespace, self.labels, self.spec = namespace, labels, spec
        self.is_leaving = is_leaving
        self.by_node = by_node

    def copy(self) -> "Family":
        """One that goes its own way."""
        return Family(self.namespace, self.labels, self.spec, self.by_node.copy(), is_leaving=self.is_leaving)


def family_of(pod: Pod) -> Family:
    """The family of a pod, still without members."""
    meta = pod.metadata
    return Family(meta.namespace, meta.labels, pod.spec, {}, is_leaving=meta.deletion_timestamp is not None)


class Families:
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

    def copy(self) -> "Families":
        """A copy that later changes leave alone."""
        fresh = Families()
        fresh._by_key = {key: family.copy() for key, family in self._by_key.items()}
        return fresh
