"""What every decider is: a pure function from what is seen to what should happen.

    decide(snapshot, state, settings) -> Decision

A decider looks at everything anew and says all that it wants now; who calls it sees to it that nothing is done twice.
It waits for nothing: what it waits for is an event, which wakes the loop anyway, or an instant (``wake_at``).
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol

import msgspec

from growth.api.actions import Action, Hold, Outcome, OutcomeKey
from growth.api.core import ObjectReference
from growth.api.settings.model import Settings
from growth.decide.elapsed import since
from growth.decide.facts.cluster_state import ClusterState
from growth.observe.snapshot import Snapshot


class DeciderState(msgspec.Struct, frozen=True):
    """What a decider may know beyond the cluster's objects. Nothing of it outlives the process."""

    outcomes: Mapping[OutcomeKey, Outcome] = {}
    answer: object = None
    """What the decider's last thought came to; kept until the next one begins."""
    is_computing: bool = False
    """Whether a thought of this decider is under way; to ask for another one would be in vain."""
    carry: object = None
    """What the decider asked to be reminded of (``Decision.memory``)."""
    steady_since: datetime | None = None
    """When the wall clock was last seen to jump; None if it never was. What was written before tells no age."""
    cluster: ClusterState | None = None
    """What the registry knows; None where nobody keeps it, then ``cluster_in`` works it out."""
    slipped_at: datetime | None = None
    """When the clock was last seen to move at all otherwise than time does; None if it never was."""
    identity: str = ""
    """The name of this process, which no other one ever had: for what every replica does by itself."""
    companions: frozenset[str] = frozenset()
    """Names of the capabilities that this process runs."""
    answers: Mapping[str, object] = {}
    """What the last thoughts of all deciders came to, by capability: what one finds out may concern another."""

    @property
    def even_since(self) -> datetime | None:
        """Since when instants a few seconds apart can be compared."""
        return self.slipped_at or self.steady_since

    def outcome_of(self, action: type[Action], subject: ObjectReference) -> Outcome | None:
        """How the latest action of this type on this subject ended."""
        return self.outcomes.get((action.__name__, subject))

    def since(self, written: datetime | None, now: datetime) -> datetime:
        """The instant from which a deadline counts that began when this was written."""
        healthy_since = self.cluster.health.healthy_since if self.cluster is not None else None
        return since(written, now, self.steady_since, healthy_since)


class Decision(msgspec.Struct, frozen=True):
    """All that should happen now, all that should not (and why), and when to ask again if nothing happens before."""

    said: tuple[Action | Hold, ...] = ()
    wake_at: datetime | None = None
    previous: object = None
    """What to be reminded of in the next pass: the time of an event, say. It is lost with the process."""
    computation: Callable[[], object] | None = None
    """What takes too long for a step of the loop. It owns all that it reads; what it returns comes back as
    ``DeciderState.answer`` in a later pass. One is under way at a time; others that are asked for meanwhile are
    forgotten."""


class Decider(Protocol):
    """No client, no clock, no log, no chance that is not seeded: same input, same output."""

    def __call__(self, snapshot: Snapshot, state: DeciderState, settings: Settings) -> Decision:
        """What should happen now."""
        ...
