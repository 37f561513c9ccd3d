"""A deliberate defect: what is replaced by what."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One defect, by dotted names."""

    name: str
    changes: Mapping[str, object]
    story: str = ""
    """A part of the names of the stories that might notice; empty if none can."""

    tests: str = ""
    """The tests that might notice, with blanks between them; empty if none can."""

    seed: int = 100
    """Of the first run of chaos that is tried."""

    of_failover: bool = False
    """Whether only lives can notice in which Growth moves work off dead machines."""
