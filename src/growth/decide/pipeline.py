"""All stages of a pass, in the order in which they decide.

    OfferingCatalog  RecentDemand  ClusterState          derived from the snapshot
    registry         reports the health of the cluster
    node_memory      alone, on every replica
    queue            -> UpcomingJobPods, PendingGangs, RetainedNodes
    pool_status
    failover         -> ReplacementPods
    PendingPods      derived of UpcomingJobPods and ReplacementPods
    consolidation
    scale_up         -> NominatedNodes
    node_requests
    scale_down

A stage reads only facts that it needs (``Need``), and only those of earlier stages: ``check`` says if the order breaks
that rule.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Final

from growth.decide.capacity.demand_history import RECENT_DEMAND
from growth.decide.capacity.offering_catalog import OFFERING_CATALOG
from growth.decide.consolidation.decider import CAPABILITY as CONSOLIDATION
from growth.decide.contract import (
    AnyCapability,
    Capability,
    Derivation,
    Fact,
    Facts,
    RecoveredAt,
    ReportedStatuses,
    Stage,
)
from growth.decide.facts.pending_pods import PENDING_PODS
from growth.decide.failover.decider import CAPABILITY as FAILOVER
from growth.decide.node_memory.decider import CAPABILITY as NODE_MEMORY
from growth.decide.node_requests.decider import CAPABILITY as NODE_REQUESTS
from growth.decide.pool_status.decider import CAPABILITY as POOL_STATUS
from growth.decide.queue.decider import CAPABILITY as QUEUE
from growth.decide.registry.decider import CAPABILITY as REGISTRY
from growth.decide.registry.step import CLUSTER_STATE
from growth.decide.scale_down.decider import CAPABILITY as SCALE_DOWN
from growth.decide.scale_up.decider import CAPABILITY as SCALE_UP

PIPELINE: Final[tuple[Stage, ...]] = (
    OFFERING_CATALOG,
    RECENT_DEMAND,
    CLUSTER_STATE,
    REGISTRY,
    NODE_MEMORY,
    QUEUE,
    POOL_STATUS,
    FAILOVER,
    PENDING_PODS,
    CONSOLIDATION,
    SCALE_UP,
    NODE_REQUESTS,
    SCALE_DOWN,
)
CAPABILITIES: Final[tuple[AnyCapability, ...]] = tuple(one for one in PIPELINE if isinstance(one, Capability))


class BrokenPipeline(Exception):
    """Stages in an order in which a fact is missing, or provided twice."""


def check(stages: Sequence[Stage]) -> None:
    """Raise BrokenPipeline unless every need is provided by an earlier stage, and every fact once."""
    everywhere: dict[type[Fact], str] = {}
    for stage in stages:
        for fact in provided_by(stage):
            if fact in everywhere:
                raise BrokenPipeline(f"{fact.__name__} is provided by {everywhere[fact]} and by {stage.name}")
            everywhere[fact] = stage.name
    known = {one.computes for one in stages if isinstance(one, Capability) and one.computes is not None}
    known.add(ReportedStatuses)
    for stage in stages:
        for need in stage.needs:
            if need.fact not in known:
                where = (
                    f"only {everywhere[need.fact]} provides it" if need.fact in everywhere else "no stage provides it"
                )
                raise BrokenPipeline(f"{stage.name} needs {need.fact.__name__}, and {where}; expected an earlier one")
        known |= set(provided_by(stage))


def provided_by(stage: Stage) -> tuple[type[Fact], ...]:
    """The facts that a stage provides when it decides."""
    return (stage.provides, *stage.also_provides) if isinstance(stage, Derivation) else stage.provides


def stages_of(capabilities: Iterable[AnyCapability], known: Sequence[Stage] = PIPELINE) -> tuple[Stage, ...]:
    """These capabilities in the order of the pipeline, with the derivations that they need."""
    chosen_ones = list(capabilities)
    wanted = {need.fact for one in chosen_ones for need in one.needs}
    kept: list[Stage] = []
    for stage in reversed(known):
        if isinstance(stage, Derivation):
            if wanted.isdisjoint(provided_by(stage)):
                continue
            wanted |= {need.fact for need in stage.needs}
            kept.append(stage)
        else:
            kept += [one for one in chosen_ones if one.name == stage.name]
    names = {stage.name for stage in kept}
    return (*reversed(kept), *(one for one in chosen_ones if one.name not in names))


class FactBoard:
    """The facts of one pass so far, and those whose providers failed."""

    def __init__(self, computed: Mapping[type[Fact], Fact] | None = None) -> None:
        self._known: dict[type[Fact], Fact] = dict(computed or {})
        self._failed: dict[type[Fact], str] = {}

    def add(self, facts: Iterable[Fact]) -> None:
        """Note what a stage provides."""
        self._known |= {type(fact): fact for fact in facts}

    def fail(self, stage: Stage) -> None:
        """Note that a stage provides nothing in this pass."""
        self._failed |= dict.fromkeys(provided_by(stage), stage.name)

    def why_skipped(self, stage: Stage) -> str:
        """Return why a stage cannot decide in this pass; empty if it can."""
        for need in stage.needs:
            if need.if_failed == "skip" and need.fact in self._failed:
                return f"{self._failed[need.fact]} failed, and {stage.name} needs its {need.fact.__name__}"
        return ""

    def facts_for(self, stage: Stage) -> Facts:
        """Return the facts that a stage may read."""
        return Facts(self._known, allowed=(need.fact for need in stage.needs))

    @property
    def recovered_at(self) -> datetime | None:
        """Since when the cluster is healthy enough to act in."""
        found = self._known.get(RecoveredAt)
        return found.at if isinstance(found, RecoveredAt) else None


class UnknownCapability(ValueError):
    """A name that no capability has."""


def chosen(names: Sequence[str], known: Sequence[AnyCapability] = CAPABILITIES) -> tuple[AnyCapability, ...]:
    """The capabilities of these names, in their own order; all of them if none is named."""
    by_name = {str(capability.name): capability for capability in known}
    for name in names:
        if name not in by_name:
            close = get_close_matches(name, by_name, 1)
            hint = f", the closest is {close[0]!r}" if close else ""
            expected = f"expected some of {', '.join(by_name)}" if by_name else "there are none yet"
            raise UnknownCapability(f"there is no capability {name!r}{hint}: {expected}")
    wanted = set(names) or set(by_name)
    needed = {need.fact for name in wanted for need in by_name[name].needs}
    if any(by_name[name].status is not None for name in wanted):
        needed.add(ReportedStatuses)
    wanted |= {str(one.name) for one in known if not needed.isdisjoint(one.reports)}
    return tuple(capability for capability in known if capability.name in wanted)
