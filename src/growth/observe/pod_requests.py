"""How much a pod asks for, counted as kube-scheduler counts it.

Per resource the larger of two sums: all containers with all sidecars, and each init container with the sidecars that
were started before it. Pod-level requests then replace cpu, memory and huge pages where they are given, and overhead
comes on top. Sums are exact (in nano units); only the result is rounded, up, to what is counted: thousandths of a CPU,
whole units of the rest.
"""

from collections.abc import Callable, Mapping
from typing import Final

from growth.api.pod import Container, Pod, PodSpec, ResourceRequirements
from growth.api.quantity import canonical, milli_from_nanos, nano_value, value_from_nanos

Requests = Mapping[str, int]
"""Amounts by resource name: cpu in thousandths, everything else in whole units, zeros left out, ``pods`` always 1."""

_Nanos = dict[str, int]
_Ask = Callable[[Container], _Nanos]

_POD_LEVEL: Final = ("cpu", "memory")


def requests_of(spec: PodSpec) -> Requests:
    """What a pod of this spec asks for before it has a node."""
    return _total(spec, _written, _nanos(spec.resources.requests) if spec.resources else {})


def requests_on_node(pod: Pod, asked: Requests) -> Requests:
    """What a pod holds on its node: while it is being resized, the larger of what it asks for and what it has.

    ``asked`` is ``requests_of(pod.spec)``, which it is for all pods but those few.
    """
    spec, status = pod.spec, pod.status
    if status.resources is None and not status.container_statuses:
        return asked
    by_name = {known.name: known for known in status.container_statuses}
    resize = pod.condition("PodResizePending")
    is_infeasible = resize is not None and resize.reason == "Infeasible"

    def larger(written: _Nanos, held: ResourceRequirements | None, allocated: Mapping[str, str]) -> _Nanos:
        if held is None:
            return written
        return _largest({} if is_infeasible else written, _nanos(held.requests), _nanos(allocated))

    def held(container: Container) -> _Nanos:
        known = by_name.get(container.name)
        written = _written(container)
        return larger(written, known.resources, known.allocated_resources) if known else written

    pod_level = _nanos(spec.resources.requests) if spec.resources else {}
    if pod_level:
        pod_level = larger(pod_level, status.resources, status.allocated_resources)
    return _total(spec, held, pod_level)


def counted(name: str, nanos: int) -> int:
    """An exact amount as the scheduler counts it."""
    return milli_from_nanos(nanos) if name == "cpu" else value_from_nanos(nanos)


def as_quantity(name: str, amount: int) -> str:
    """What was counted, as a quantity again."""
    return canonical(f"{amount}m" if name == "cpu" else str(amount))


def amounts_from(quantities: Mapping[str, str]) -> Requests:
    """What a node's allocatable or capacity comes to, in the same units."""
    return {name: counted(name, nano_value(text)) for name, text in quantities.items()}


def _total(spec: PodSpec, ask: _Ask, pod_level: _Nanos) -> Requests:
    running: _Nanos = {}
    for container in spec.containers:
        _add(running, ask(container))
    sidecars: _Nanos = {}
    starting: _Nanos = {}
    for container in spec.init_containers:
        wanted = dict(sidecars)
        # A plain init container is never resized, so what is written holds for it.
        is_sidecar = container.restart_policy == "Always"
        _add(wanted, ask(container) if is_sidecar else _written(container))
        starting = _largest(starting, wanted)
        if is_sidecar:
            sidecars = wanted
    _add(running, sidecars)
    total = _largest(running, starting)
    total |= {n: v for n, v in pod_level.items() if n in _POD_LEVEL or n.startswith("hugepages-")}
    _add(total, _nanos(spec.overhead))
    amounts = {name: counted(name, nanos) for name, nanos in total.items() if nanos}
    return {**amounts, "pods": 1}


def _written(container: Container) -> _Nanos:
    return _nanos(container.resources.requests)


def _nanos(quantities: Mapping[str, str]) -> _Nanos:
    return {name: nano_value(text) for name, text in quantities.items()}


def _add(total: _Nanos, more: _Nanos) -> None:
    for name, nanos in more.items():
        total[name] = total.get(name, 0) + nanos


def _largest(*amounts: _Nanos) -> _Nanos:
    names = {name for amount in amounts for name in amount}
    return {name: max(amount.get(name, 0) for amount in amounts) for name in names}
