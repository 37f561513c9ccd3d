"""One pass through the stages: what each is given, and what becomes of those whose facts are missing.

What a runner does follows from its inputs alone, pass after pass: watch events and provider answers (the snapshot),
instants, outcomes of actions, results of computations. So a log of these is enough to decide the same again.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from growth.api.settings.model import Settings
from growth.decide.contract import (
    IDLE,
    AnyCapability,
    Capability,
    ClockTrust,
    Decider,
    Decision,
    Derivation,
    Fact,
    Finished,
    Idle,
    IncrementalIndex,
    Inputs,
    Outcomes,
    Replica,
    ReportedStatuses,
    Running,
    Stage,
)
from growth.decide.pipeline import FactBoard
from growth.observe.snapshot import Snapshot

Computations = Mapping[str, Idle | Running | Finished[Any]]
"""How the background computation of each capability stands."""


class PassInputs(msgspec.Struct, frozen=True):
    """What is the same for all stages of a pass."""

    snapshot: Snapshot
    clock: ClockTrust
    outcomes: Outcomes
    computations: Computations


class StageEnd(msgspec.Struct, frozen=True):
    """How one stage ended: with a decision, skipped, or with an error; a derivation ends with none of these."""

    stage: Stage
    decision: Decision[Any] | None = None
    why_skipped: str = ""
    error: Exception | None = None


class StageRunner:
    """The stages of one role, with what they carry over from pass to pass."""

    def __init__(self, stages: Sequence[Stage], settings: Settings, replica: Replica) -> None:
        self._stages, self._settings, self._replica = stages, settings, replica
        self._carries: dict[str, Any] = {}
        self._indexes: dict[str, IncrementalIndex] = {}
        self._derived: dict[type[Fact], Fact] = {}
        self._statuses = ReportedStatuses()

    def run(self, given: PassInputs) -> Iterator[StageEnd]:
        """Let each stage decide, in order; the end of one is dealt with before the next decides."""
        board = FactBoard({**self._computed(given.computations), ReportedStatuses: self._statuses})
        statuses: dict[str, msgspec.Struct] = {}
        for stage in self._stages:
            if why := board.why_skipped(stage):
                end = self._skip(stage, why)
            elif isinstance(stage, Derivation):
                end = self._derive(stage, given, board)
            else:
                end = self._decide(stage, given, board, stage.decide)
            if end.why_skipped or end.error is not None:
                board.fail(stage)
            if end.decision is not None and end.decision.status is not None:
                statuses[stage.name] = end.decision.status
            yield end
        self._statuses = ReportedStatuses(statuses)

    def shut_down(self, given: PassInputs) -> Iterator[StageEnd]:
        """Let capabilities decide a last time."""
        for stage in self._stages:
            if isinstance(stage, Capability) and stage.on_shutdown is not None:
                yield self._decide(stage, given, FactBoard(), stage.on_shutdown)

    def _computed(self, computations: Computations) -> dict[type[Fact], Fact]:
        """Facts that background computations came to."""
        found: dict[type[Fact], Fact] = {}
        for stage in self._stages:
            if isinstance(stage, Capability) and stage.computes is not None:
                state = computations.get(stage.name, IDLE)
                if isinstance(state, Finished) and isinstance(state.result, stage.computes):
                    found[stage.computes] = state.result
        return found

    def _skip(self, stage: Stage, why: str) -> StageEnd:
        """Leave a stage out. What it derived before is older than its inputs, and no value to go on from."""
        if isinstance(stage, Derivation):
            self._derived.pop(stage.provides, None)
        return StageEnd(stage, why_skipped=why)

    def _derive(self, stage: Derivation[Any], given: PassInputs, board: FactBoard) -> StageEnd:
        """Derive a fact from its last value. If that fails, nothing of it is remembered."""
        previous = self._derived.pop(stage.provides, None)
        try:
            clock = _with_recovery(given.clock, board)
            fact = stage.derive(given.snapshot, self._settings, board.facts_for(stage), clock, previous)
            more = stage.derive_more(fact)
        except Exception as error:  # a defect in one stage must not end the others
            return StageEnd(stage, error=error)
        self._derived[stage.provides] = fact
        board.add((fact, *more))
        return StageEnd(stage)

    def _decide(
        self, stage: AnyCapability, given: PassInputs, board: FactBoard, decide: Decider[Any, Any, Any]
    ) -> StageEnd:
        """Let a capability decide. If that fails, its index may be half advanced, and is built anew."""
        try:
            if stage.name not in self._carries:
                self._carries[stage.name] = stage.initial_carry(given.snapshot, self._settings)
            index = self._indexes.pop(stage.name, None) or (stage.new_index() if stage.new_index is not None else None)
            if index is not None:
                index.advance(given.snapshot, self._settings)
            decision = decide(
                Inputs[Any, Any, Any](
                    snapshot=given.snapshot,
                    settings=self._settings,
                    facts=board.facts_for(stage),
                    carry=self._carries[stage.name],
                    clock=_with_recovery(given.clock, board),
                    index=index,
                    computation=given.computations.get(stage.name, IDLE),
                    outcomes=given.outcomes,
                    replica=self._replica,
                )
            )
        except Exception as error:  # a defect in one stage must not end the others
            return StageEnd(stage, error=error)
        self._carries[stage.name] = decision.carry
        if index is not None:
            self._indexes[stage.name] = index
        board.add(decision.facts)
        return StageEnd(stage, decision)


def _with_recovery(clock: ClockTrust, board: FactBoard) -> ClockTrust:
    at = board.recovered_at
    return clock if at is None else msgspec.structs.replace(clock, healthy_since=at)
