"""The inputs of a decider outside of the loop: for commands and tests, which ask about one instant."""

from collections.abc import Iterable
from typing import Any

import msgspec

from growth.api.settings.model import Settings
from growth.decide.contract import (
    IDLE,
    ClockTrust,
    Derivation,
    Fact,
    Facts,
    Finished,
    Idle,
    Inputs,
    Outcomes,
    Replica,
    Running,
)
from growth.decide.facts.cluster_state import ClusterState
from growth.observe.snapshot import Snapshot


def facts_at(
    snapshot: Snapshot,
    settings: Settings,
    derivations: Iterable[Derivation[Any]],
    known: Iterable[Fact],
    clock: ClockTrust,
) -> Facts:
    """Return the facts of one instant: the known ones, those that can be derived (when they are read), and defaults."""
    by_fact = {one.provides: one for one in derivations}

    def missing(fact: type[Fact]) -> Fact:
        derivation = by_fact.get(fact)
        return derivation.derive(snapshot, settings, facts, clock, None) if derivation is not None else fact.default()

    facts = Facts({type(one): one for one in known}, missing=missing)
    return facts


def inputs_at(
    snapshot: Snapshot,
    settings: Settings,
    derivations: Iterable[Derivation[Any]],
    *,
    carry: Any = None,  # noqa: ANN401 - of any decider
    index: Any = None,  # noqa: ANN401 - of any decider
    facts: Iterable[Fact] = (),
    clock: ClockTrust | None = None,
    outcomes: Outcomes | None = None,
    replica: Replica | None = None,
    computation: Idle | Running | Finished[Any] = IDLE,
) -> Inputs[Any, Any, Any]:
    """Return the inputs of a decider at one instant."""
    known = tuple(facts)
    trust = clock or ClockTrust(snapshot.now)
    for cluster in known:
        if isinstance(cluster, ClusterState):
            trust = msgspec.structs.replace(trust, healthy_since=cluster.health.healthy_since)
    return Inputs(
        snapshot=snapshot,
        settings=settings,
        facts=facts_at(snapshot, settings, derivations, known, trust),
        carry=carry,
        clock=trust,
        index=index,
        computation=computation,
        outcomes=outcomes if outcomes is not None else Outcomes(),
        replica=replica or Replica(),
    )
