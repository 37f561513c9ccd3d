"""Conditions of workloads: one per type, and a transition time that moves only when the status does."""

from collections.abc import Iterable

from growth.sim.merging import Json


def with_condition(known: Iterable[Json] | None, new: Json, now: str) -> list[Json]:
    """The conditions with this one in its place; a condition that says the same as before stays as it was."""
    conditions = list(known or ())
    for place, old in enumerate(conditions):
        if old["type"] != new["type"]:
            continue
        said = ("status", "reason", "message", "observedGeneration")
        if all(old.get(field) == new.get(field) for field in said):
            return conditions
        since = old.get("lastTransitionTime", now) if old["status"] == new["status"] else now
        conditions[place] = {**new, "lastTransitionTime": since}
        return conditions
    return [*conditions, {**new, "lastTransitionTime": now}]
