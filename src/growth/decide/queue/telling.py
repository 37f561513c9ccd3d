"""What people see on the queues: how full they are, who waits, and whether they are at work."""

from collections.abc import Iterable
from typing import Any

import msgspec

from growth.api.action import PatchObject
from growth.api.kinds import Kind
from growth.api.meta import ObjectMeta
from growth.api.quantity import canonical
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES
from growth.api.queue.queues import (
    ClusterQueue,
    ClusterQueueStatus,
    FlavorUsage,
    LocalQueue,
    LocalQueueStatus,
    ResourceUsage,
)
from growth.api.queue.workload import ADMITTED, Workload
from growth.api.references import reference_to
from growth.api.status import StatusCondition, condition_of
from growth.decide.queue.figures import Figures, waiting_of
from growth.decide.queue.saying import saying
from growth.decide.queue.scene import Scene, usage_of
from growth.decide.queue.standing import Standing, standing_of_door
from growth.decide.queue.tree import Slot

ACTIVE, MAY_BLOCK = "Active", "RequeuingMayBlock"


def tell(scene: Scene) -> dict[str, Figures]:
    """Write on each queue what has changed about it; returns how full each ClusterQueue is."""
    workloads = [draft.workload for draft in scene.drafts.values() if not draft.workload.is_finished]
    by_queue = scene.by_queue(workloads)
    standings = scene.standings
    figures = {
        name: _tell_queue(scene, queue, by_queue.get(name, []), standings[name])
        for name, queue in sorted(scene.queues.items())
    }
    by_door: dict[tuple[str, str], list[Workload]] = {}
    for workload in workloads:
        by_door.setdefault((workload.metadata.namespace, workload.spec.queue_name), []).append(workload)
    for key, door in sorted(scene.doors.items()):
        _tell_door(scene, door, by_door.get(key, []), standing_of_door(door, standings))
    return figures


def _tell_queue(scene: Scene, queue: ClusterQueue, workloads: list[Workload], standing: Standing) -> Figures:
    member = scene.members[queue.metadata.name]
    slots = [
        (flavor.name, resource.name)
        for group in queue.spec.resource_groups
        for flavor in group.flavors
        for resource in flavor.resources
    ]
    reserved, used = _sum(one for one in workloads if one.is_reserving), _sum(_admitted(workloads))
    borrowed = {slot: member.borrowed(slot) for slot in slots}
    status = ClusterQueueStatus(
        _usage(slots, reserved, borrowed),
        _usage(slots, used, borrowed),
        *_counts(workloads),
        conditions=_warned(scene, queue, _conditions(scene, queue.status.conditions, standing)),
    )
    _write(scene, CLUSTER_QUEUES, queue.metadata, queue.status, status)
    return Figures(
        *waiting_of(workloads, scene.now),
        status.reserving_workloads,
        status.admitted_workloads,
        {slot: reserved.get(slot, 0) for slot in slots},
        {slot: member.quotas[slot].nominal for slot in slots},
    )


def _tell_door(scene: Scene, door: LocalQueue, workloads: list[Workload], standing: Standing) -> None:
    reserved, used = _sum(one for one in workloads if one.is_reserving), _sum(_admitted(workloads))
    status = LocalQueueStatus(
        _usage(sorted(reserved), reserved, {}),
        _usage(sorted(used), used, {}),
        *_counts(workloads),
        conditions=_conditions(scene, door.status.conditions, standing),
    )
    _write(scene, LOCAL_QUEUES, door.metadata, door.status, status)


def _admitted(workloads: Iterable[Workload]) -> list[Workload]:
    return [one for one in workloads if one.is_reserving and one.holds(ADMITTED)]


def _counts(workloads: list[Workload]) -> tuple[int, int, int]:
    """Who waits, who holds quota, who is admitted."""
    reserving = sum(one.is_reserving for one in workloads)
    waiting = sum(not one.is_reserving and one.spec.active for one in workloads)
    return waiting, reserving, len(_admitted(workloads))


def _sum(workloads: Iterable[Workload]) -> dict[Slot, int]:
    total: dict[Slot, int] = {}
    for workload in workloads:
        for slot, amount in usage_of(workload).items():
            total[slot] = total.get(slot, 0) + amount
    return total


def _usage(slots: list[Slot], used: dict[Slot, int], borrowed: dict[Slot, int]) -> tuple[FlavorUsage, ...]:
    flavors = dict.fromkeys(flavor for flavor, _ in slots)
    return tuple(
        FlavorUsage(
            flavor,
            tuple(
                ResourceUsage(
                    resource,
                    _quantity(resource, used.get((flavor, resource), 0)),
                    _quantity(resource, borrowed.get((flavor, resource), 0)),
                )
                for known, resource in slots
                if known == flavor
            ),
        )
        for flavor in flavors
    )


def _quantity(resource: str, amount: int) -> str:
    return canonical(f"{amount}m" if resource == "cpu" else str(amount))


def _conditions(scene: Scene, known: tuple[StatusCondition, ...], standing: Standing) -> tuple[StatusCondition, ...]:
    status = "True" if standing.is_active else "False"
    before = condition_of(known, ACTIVE)
    since = before.last_transition_time if before is not None and before.status == status else scene.now
    return saying(known, StatusCondition(ACTIVE, status, standing.reason, standing.why, since))


def _warned(scene: Scene, queue: ClusterQueue, known: tuple[StatusCondition, ...]) -> tuple[StatusCondition, ...]:
    """With a warning if whoever cannot start comes back to the front, and holds up all others there."""
    is_strict = queue.spec.queueing_strategy == "StrictFIFO" and scene.terms.requeuing.timestamp == "Creation"
    if not is_strict or scene.terms.readiness is None:
        return tuple(one for one in known if one.type != MAY_BLOCK)
    before = condition_of(known, MAY_BLOCK)
    since = before.last_transition_time if before is not None and before.status == "True" else scene.now
    why = (
        "a workload whose pods never get ready returns to the front of this StrictFIFO queue again and again "
        "(requeuingStrategy.timestamp Creation): use BestEffortFIFO, or the timestamp Eviction"
    )
    return saying(known, StatusCondition(MAY_BLOCK, "True", "StrictFIFOWithCreation", why, since))


def _write(scene: Scene, kind: Kind[Any], meta: ObjectMeta, before: msgspec.Struct, status: msgspec.Struct) -> None:
    if status != before:
        scene.said.append(
            PatchObject(
                subject=reference_to(kind, meta),
                why="who waits, and what is used, has changed",
                body={"status": msgspec.to_builtins(status)},
                subresource="status",
                resource_version=meta.resource_version,
            )
        )
