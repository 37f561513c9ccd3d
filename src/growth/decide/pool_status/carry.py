"""What pool_status carries over to the next pass."""

from datetime import datetime

import msgspec

from growth.api.actions import Action, Hold


class PoolStatusCarry(msgspec.Struct, frozen=True):
    """What is known of pools by their uids, by our own clock."""

    written: dict[str, datetime] = {}
    """When the counts of each were last written."""
    leaving: dict[str, datetime] = {}
    """When each was first seen to be deleted."""
    pools: tuple[int, ...] = ()
    """The versions of all pools when they were last looked at."""
    looked_at: datetime | None = None
    said: tuple[Action | Hold, ...] = ()
    wake_at: datetime | None = None
