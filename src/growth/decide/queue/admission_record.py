"""What a workload is given, and what it asks for, as it is written on it."""

from collections.abc import Iterable

from growth.api.queue.workload import Admission, PodSetAssignment, PodSetRequest
from growth.decide.queue.flavor_assignment import Assignment, PodSetNeeds
from growth.observe.pod_requests import as_quantity


def admission_of(queue: str, found: Assignment) -> Admission:
    """What it is given by a queue."""
    sets = [
        PodSetAssignment(
            one.needs.name,
            dict(one.flavors),
            {resource: as_quantity(resource, one.needs.amounts[resource]) for resource in one.flavors},
            one.needs.count,
        )
        for one in found.sets
    ]
    return Admission(queue, tuple(sets))


def requests_of(needs: Iterable[PodSetNeeds]) -> tuple[PodSetRequest, ...]:
    """What it asks for, as it is counted."""
    return tuple(
        PodSetRequest(one.name, {name: as_quantity(name, one.amounts[name]) for name in sorted(one.amounts)})
        for one in needs
    )
