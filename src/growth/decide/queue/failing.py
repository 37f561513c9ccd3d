"""Notes on a workload the flavors on which it could not start, with why, as long as that matters.

One that failed because its machines could not be had is forgotten as soon as some can be; any, once the workload has
run on it. If all pods had nodes and are not ready (their image is not there, say), they would not be ready elsewhere:
then nothing is noted, and nothing is tried before the backoff is over.
"""

from collections.abc import Iterable, Mapping

from growth.api.queue.workload import (
    ON_STANDING_NODES,
    PODS_READY,
    PODS_READY_TIMEOUT,
    WAIT_FOR_RECOVERY,
    Admission,
    Workload,
)
from growth.decide.queue.draft import Draft
from growth.decide.queue.flavors import OUT_OF_STOCK
from growth.decide.queue.tried import FAILED_FLAVORS, NO_ROOM, failures_of


def note_failures(
    draft: Draft, flavors: Iterable[str], closed: Mapping[str, str], *, is_recovery: bool = False
) -> bool:
    """It could not start, or not recover, on these, now; whether that has to be written first."""
    shut = NO_ROOM if draft.workload.holds(ON_STANDING_NODES) else OUT_OF_STOCK
    late = WAIT_FOR_RECOVERY if is_recovery else PODS_READY_TIMEOUT
    new = {flavor: shut if flavor in closed else late for flavor in flavors}
    old = {flavor: why for flavor, why in failures_of(draft.workload).items() if flavor not in new}
    return _note(draft, old | new)


def follow_failures(draft: Draft, closed: Mapping[str, str]) -> bool:
    """Forget what is over; whether that has to be written first."""
    failures = failures_of(draft.workload)
    if not failures:
        return False
    working = flavors_of(draft.workload) if draft.workload.holds(PODS_READY) else []
    kept = {
        flavor: OUT_OF_STOCK if flavor in closed and why != NO_ROOM else why
        for flavor, why in failures.items()
        if flavor not in working and (why not in (OUT_OF_STOCK, NO_ROOM) or flavor in closed)
    }
    return _note(draft, kept)


def flavors_of(workload: Workload) -> list[str]:
    """The flavors that it was given, each once."""
    return flavors_in(workload.status.admission)


def flavors_in(admission: Admission | None) -> list[str]:
    """The flavors that an admission gives, each once."""
    sets = admission.pod_set_assignments if admission is not None else ()
    return list(dict.fromkeys(flavor for one in sets for flavor in one.flavors.values()))


def _note(draft: Draft, failures: Mapping[str, str]) -> bool:
    text = ",".join(f"{flavor}={why}" for flavor, why in failures.items())
    if text == draft.workload.metadata.annotations.get(FAILED_FLAVORS, ""):
        return False
    draft.annotate(FAILED_FLAVORS, text)
    return True
