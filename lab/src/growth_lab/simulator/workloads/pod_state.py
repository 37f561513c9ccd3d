"""What controllers ask about a pod."""

from datetime import datetime
from typing import Any, Final, NamedTuple

from growth_lab.simulator import clock
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_conditions import condition_of

_ENDED: Final = ("Succeeded", "Failed")
_NOTHING: Final[Json] = {}


class PodState(NamedTuple):
    """The little of a pod that decides what its controller does; everything else may change unnoticed."""

    phase: str
    is_ready: bool
    is_terminating: bool

    @property
    def is_active(self) -> bool:
        """Whether it counts as a replica: neither ended nor on its way out."""
        return not self.is_terminating and self.phase not in _ENDED


def state_of(pod: Json) -> PodState:
    """Phase, readiness and whether it was deleted."""
    status = pod.get("status") or _NOTHING
    is_ready = False
    for condition in status.get("conditions") or ():  # asked for every pod of every event, so without detours
        if condition["type"] == "Ready":
            is_ready = condition["status"] == "True"
            break
    return PodState(status.get("phase", "Pending"), is_ready, "deletionTimestamp" in pod["metadata"])


def ready_since(pod: Json) -> datetime | None:
    """Since when it has been ready."""
    ready = condition_of(pod, "Ready")
    if ready is None or ready["status"] != "True" or not ready.get("lastTransitionTime"):
        return None
    return clock.read(ready["lastTransitionTime"])


def is_available(pod: Json, min_ready_seconds: int, now: datetime) -> bool:
    """Whether it has been ready for that long."""
    if not state_of(pod).is_ready:
        return False
    since = ready_since(pod)
    return not min_ready_seconds or (since is not None and (now - since).total_seconds() >= min_ready_seconds)


def controller_of(thing: Json) -> dict[str, Any] | None:
    """The owner reference of who manages it."""
    for reference in thing["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return reference
    return None
