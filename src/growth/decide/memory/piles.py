"""What all looks of a shard came to, read in one go, and in which order it is served: there may be thousands."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import TypeVar

import msgspec

from growth.api.actions import Hold, RecordEvent
from growth.decide.memory.desk import Look

T = TypeVar("T")


class Pile(msgspec.Struct, frozen=True):
    """The looks of one shard."""

    works: int
    """How much there is to do."""
    unwritten: list[Look]
    """Those with something to write down."""
    told: list[Hold | RecordEvent]
    due: datetime | None
    """When the first of them is to be looked at again."""
    oldest: datetime | None
    """When the oldest transaction was made that is not dealt with."""
    is_behind: bool
    """Whether something happened to nodes of which our own stream of nodes has not heard yet."""


def pile_of(looks: Mapping[str, Look]) -> Pile:
    """One walk over all of them: this is done in every pass."""
    works, unwritten, told, is_behind = 0, list[Look](), list[Hold | RecordEvent](), False
    due, made = list[datetime](), list[datetime]()
    for look in looks.values():
        works += len(look.works)
        is_behind |= look.unheard > 0
        if look.records:
            unwritten.append(look)
        if look.told:
            told += look.told
        if look.due is not None:
            due.append(look.due)
        if look.oldest is not None:
            made.append(look.oldest)
    return Pile(works, unwritten, told, min(due, default=None), min(made, default=None), is_behind)


def in_turn(lines: Iterable[Iterator[T]]) -> Iterator[T]:
    """One of each line after the other, until all are through; a line that stands there twice is served twice."""
    queue = deque(lines)
    while queue:
        try:
            yield next(queue[0])
        except StopIteration:
            queue.popleft()
        else:
            queue.rotate(-1)
