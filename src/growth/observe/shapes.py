"""Shapes: the distinct specs among all pods, how many pods have each, and what each asks for.

Requests are worked out once for a shape, not once for a pod. Specs are shared (``api.interning``), so two pods have the
same shape exactly if they hold the same spec object, and looking one up costs no comparison.
"""

from collections.abc import Iterator

from growth.api.pod import PodSpec
from growth.observe.requests import Requests, requests_of


class Shape:
    """One distinct spec."""

    __slots__ = ("pods", "requests", "spec")

    def __init__(self, spec: PodSpec) -> None:
        self.spec = spec
        self.requests: Requests = requests_of(spec)
        self.pods = 0


class Shapes:
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
