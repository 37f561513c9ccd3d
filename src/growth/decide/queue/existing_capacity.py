"""Nodes that stand are room, even while nothing more can be bought.

A flavor whose machines cannot be had is closed (``stock``), and one on which a plan had no place for the pods of a job
is closed to that job (``gangs``). Whoever fits, with all its pods and now, into what is free
on nodes that bear the flavor's labels needs no machine, so it may have the flavor all the same: otherwise batch work
would stop while machines that are paid for idle.

Others come first: pods that wait and may go to these nodes, pods that will be made for those who have this flavor
already, and whoever was let in just now. They are laid out as a scheduler does it, each where most is free.

This is no scheduler. Who has rules that depend on other pods or on volumes is not judged, and waits for machines. Who
was let in and finds no place all the same is moved a little later (``lifecycle``), and not let in there again.

Whoever was let in for the nodes that stand (``room``), while no machines of its flavor can be had.

    let in ──its pods run──► like all others
      └── a minute, and a pod has no node ──► it moves, and that flavor's nodes are not tried again (``tried``)
                                              until machines can be had: so nobody goes back and forth

That it was is said on it in the very write that admits it, so a restart does not forget it.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from datetime import timedelta
from functools import cached_property
from heapq import heapify, heapreplace
from typing import Final

import msgspec

from growth.api.node import Node
from growth.api.pod import PodSpec
from growth.api.quantity import QuantityError
from growth.api.queue.job import QueuedJob
from growth.api.queue.workload import ADMITTED, ON_STANDING_NODES, Admission, Workload
from growth.decide.elapsed import is_ahead
from growth.decide.fit import node_affinity, taint_toleration
from growth.decide.fit.node_info import Check, NodeInfo
from growth.decide.fit.node_ports import host_ports
from growth.decide.fit.node_resources import is_counted
from growth.decide.queue.context import QueueContext
from growth.decide.queue.failed_flavors import supplies_seen_by
from growth.decide.queue.failure_notes import flavors_in, flavors_of
from growth.decide.queue.flavor_assignment import OUT_OF_STOCK, PodSetAssigned, bound_to, needs_of
from growth.decide.queue.workload_patch import WorkloadDraft
from growth.observe.pod_requests import Requests


class _Pods(msgspec.Struct, frozen=True):
    """Pods that are alike."""

    spec: PodSpec
    requests: Requests
    count: int

    @property
    def rules(self) -> Hashable:
        """Which nodes they may go to: pods of many jobs differ in nothing but what they run."""
        return tuple(sorted(self.spec.node_selector.items())), self.spec.tolerations, repr(self.spec.affinity)

    def are_no_less_than(self, others: "_Pods") -> bool:
        """Whether others would fit wherever these do, if both may go there."""
        mine = self.requests
        return self.count >= others.count and all(mine.get(name, 0) >= one for name, one in others.requests.items())


class ExistingCapacity:
    """What is free on the nodes of closed flavors in one pass. It is worked out when the first one asks."""

    def __init__(self, context: QueueContext) -> None:
        self._context, self._closed = context, frozenset({*context.closed, *context.index.refusals.flavors})
        self.taken = 0
        """How often something was taken: what was found before that may be out of date."""
        self._refused: dict[Hashable, list[_Pods]] = {}
        """Who does not fit, by their rules."""

    def lack(self, sets: Sequence[PodSetAssigned]) -> str | None:
        """Why those of these sets that get closed flavors do not fit, as the end of a sentence; None if they do.

        Nothing is taken by asking.
        """
        asked = sorted(self._pods(sets), key=_size)
        for pods in asked:
            if why := _oddity(pods.spec):
                return f"for pods with {why} nobody knows whether the nodes that stand have room"
        return None if self._fit(asked) else "the nodes that stand have not enough room"

    def _fit(self, asked: Sequence[_Pods]) -> bool:
        # There is less and less during a pass: whoever wants no less than somebody who was refused is refused, too.
        if any(pods.are_no_less_than(other) for pods in asked for other in self._refused.get(pods.rules, ())):
            return False
        booked: list[tuple[dict[str, int], Requests]] = []
        are_in = all(_spread(self._sites, pods, booked) == pods.count for pods in asked)
        for free, requests in booked:
            _add(free, requests, 1)
        if not are_in and len(asked) == 1:
            self._refused.setdefault(asked[0].rules, []).append(asked[0])
        return are_in

    def take(self, sets: Iterable[PodSetAssigned]) -> None:
        """These sets are let in: what they use of the room is nobody else's."""
        for pods in sorted(self._pods(sets), key=_size):
            _spread(self._sites, pods, [])
            self.taken += 1

    def take_for(self, workload: Workload, admission: Admission) -> None:
        """The same for what was given already."""
        if self._closed:
            self.take(_assigned(self._context, workload, admission))

    def _pods(self, sets: Iterable[PodSetAssigned]) -> Iterator[_Pods]:
        for one in sets:
            if one.needs.count and any(flavor in self._closed for flavor in one.flavors.values()):
                yield _bound(self._context, one, one.needs.count)

    @cached_property
    def _sites(self) -> list[NodeInfo]:
        sites = list(_standing(self._context, self._closed))
        if sites:
            for pods in sorted([*_waiting(self._context), *_to_come(self._context, self._closed)], key=_size):
                _spread(sites, pods, [])
        return sites


def _standing(context: QueueContext, closed: Collection[str]) -> Iterator[NodeInfo]:
    """The nodes that bear the labels of a closed flavor, and that pods may go to."""
    snapshot = context.snapshot
    wanted = [context.flavors[name].spec.node_labels.items() for name in closed if name in context.flavors]
    terminating = {*snapshot.closed, *snapshot.to_go, *snapshot.out_of_service, *snapshot.terminating_nodes}
    for name, node in sorted(snapshot.nodes.items()):
        labels = node.metadata.labels.items()
        if name not in terminating and _is_usable(node) and any(one <= labels for one in wanted):
            yield NodeInfo(node, snapshot.room.free(name), {})


def _is_usable(node: Node) -> bool:
    return node.is_ready and not node.spec.unschedulable and node.metadata.deletion_timestamp is None


def _waiting(context: QueueContext) -> Iterator[_Pods]:
    """Pods that a scheduler has to place, by their specs, which siblings share."""
    shapes, specs, counts = context.snapshot.shapes, dict[int, PodSpec](), dict[int, int]()
    for pod in context.snapshot.waiting.values():
        if pod.metadata.deletion_timestamp is None and not pod.spec.scheduling_gates:
            specs[id(pod.spec)] = pod.spec
            counts[id(pod.spec)] = counts.get(id(pod.spec), 0) + 1
    for identity, spec in specs.items():
        yield _Pods(spec, shapes.requests_of(spec), counts[identity])


def _to_come(context: QueueContext, closed: Collection[str]) -> Iterator[_Pods]:
    """Pods that will be made for those who were seen to have a closed flavor."""
    for name in sorted(context.holders):
        for key, holder in sorted(context.holders[name].items()):
            if holder.is_evicted or not any(flavor in closed for flavor, _ in holder.usage):
                continue
            workload = context.current(key)
            missing = _missing(context, workload)
            if missing and workload.status.admission is not None:
                for one in _assigned(context, workload, workload.status.admission):
                    yield _bound(context, one, min(missing, one.needs.count))


def _missing(context: QueueContext, workload: Workload) -> int:
    """How many of its pods are not made yet. A plain pod that is let go waits like any other."""
    job = context.job_of(workload)
    if job is None or job.ended is not None:
        return 0
    if job.metadata.uid in context.pods:
        return int(job.spec.suspend)
    return max(0, job.pods_to_come - context.snapshot.offspring.of(job.metadata.uid))


def _assigned(context: QueueContext, workload: Workload, admission: Admission) -> list[PodSetAssigned]:
    """What its pod sets were given; nothing if nobody can read what they are like."""
    try:
        needs = {one.name: one for one in needs_of(workload, context.filling)}
    except (QuantityError, msgspec.ValidationError):
        return []
    given = admission.pod_set_assignments
    return [PodSetAssigned(needs[one.name], one.flavors) for one in given if one.name in needs]


def _bound(context: QueueContext, one: PodSetAssigned, count: int) -> _Pods:
    """So many pods of a set, as they will be made."""
    flavors = [context.flavors[name] for name in dict.fromkeys(one.flavors.values()) if name in context.flavors]
    requests = {name: amount // max(1, one.needs.count) for name, amount in one.needs.amounts.items()}
    return _Pods(bound_to(one.needs.spec, flavors), requests, count)


def _spread(sites: Sequence[NodeInfo], pods: _Pods, booked: list[tuple[dict[str, int], Requests]]) -> int:
    """Lay out as many of these pods as fit, each where there is most room for its like; how many that are."""
    wanted = {name: amount for name, amount in pods.requests.items() if amount and is_counted(name)}
    found = [
        (-how_many, place)
        for place, node_info in enumerate(sites)
        if (how_many := min(node_info.free.get(name, 0) // amount for name, amount in wanted.items())) > 0
    ]
    checks = _checks(pods.spec) if found else []
    heap = [one for one in found if all(check(sites[one[1]]) is None for check in checks)]
    heapify(heap)
    count = 0
    while count < pods.count and heap and heap[0][0] < 0:
        left, place = heap[0]
        free = sites[place].free
        _add(free, wanted, -1)
        booked.append((free, wanted))
        heapreplace(heap, (left + 1, place))
        count += 1
    return count


def _checks(spec: PodSpec) -> list[Check]:
    """Which nodes a pod may go to, by what nodes are like."""
    checks = [
        taint_toleration.prepare_unschedulable(spec),
        taint_toleration.prepare(spec.tolerations),
        node_affinity.prepare(spec),
    ]
    return [check for check in checks if check is not None]


def _oddity(spec: PodSpec) -> str:
    """What makes it hard to tell where a pod may go; empty if that is simple."""
    affinity = spec.affinity
    beside = [one for one in (affinity.pod_affinity, affinity.pod_anti_affinity) if one] if affinity is not None else []
    if any(one.required for one in beside):
        return "affinity to others"
    if any(one.when_unsatisfiable == "DoNotSchedule" for one in spec.topology_spread_constraints):
        return "rules of how they are spread"
    if any(volume.is_claim or volume.is_disk for volume in spec.volumes):
        return "volumes"
    if host_ports(spec):
        return "ports of the host"
    return "resource claims" if spec.resource_claims else ""


def _size(pods: _Pods) -> tuple[int, ...]:
    """The largest first: small ones find room beside them."""
    return -pods.requests.get("cpu", 0), -pods.requests.get("memory", 0), -pods.count


def _add(free: dict[str, int], requests: Requests, sign: int) -> None:
    for name, amount in requests.items():
        free[name] = free.get(name, 0) + sign * amount


_TIME_TO_BE_PLACED: Final = timedelta(minutes=1)
"""A scheduler that is not busy takes a second; a Job controller makes hundreds of pods in this time."""


def shut_in(context: QueueContext, admission: Admission, refused: Collection[str] = ()) -> str:
    """The flavor of which no machines can be had now, or none for its pods (these are ``refused``), if one of these is;
    whoever gets it is let in for nodes."""
    flavors = flavors_in(admission)
    shut = flavors[0] if flavors and refused and set(refused).issuperset(flavors) else ""
    return next((flavor for flavor in flavors if flavor in context.closed), shut)


def lodge(draft: WorkloadDraft, shut: str) -> None:
    """Say that it is let in for the nodes that stand, because machines of this flavor cannot be had; or that it is not.

    That is decided once: what is given and not seen yet is given again as it was, whatever can be had meanwhile.
    """
    if not shut:
        draft.unsay(ON_STANDING_NODES)
    else:
        why = f"no machines of flavor {shut} can be had now, and its nodes have room for all pods"
        draft.say(ON_STANDING_NODES, "True", OUT_OF_STOCK, why)


def is_given_time(context: QueueContext, workload: Workload) -> bool:
    """Whether it was just let in: its pods have to be made, and a scheduler to see them."""
    admitted = workload.condition(ADMITTED)
    if not workload.holds(ON_STANDING_NODES) or admitted is None or admitted.last_transition_time is None:
        return False
    until = admitted.last_transition_time + _TIME_TO_BE_PLACED
    is_given = is_ahead(until, context.now, _TIME_TO_BE_PLACED)
    if is_given:
        context.deadlines.append(until)
    return is_given


def follow_lodging(context: QueueContext, draft: WorkloadDraft, job: QueuedJob | None) -> None:
    """Whoever runs, has no quota any more, or may wait for machines again is like all others."""
    closed, refused = context.closed, supplies_seen_by(draft.workload)
    is_open = not any(flavor in closed or flavor in refused for flavor in flavors_of(draft.workload))
    if is_open or (job is not None and job.are_pods_ready):
        draft.unsay(ON_STANDING_NODES)
