"""How soon pods of dead machines should run again, and what of a run of ``bench.failover`` misses that."""

from collections.abc import Mapping
from typing import Any, Final

AIMS: Final[Mapping[str, Mapping[str, float]]] = {
    "fast": {"median": 35.0, "max": 45.0},
    "standard": {"max": 80.0},
}
"""Seconds from the power cut, by ``failover.speed`` (docs/performance.md)."""
# None of these may ever happen, at any size.
_NEVER: Final = ("stuck", "ended_again", "wrong_taints", "attached_twice")


def missed(found: Mapping[str, Any], speed: str) -> list[str]:
    """Everything that is not as it should be, as text; empty if all is well."""
    wrong = [f"{what} is {found[what]}, expected 0" for what in _NEVER if found[what]]
    running: Mapping[str, float] | None = found["running_s"]
    if running is None:
        return [*wrong, "no database runs again"]
    late = {what: seconds for what, seconds in AIMS[speed].items() if running[what] > seconds}
    return wrong + [f"running_s {what} is {running[what]}, expected at most {aim:g}" for what, aim in late.items()]
