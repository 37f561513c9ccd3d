"""How patient and how eager the optimisation is."""

from datetime import timedelta

import msgspec


class Terms(msgspec.Struct, frozen=True):
    """All of it."""

    drain_within: timedelta = timedelta(minutes=10)
    """Pods that were asked to leave must be gone within so long, or all is undone."""
    place_within: timedelta = timedelta(seconds=10)
    """A pod that a scheduler refused, and that has no place after so long, wants one of the nodes that go."""
    kept_for: timedelta = timedelta(hours=1)
    """Moves that are over are kept for so long, to be looked at."""
