"""What scale-up carries over to the next pass."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from growth.api.actions import Action, Hold
from growth.decide.scale_up.plan import NO_PLAN, ScaleUpPlan
from growth.decide.scale_up.pod_results import PodResult


class ScaleUpCarry(msgspec.Struct, frozen=True):
    """What must be remembered between two passes; a new process begins with nothing and loses nothing."""

    plan: ScaleUpPlan = NO_PLAN
    verdicts: Mapping[str, PodResult] = {}
    """What this plan and those before said of pods that still wait."""
    unseen: frozenset[str] = frozenset()
    """Machines of the plan whose requests were not seen yet."""
    arrivals: int = 0
    """How many pods had begun to wait."""
    virtual_pods: frozenset[str] = frozenset()
    """Of pods that are not there yet."""
    first_at: datetime | None = None
    last_at: datetime | None = None
    """When the first and the last of those came for whom there is no plan yet."""
    is_idle: bool = False
    """Whether none of those that had come was demand when they were last looked at."""
    asked_at: datetime | None = None
    """When the last plan was asked for."""
    nodes_heard: int = 0
    """How many nodes had come by then."""
    probed_at: datetime | None = None
    """When a plan was last asked for offerings to test."""
    told: tuple[Action | Hold, ...] = ()
