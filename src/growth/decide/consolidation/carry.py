"""What consolidation carries over to the next pass."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from growth.decide.consolidation.forced_moves import ForcedMovePlan
from growth.decide.consolidation.move_search import MoveAdvice


class ConsolidationCarry(msgspec.Struct, frozen=True):
    """What must be remembered between two passes; a new process waits until it knows enough again."""

    asked_at: datetime | None = None
    """When the last computation of savings was begun."""
    asked_about: tuple[str, ...] = ()
    """The pools that it is about."""
    advice: MoveAdvice | None = None
    """What came of it."""
    told: Mapping[str, datetime] = {}
    """By pool, when the effect of the demand history was last reported (``savings_events``)."""
    made_at: datetime | None = None
    """When the last moves were decided."""
    wished_at: datetime | None = None
    """When it was last checked which of the nodes that must go may go."""
    wished: tuple[str, ...] = ()
    """Names of the nodes that had to go then, and of those that were terminating."""
    emptying: ForcedMovePlan | None = None
    """What the last computation about them came to."""
    staying: Mapping[str, str] = {}
    """By name, why some of them stay for now."""
    under_way: Mapping[str, str] = {}
    """By uid, moves that were not over in the last pass, with their reasons."""
    savings: Mapping[str, float] = {}
    """By pool, what the moves that were last advised save an hour."""
    crowded: Mapping[str, tuple[datetime, str]] = {}
    """By move, when it was looked whether its pods find room, and who did not."""
