"""What Growth said of a pool: for whom room is kept there, and why moves hardly pay now.

Only the Growth that leads remembers what was wanted lately. It tells that in events
(``decide.consolidation.savings_events``).
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

import msgspec

from growth.api.core import Event
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import EVENTS
from growth.cli.node_seeing import Now
from growth.decide.consolidation.savings_events import LESS_WANTED, ROOM_KEPT, TOLD_EVERY
from growth.kube.client import Client
from growth.kube.errors import Forbidden, NotFound

# Where events about objects are that are in no namespace.
_NAMESPACE: Final = "default"
# It is told again as long as it is so, and all is calm. What was told longer ago says nothing about now.
_HOLDS_FOR: Final = 3 * TOLD_EVERY


class RecordedReason(msgspec.Struct, frozen=True):
    """Something that Growth said, and when last."""

    reason: str
    words: str
    at: datetime


async def read_told(client: Client, pool: str, now: Now) -> tuple[RecordedReason, ...]:
    """Ask for it; nothing for those who may not see events."""
    about = f"regarding.kind={NODE_POOLS.name},regarding.name={pool}"
    try:
        events = (await client.list(EVENTS, _NAMESPACE, field_selector=about)).items
    except (NotFound, Forbidden):
        return ()
    return told_in(events, now())


def told_in(events: Iterable[Event], at: datetime) -> tuple[RecordedReason, ...]:
    """Of all events of a pool the last one of each of these reasons, unless it is too long ago."""
    newest: dict[str, RecordedReason] = {}
    for event in events:
        last = event.series.last_observed_time if event.series is not None else None
        said_at = last or event.metadata.creation_timestamp
        if said_at is None or at - said_at > _HOLDS_FOR:
            continue
        known = newest.get(event.reason)
        if known is None or (known.at, known.words) < (said_at, event.note):
            newest[event.reason] = RecordedReason(event.reason, event.note, said_at)
    return tuple(newest[reason] for reason in (ROOM_KEPT, LESS_WANTED) if reason in newest)
