"""What node_requests carries over to the next pass."""

from datetime import datetime

import msgspec


class NodeRequestsCarry(msgspec.Struct, frozen=True):
    """What provision remembers between two passes; without it, it only concludes later."""

    noticed: dict[str, datetime] = {}
    """By provider id, since when a machine has neither request nor node."""
    missing_at: dict[str, datetime] = {}
    """By uid of a request, the first list of its provider without its machine, which was listed before."""
