"""The answer: what to buy, which pods are meant for what, what it costs, how far from the best it can be at most."""

from typing import Literal

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.pod import Pod

Outcome = Literal["AllPlaced", "NoDemands", "IncompletePlacement"]


class PlannedNode(msgspec.Struct, frozen=True):
    """A machine to buy and the pods meant for it."""

    name: str
    """How this plan calls it; the real name is given when it is requested."""

    pool: NodePool
    offering: Offering
    pods: tuple[Pod, ...]


class FilledNode(msgspec.Struct, frozen=True):
    """A node that exists or is coming, and the pods that find room there."""

    node: str
    pods: tuple[Pod, ...]


class UnplacedPod(msgspec.Struct, frozen=True):
    """A pod that found no place, and the nearest miss in words."""

    pod: Pod
    reason: str
    is_for_now: bool = False
    """Whether it waits only until other pods of the plan are there."""


class PlacementSolution(msgspec.Struct, frozen=True):
    """One answer of the solver."""

    outcome: Outcome
    launch: tuple[PlannedNode, ...] = ()
    existing: tuple[FilledNode, ...] = ()
    left_out: tuple[UnplacedPod, ...] = ()
    keep: frozenset[str] = frozenset()
    """Uids of pods whose places must be kept (``api.taints``), because the scheduler's own choice could spoil the
    plan. On one node it is all or none of them."""

    cost_per_hour: float = 0.0
    bound_per_hour: float = 0.0
    """No plan that places these pods costs less: proven."""

    @property
    def gap(self) -> float:
        """By which fraction of the bound the plan is dearer than it."""
        return self.cost_per_hour / self.bound_per_hour - 1 if self.bound_per_hour > 0 else 0.0

    @property
    def placed(self) -> int:
        """How many pods have a place."""
        return sum(len(one.pods) for one in self.launch) + sum(len(one.pods) for one in self.existing)
