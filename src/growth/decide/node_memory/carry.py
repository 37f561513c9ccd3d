"""What memory keeps in mind between two passes: names about which something is to be done, shard by shard.

What all looks of a shard came to, read in one go, and in which order it is served: there may be thousands.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from growth.api.actions import Action, Hold, RecordEvent

UNWRITTEN: Final = "unwritten"
"""Since when there is something to write down."""


class PageResult(msgspec.Struct, frozen=True):
    """What one look at a page came to. It holds until the page changes or its time has come."""

    records: tuple[Action, ...] = ()
    """What happened and is to be written down; every replica sees to that."""
    works: tuple[Action, ...] = ()
    """What is to be done about it; by whoever holds the shard."""
    told: tuple[Hold | RecordEvent, ...] = ()
    due: datetime | None = None
    """When to look again even if nothing changes."""
    since: Mapping[str, datetime] = {}
    """Since when something is the case for which one waits a while."""
    oldest: datetime | None = None
    """When the oldest transaction was made that is not dealt with."""
    basis: tuple[int, ...] = ()
    """On which versions a change of the node itself was decided; empty if it is not to be changed."""
    follows: str = ""
    """The name of another node on whose memory this depends."""
    unheard: int = 0
    """The version up to which it must be heard what happened to nodes; 0 if that does not matter."""

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to keep in mind."""
        return not (self.records or self.works or self.told or self.due or self.oldest or self.follows)


class ObservedShard(msgspec.Struct, frozen=True):
    """A shard's Lease as it was seen, and since when it has looked like that."""

    record: tuple[object, ...]
    since: datetime


Looks = Mapping[str, PageResult]


class NodeMemoryCarry(msgspec.Struct, frozen=True):
    """All of it."""

    journal: int = 0
    at: datetime | None = None
    """When the last pass was."""
    shards: Mapping[int, Looks] = {}
    sights: Mapping[int, ObservedShard] = {}
    awaiting: Mapping[str, tuple[str, datetime]] = {}
    """Nodes without the marker: uid and since when they are known."""
    restored: tuple[float, ...] = ()
    """How long nodes waited for it that got it since the last pass, in seconds."""
    oldest: datetime | None = None
    """When the oldest transaction was made that is not dealt with."""


T = TypeVar("T")


class ShardPages(msgspec.Struct, frozen=True):
    """The looks of one shard."""

    works: int
    """How much there is to do."""
    unwritten: list[PageResult]
    """Those with something to write down."""
    told: list[Hold | RecordEvent]
    due: datetime | None
    """When the first of them is to be looked at again."""
    oldest: datetime | None
    """When the oldest transaction was made that is not dealt with."""
    is_behind: bool
    """Whether something happened to nodes of which our own stream of nodes has not heard yet."""


def pile_of(looks: Mapping[str, PageResult]) -> ShardPages:
    """One walk over all of them: this is done in every pass."""
    works, unwritten, told, is_behind = 0, list[PageResult](), list[Hold | RecordEvent](), False
    due, made = list[datetime](), list[datetime]()
    for page_pass in looks.values():
        works += len(page_pass.works)
        is_behind |= page_pass.unheard > 0
        if page_pass.records:
            unwritten.append(page_pass)
        if page_pass.told:
            told += page_pass.told
        if page_pass.due is not None:
            due.append(page_pass.due)
        if page_pass.oldest is not None:
            made.append(page_pass.oldest)
    return ShardPages(works, unwritten, told, min(due, default=None), min(made, default=None), is_behind)


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
