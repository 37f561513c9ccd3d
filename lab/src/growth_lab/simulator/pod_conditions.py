"""Conditions of pods, as controllers write them: one of each type, with the time at which its status changed."""

from collections.abc import Mapping
from typing import Any

from growth_lab.simulator.merge_patch import Json


def with_condition(pod: Json, condition: Mapping[str, Any], stamp: str, *, is_observed: bool = True) -> Json:
    """The pod with this condition; the pod itself if it says so already.

    Most writers add the generation that they saw; bindings and what is said of lost nodes do not.
    """
    status: Json = pod.get("status", {})
    conditions: list[Json] = list(status.get("conditions", ()))
    at = next((at for at, known in enumerate(conditions) if known["type"] == condition["type"]), len(conditions))
    known: Json = conditions[at] if at < len(conditions) else {}
    since = known["lastTransitionTime"] if known.get("status") == condition["status"] else stamp
    new: Json = {**condition, "lastProbeTime": None, "lastTransitionTime": since}
    if is_observed:
        new["observedGeneration"] = pod["metadata"].get("generation", 1)
    if new == known:
        return pod
    return {**pod, "status": {**status, "conditions": [*conditions[:at], new, *conditions[at + 1 :]]}}


def condition_of(thing: Json, kind: str) -> Json | None:
    """The condition of this type of a pod or a node, if there is one."""
    return next((known for known in thing.get("status", {}).get("conditions", ()) if known["type"] == kind), None)
