"""What a workload is given, and what it asks for, as it is written on it.

Admissions that were decided and are not seen yet: quota that is taken although no object says so.
"""

from collections.abc import Iterable, Mapping

import msgspec

from growth.api.queue.workload import Admission, PodSetAssignment, PodSetRequest
from growth.decide.queue.flavor_assignment import Assignment, PodSetNeeds
from growth.decide.queue.quota_holders import Key
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


class NewAdmission(msgspec.Struct, frozen=True):
    """An admission that was decided on a version of a workload."""

    version: int
    admission: Admission
    shut: str = ""
    """The flavor of which no machines could be had, so that it was given for the nodes that stand."""


class AssumedAdmission(msgspec.Struct, frozen=True):
    """What was decided and is not seen yet."""

    given: Mapping[Key, NewAdmission] = {}
    sent_back: Mapping[Key, int] = {}
    """Who is sent back for somebody else, with the version on which that was decided."""
