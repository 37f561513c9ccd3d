"""How much one pod of a template will ask for, when the API server has filled in what its author left out.

In its order: a limit stands for a request that is missing; what is still missing comes from the LimitRanges of the
namespace; a RuntimeClass adds its overhead. A template that waits says nothing of all this, and its pods would ask for
more than was counted.
"""

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from growth.api.pod import Container, PodSpec, ResourceRequirements
from growth.api.queue.pod_defaults import LimitRange, RuntimeClass
from growth.api.queue.workload import PodSet, read_template
from growth.decide.fit.daemonset_pods import pod_spec
from growth.observe.pod_requests import Requests, requests_of

Quantities = tuple[tuple[str, str], ...]
"""By resource; not a dict, because what a template comes to is remembered by it."""


class PodDefaults:
    """What would be filled in, by namespace and by RuntimeClass."""

    def __init__(self, ranges: Iterable[LimitRange] = (), classes: Iterable[RuntimeClass] = ()) -> None:
        self._requests: dict[str, Quantities] = {}
        self._overheads: dict[str, Quantities] = {
            one.metadata.name: tuple(sorted(one.overhead.pod_fixed.items())) for one in classes if one.overhead
        }
        by_namespace: dict[str, dict[str, str]] = {}
        # The server asks them in no certain order; where two speak of the same resource, we take the first by name.
        for one in sorted(ranges, key=lambda known: known.metadata.name):
            known = by_namespace.setdefault(one.metadata.namespace, {})
            for item in one.spec.limits:
                if item.type == "Container":
                    known |= {name: amount for name, amount in item.requests.items() if name not in known}
        for namespace, requests in by_namespace.items():
            self._requests[namespace] = tuple(sorted(requests.items()))

    def pod_of(self, pod_set: PodSet, namespace: str) -> tuple[PodSpec, Requests]:
        """One pod of this set, and what it asks for."""
        overhead = self._overheads.get(pod_set.pods.spec.runtime_class_name, ())
        return _filled(bytes(pod_set.template), self._requests.get(namespace, ()), overhead)


@lru_cache(8192)
def _filled(template: bytes, requests: Quantities, overhead: Quantities) -> tuple[PodSpec, Requests]:
    """That is asked in every pass for all who wait, and templates are shared by many."""
    spec = pod_spec(read_template(template).spec)
    if requests:
        spec = msgspec.structs.replace(
            spec,
            containers=tuple(_with(one, requests) for one in spec.containers),
            init_containers=tuple(_with(one, requests) for one in spec.init_containers),
        )
    if overhead and not spec.overhead:
        spec = msgspec.structs.replace(spec, overhead=dict(overhead))
    return spec, requests_of(spec)


def _with(container: Container, requests: Quantities) -> Container:
    asked = {**dict(requests), **container.resources.requests}
    return msgspec.structs.replace(container, resources=ResourceRequirements(asked))
