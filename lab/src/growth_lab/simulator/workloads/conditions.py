"""Conditions of workloads: one per type, and a transition time that moves only when the status does."""

from collections.abc import Iterable
from typing import Final

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.merge_patch import Json

_SAID: Final = ("status", "reason", "message", "observedGeneration")


def with_condition(known: Iterable[Json] | None, new: Json, clock: Clock, touched: str | None = None) -> list[Json]:
    """The conditions with this one in its place; a condition that says the same as before stays as it was.

    ``touched`` names the field that says when it last changed in any way, where a kind has one.
    """
    conditions = list(known or ())
    for place, old in enumerate(conditions):
        if old["type"] == new["type"]:
            if any(old.get(field) != new.get(field) for field in _SAID):
                since = old.get("lastTransitionTime") if old["status"] == new["status"] else None
                conditions[place] = _stamped(new, clock.stamp(), since, touched)
            return conditions
    return [*conditions, _stamped(new, clock.stamp(), None, touched)]


def _stamped(condition: Json, now: str, since: str | None, touched: str | None) -> Json:
    return {**condition, **({touched: now} if touched else {}), "lastTransitionTime": since or now}
