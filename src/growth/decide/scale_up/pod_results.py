"""What plans said of those who still wait.

A plan speaks only of those that it was asked about: what earlier plans said of others holds on, so that no plan is made
anew for pods of which everything is known, and a place that one pod is expected to take is promised to no other.
"""

from collections.abc import Container, Mapping
from datetime import datetime
from enum import StrEnum

import msgspec

from growth.decide.scale_up.plan import ScaleUpPlan


class PodResults(StrEnum):
    """What was said."""

    EXPECTED = "expected"
    """A node that stands has room for it: the scheduler will see that, too."""
    SET_ASIDE = "set aside"
    """No machine helps now: something else must happen first."""
    LEFT_OUT = "left out"
    """There is no place for it."""


class PodResult(msgspec.Struct, frozen=True):
    """What was said of one pod, by its uid, or of one shortage, by its name."""

    said: PodResults
    at: datetime
    why: str = ""
    node: str = ""
    """Where it is expected."""
    circumstances: str = ""
    """Under which it was left out."""


def after(plan: ScaleUpPlan, before: Mapping[str, PodResult], waiting: Container[str]) -> dict[str, PodResult]:
    """All verdicts, now that this plan was made. Who has a place on a machine that is coming needs none."""
    placed = plan.places
    found = {
        name: one
        for name, one in before.items()
        if name not in placed and (name in waiting or (_is_shortage(name) and one.circumstances == plan.circumstances))
    }
    found |= {uid: PodResult(PodResults.EXPECTED, plan.at, node=node) for uid, node in plan.expected.items()}
    found |= {uid: PodResult(PodResults.SET_ASIDE, plan.at) for uid in plan.set_aside}
    for name, why in plan.left_out.items():
        found[name] = PodResult(PodResults.LEFT_OUT, plan.at, why, circumstances=plan.circumstances)
    return found


def _is_shortage(name: str) -> bool:
    return "/" in name
