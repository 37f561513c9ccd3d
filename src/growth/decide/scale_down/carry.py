"""What scale-down carries over to the next pass."""

from datetime import datetime

import msgspec


class ScaleDownCarry(msgspec.Struct, frozen=True):
    """What is lost with the process: then it counts again from the start."""

    empty_since: dict[str, datetime] = {}
    """By uid, since when nodes that are not marked yet are seen to be empty."""
    noticed: dict[str, datetime] = {}
    """By uid, since when removals are known: what providers said before is no evidence about them."""
    evicted: dict[str, datetime] = {}
    """By uid of their node, when pods that may come back there were last asked to leave it."""
