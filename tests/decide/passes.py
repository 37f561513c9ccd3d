"""One pass of a decider, outside of the loop: what a test says is given, the rest follows from the snapshot."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from growth.api.actions import Outcome, OutcomeKey
from growth.api.settings.model import Settings
from growth.decide.capacity.demand_history import RECENT_DEMAND, RecentDemand
from growth.decide.contract import (
    IDLE,
    RUNNING,
    AnyCapability,
    CapabilityName,
    ClockTrust,
    Decision,
    Derivation,
    Fact,
    Facts,
    Finished,
    IncrementalIndex,
    Inputs,
    Outcomes,
    Replica,
)
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.inputs import facts_at, inputs_at
from growth.decide.pipeline import PIPELINE
from growth.observe.snapshot import Snapshot

DERIVATIONS: Final[tuple[Derivation[Any], ...]] = tuple(one for one in PIPELINE if isinstance(one, Derivation))


class Given(msgspec.Struct, frozen=True):
    """What a decider knows beyond the snapshot and the settings, as far as a test says so."""

    outcomes: Mapping[OutcomeKey, Outcome] = {}
    result: object = None
    """What its background computation came to."""
    is_computing: bool = False
    carry: object = None
    steady_since: datetime | None = None
    cluster: ClusterState | None = None
    slipped_at: datetime | None = None
    identity: str = ""
    enabled: frozenset[str] = frozenset()
    facts: tuple[Fact, ...] = ()
    index: IncrementalIndex | None = None

    def clock(self, snapshot: Snapshot) -> ClockTrust:
        """How far its clock can be trusted."""
        return ClockTrust(snapshot.now, self.steady_since, self.slipped_at)

    def inputs(self, snapshot: Snapshot, settings: Settings, carry: Any = None) -> Inputs[Any, Any, Any]:  # noqa: ANN401
        """The inputs of a decider; what it carries over is that of the test, or this."""
        known = (*self.facts, self.cluster) if self.cluster is not None else self.facts
        finished = Finished(self.result) if self.result is not None else IDLE
        return inputs_at(
            snapshot,
            settings,
            DERIVATIONS,
            carry=self.carry if self.carry is not None else carry,
            index=self.index,
            facts=known,
            clock=self.clock(snapshot),
            outcomes=Outcomes(self.outcomes),
            replica=Replica(self.identity, frozenset(map(CapabilityName, self.enabled))),
            computation=RUNNING if self.is_computing else finished,
        )


Pass = Callable[[Snapshot, Given, Settings], Decision[Any]]


def deciding(capability: AnyCapability) -> Pass:
    """One pass of this capability."""

    def decide(snapshot: Snapshot, given: Given, settings: Settings) -> Decision[Any]:
        index = given.index or (capability.new_index() if capability.new_index is not None else None)
        if index is not None:
            index.advance(snapshot, settings)
            given = msgspec.structs.replace(given, index=index)
        return capability.decide(given.inputs(snapshot, settings, capability.initial_carry(snapshot, settings)))

    return decide


def facts_in(snapshot: Snapshot, settings: Settings, *known: Fact) -> Facts:
    """The facts of this instant."""
    return facts_at(snapshot, settings, DERIVATIONS, known, ClockTrust(snapshot.now))


def cluster_in(snapshot: Snapshot, settings: Settings) -> ClusterState:
    """What the registry says of this instant."""
    return facts_in(snapshot, settings).get(ClusterState)


def remembered(before: RecentDemand | None, snapshot: Snapshot, settings: Settings) -> RecentDemand:
    """The demand history after a look at this snapshot."""
    return RECENT_DEMAND.derive(snapshot, settings, Facts(), ClockTrust(snapshot.now), before)
