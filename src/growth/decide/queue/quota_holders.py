"""Who holds quota, as far as somebody else may want it."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from growth.decide.queue.quota_tree import Slot

Key = tuple[str, str]
"""Namespace and name."""


class QuotaHolder(msgspec.Struct, frozen=True):
    """One workload that has quota."""

    key: Key
    uid: str
    queue: str
    priority: int
    queued_since: datetime
    reserved_at: datetime
    usage: Mapping[Slot, int]
    is_evicted: bool = False
    """It goes anyway: who is sent back already costs nobody anything more."""


class QuotaRequest(msgspec.Struct, frozen=True):
    """One workload that wants quota of a queue."""

    key: Key
    priority: int
    queued_since: datetime
    usage: Mapping[Slot, int]
    was_sent_back: bool = False
    """It had to go for somebody else, and has not been let in since."""
    is_promised: bool = False
    """Others were sent back for it."""
