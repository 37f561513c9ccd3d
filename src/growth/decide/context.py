"""What every decider's pass has in common: the inputs at hand, and what has been decided so far."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final, Generic, TypeVar

import msgspec

from growth.api.actions import Action, Hold
from growth.api.settings.model import Settings
from growth.decide.contract import CarryT, ClockTrust, Decision, Fact, Facts, Inputs, Measurement, Outcomes
from growth.observe.snapshot import Snapshot


class PassContext(Generic[CarryT]):
    """The inputs of one pass, and what its steps add to the decision."""

    def __init__(self, inputs: Inputs[CarryT, Any, Any]) -> None:
        self.inputs = inputs
        self.snapshot: Snapshot = inputs.snapshot
        self.settings: Settings = inputs.settings
        self.facts: Facts = inputs.facts
        self.clock: ClockTrust = inputs.clock
        self.outcomes: Outcomes = inputs.outcomes
        self.now: datetime = inputs.snapshot.now
        self.said: list[Action | Hold] = []
        self.deadlines: list[datetime] = []
        self.provided: list[Fact] = []
        self.measurements: list[Measurement] = []
        self.status: msgspec.Struct | None = None

    def since(self, written: datetime | None) -> datetime:
        """Return the instant from which a deadline counts that began when this was written."""
        return self.clock.age_start(written)

    def remind(self, when: datetime) -> None:
        """Decide again at this instant."""
        self.deadlines.append(when)

    @property
    def requeue_at(self) -> datetime | None:
        """The earliest deadline that is still to come."""
        return min((when for when in self.deadlines if when > self.now), default=None)

    def decision(self, carry: CarryT, compute: Callable[[], object] | None = None) -> Decision[CarryT]:
        """Return what the steps came to."""
        return Decision(
            carry=carry,
            said=tuple(self.said),
            facts=tuple(self.provided),
            requeue_at=self.requeue_at,
            compute=compute,
            measurements=tuple(self.measurements),
            status=self.status,
        )


class Stop:
    """What a step returns if no later step may decide in this pass."""


STOP: Final = Stop()
ContextT = TypeVar("ContextT", bound=PassContext[Any])
Step = Callable[[ContextT], Stop | None]


def run_steps(context: ContextT, steps: Sequence[Step[ContextT]]) -> None:
    """Let each step decide, in order, until one says stop."""
    for step in steps:
        if step(context) is STOP:
            return
